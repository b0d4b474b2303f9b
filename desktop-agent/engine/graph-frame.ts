/**
 * One Graph of a run in its sandbox: the outermost, or one that another Graph called.
 *
 * Owns the sandbox, what the Graph may take, and its one end: whatever ends it first (a result, a failure, its wall
 * time, a broken sandbox, its caller's end) decides. It computes nothing of the Graph itself.
 */
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Timer } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { Allowance } from './allowance.ts';
import type { CallAnswer, Caller } from './caller.ts';
import type { Fleet } from './fleet.ts';
import { namesTool } from './graph-meta.ts';
import { limitsOf, type Program } from './program.ts';
import type { Sandbox } from './sandbox.ts';
import type { FromSandbox, SandboxStart } from './sandbox-messages.ts';

const LABEL_CHARS = 200;

export type FrameEnd =
  | { readonly resultJson: string; readonly error: null }
  | {
      readonly resultJson: null;
      readonly error: string;
      /** It would fail again, as far as the Graph can know. */
      readonly final: boolean;
    };

export interface FramePlace {
  /** In the run; null for the outermost. */
  readonly number: number | null;
  /** The Graph that called this one. */
  readonly caller: GraphFrame | null;
  /** Called once, when the Graph ends by itself; not when it is closed. */
  readonly onEnd: (end: FrameEnd) => void;
}

export class GraphFrame implements Caller {
  readonly number: number | null;
  readonly allowance: Allowance;
  /** The slugs from the outermost Graph to this one. */
  readonly path: readonly string[];
  readonly #fleet: Fleet;
  readonly #program: Program;
  readonly #caller: GraphFrame | null;
  readonly #onEnd: (end: FrameEnd) => void;
  #sandbox: Sandbox | null = null;
  #wallTimer: Timer | null = null;
  /** Texts that the worker is checking, in the order of asking. */
  readonly #checks: PromiseWithResolvers<string | null>[] = [];
  #ended = false;
  #released: Promise<unknown> = Promise.resolve();

  constructor(fleet: Fleet, program: Program, { number, caller, onEnd }: FramePlace) {
    this.#fleet = fleet;
    this.#program = program;
    this.#caller = caller;
    this.#onEnd = onEnd;
    this.number = number;
    this.path = [...(caller?.path ?? []), program.slug];
    this.allowance = new Allowance(limitsOf(program, fleet.limits, caller !== null), caller?.allowance);
  }

  get ended(): boolean {
    return this.#ended || (this.#caller?.ended ?? false);
  }

  /** Whether it waits, and has seen all that it was told. */
  get idle(): boolean {
    return this.#sandbox?.idle ?? false;
  }

  begin(): void {
    const { fileName, graph, args } = this.#program;
    const { wall, pool, limits, frames } = this.#fleet;
    frames.add(this);
    const wallMs = Math.min(graph.meta.limits?.wall_ms ?? limits.wallMs, limits.wallMs);
    this.#wallTimer = wall.after(wallMs, () => this.#fail(`${this.#what()} took longer than its ${wallMs} ms`));
    const start: SandboxStart = {
      type: 'start',
      fileName,
      body: graph.body,
      argsJson: JSON.stringify(args),
      argumentsSchema: graph.meta.arguments ?? null,
      budgetTotal: this.allowance.total,
      budget: this.#budget(),
    };
    try {
      this.#sandbox = pool.take();
    } catch (error) {
      // A machine without a thread to spare. Another run may end, and this one says why it could not begin.
      this.#fail(`no sandbox could be started: ${cleanText(error, ERROR_CHARS)}`);
      return;
    }
    const onBroken = (reason: string): void => this.#fail(reason);
    this.#sandbox.begin(start, { onMessage: (message) => this.#receive(message), onBroken });
  }

  answer(answer: CallAnswer): void {
    this.#sandbox?.send({ type: 'answer', ...answer, budget: this.#budget() });
  }

  async check(id: number, text: string): Promise<string | null> {
    const { answerChars } = this.#fleet.limits;
    if (this.#ended) return null;
    if (text.length > answerChars) return `the answer is longer than ${answerChars} characters`;
    const check = Promise.withResolvers<string | null>();
    this.#checks.push(check);
    this.#sandbox?.send({ type: 'check', id, text });
    return check.promise;
  }

  toolProblem(tool: string): string | null {
    const { graph, fileName } = this.#program;
    if (namesTool(graph.meta.tools ?? [], tool)) return this.#caller?.toolProblem(tool) ?? null;
    return `the tool "${tool}" is not named in \`meta.tools\` of ${fileName}: a Graph calls only what it names, and what each Graph on the way to it names`;
  }

  /** Ends the Graph and all that it has asked for. Resolves when all have let go; it never rejects. */
  async close(): Promise<void> {
    if (!this.#ended) {
      this.#ended = true;
      this.#released = this.#giveUp();
    }
    await this.#released;
  }

  async #giveUp(): Promise<void> {
    const { graphs, agents, tools, retries, waves, pool, frames } = this.#fleet;
    this.#wallTimer?.cancel();
    frames.delete(this);
    for (const check of this.#checks) check.resolve(null);
    const letGo = [graphs.close(this), agents.close(this), tools.close(this)];
    retries.close(this);
    waves.ended(this);
    if (this.#sandbox !== null) letGo.push(pool.discard(this.#sandbox));
    await Promise.all(letGo);
  }

  #budget(): { spent: number; remaining: number | null } {
    return { spent: this.allowance.spent, remaining: this.allowance.remaining };
  }

  #receive(message: FromSandbox): void {
    if (this.#ended) return;
    const { agents, tools, graphs, retries, waves, pool } = this.#fleet;
    switch (message.type) {
      case 'ready':
        return;
      case 'idle':
        waves.waits(this, message.handled);
        pool.warmUpSoon();
        this.#fleet.reckon();
        return;
      case 'agent':
        agents.request({ ...message, label: cleanText(message.label, LABEL_CHARS) }, this);
        return;
      case 'tool':
        tools.request({ ...message, tool: cleanText(message.tool, LABEL_CHARS) }, this);
        return;
      case 'graph':
        graphs.request({ ...message, reference: cleanText(message.reference, LABEL_CHARS) }, this);
        return;
      case 'retry':
        retries.request({ ...message, error: cleanText(message.error, ERROR_CHARS) }, this);
        return;
      case 'checked':
        this.#checks.shift()?.resolve(message.problem);
        return;
      case 'log':
      case 'phase':
        this.#fleet.show(message.type, { text: message.text, caller: this });
        return;
      case 'returned':
        this.#end({ resultJson: message.json, error: null });
        return;
      case 'failed':
        this.#fail(message.reason, message.final);
        return;
    }
  }

  #what(): string {
    return this.#caller === null ? 'the run' : 'the Graph';
  }

  #fail(reason: string, final = false): void {
    const error = cleanText(reason, ERROR_CHARS) || 'the Graph failed without a reason';
    this.#end({ resultJson: null, error, final });
  }

  #end(end: FrameEnd): void {
    if (this.#ended) return;
    void this.close();
    this.#onEnd(end);
  }
}
