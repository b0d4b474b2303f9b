/**
 * The tools of a run in this process: the servers of `tools.json`, what the owner has allowed, and the owner at this
 * terminal, who is asked about the rest.
 *
 * Owns the questions on the terminal, one after another. Where nobody can answer, a question is answered with no.
 */
import { createInterface, type Interface } from 'node:readline';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { createMemoryState } from '../../../protocol/host/state/memory-state.ts';
import { note, painted } from '../../../protocol/host/terminal.ts';
import type { Ports } from '../../../protocol/ports.ts';
import type { ToolHost, ToolRequest } from '../../engine/tool-host.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../rows.ts';
import type { ApprovalScope, GraphEvent } from '../../run-events.ts';
import type { Decision } from '../../tools/approvals.ts';
import { DesktopTools } from '../../tools/desktop-tools.ts';
import { toolsFile } from '../../tools/tool-servers.ts';
import { approvalLines } from '../tool-text.ts';
import { flagsOf, type OwnerOptions } from './admin.ts';
import { withTools } from './tools.ts';

type Asked = Extract<GraphEvent, { type: 'approval_asked' }>;

const ANSWERS: Readonly<Record<string, readonly [Decision, ApprovalScope]>> = {
  y: ['allow', 'call'],
  r: ['allow', 'run'],
  a: ['allow', 'always'],
  n: ['deny', 'call'],
};

export class ToolsHere implements ToolHost {
  readonly #options: OwnerOptions;
  readonly #ports: Ports;
  #tools: Promise<DesktopTools> | null = null;
  #questions: Promise<void> = Promise.resolve();
  #terminal: Interface | null = null;

  constructor(options: OwnerOptions, ports: Ports) {
    this.#options = options;
    this.#ports = ports;
  }

  async call(request: ToolRequest): Promise<unknown> {
    this.#tools ??= this.#open();
    const tools = await this.#tools;
    const onEvent: ToolRequest['onEvent'] = (event) => {
      request.onEvent(event);
      if (event.type === 'approval_asked') this.#asked(tools, event, request.signal);
    };
    return tools.call({ ...request, onEvent });
  }

  async close(): Promise<void> {
    this.#terminal?.close();
    await (await this.#tools?.catch(() => null))?.close();
  }

  async #open(): Promise<DesktopTools> {
    const entries = await withTools(this.#options, (tools) => tools.permissions());
    const { clock } = this.#ports;
    // The desktop's own store may be open in the desktop.
    const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock, syncDelayMs: 0 });
    const path = toolsFile(dataDirectory(this.#options.data, 'desktop'));
    const tools = new DesktopTools({ path, environment: process.env, ports: this.#ports, store });
    for (const { pattern, rule } of entries) await tools.permissions.set(pattern, rule);
    return tools;
  }

  /** One question at a time: two would not be told apart. */
  #asked(tools: DesktopTools, event: Asked, signal: AbortSignal): void {
    this.#questions = this.#questions
      .then(() => this.#ask(tools, event, signal))
      .catch((error: unknown) => note(String(error)));
  }

  async #ask(tools: DesktopTools, { approval, tool }: Asked, signal: AbortSignal): Promise<void> {
    const question = tools.approvals.list().find((each) => each.approval === approval);
    if (question === undefined || signal.aborted) return;
    const flags = flagsOf(this.#options);
    if (!process.stdin.isTTY || !process.stderr.isTTY) {
      note(
        `${tool} is not allowed, and nobody can be asked here: \`graph-relay desktop tools allow ${tool}${flags}\` allows it.`,
      );
      await tools.approvals.decide({ approval, decision: 'deny', scope: 'call' });
      return;
    }
    for (const line of approvalLines(question, this.#ports.clock.now())) note(line);
    const answer = await this.#answer(signal);
    const [decision, scope] = ANSWERS[answer.trim().toLowerCase().slice(0, 1)] ?? ANSWERS.n!;
    if (signal.aborted) return;
    if (scope === 'always') await withTools(this.#options, (admin) => admin.permit({ pattern: tool, rule: decision }));
    await tools.approvals.decide({ approval, decision, scope });
  }

  /** Empty when the run ends meanwhile, or nobody types any more. */
  #answer(signal: AbortSignal): Promise<string> {
    const said = 'Allow it? y: this call, r: the rest of this run, a: from now on, n: no [n] ';
    process.stderr.write(painted('yellow', said, process.stderr));
    // Not a terminal of its own: Ctrl-C stays what it is, and ends the run.
    this.#terminal ??= createInterface({ input: process.stdin, terminal: false });
    const terminal = this.#terminal;
    return new Promise((answered) => {
      const done = (line = '') => {
        terminal.off('line', done).off('close', end);
        signal.removeEventListener('abort', end);
        answered(line);
      };
      const end = () => done();
      terminal.once('line', done).once('close', end);
      signal.addEventListener('abort', end, { once: true });
    });
  }
}
