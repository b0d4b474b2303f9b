/**
 * A connected agent: starts runs, repeats itself, reads, waits, cancels, and tries what it may not.
 *
 * Owns what this agent knows (its keys and runs), and how it tries again when no answer comes.
 */
import type { AgentPrincipal, RunRequest } from '../../../server/agent-api.ts';
import { Dice } from '../faults/dice.ts';
import type { Wire } from '../faults/wire.ts';
import type { History } from '../history.ts';
import { namedRandom } from '../seeded.ts';
import type { Life } from './machine.ts';
import { askForRun, askToCancel, askToRun, type Counter } from './told-run.ts';

export interface CallerOptions {
  readonly seed: number;
  readonly name: string;
  /** Share of runs that are to start soon or never. */
  readonly hurry: number;
  readonly life: Life;
  readonly history: History;
  readonly wire: Wire;
  readonly principal: AgentPrincipal;
  /** The relay that serves now, as this agent reaches it. Never asked while there is none. */
  readonly counter: (signal: AbortSignal) => Counter;
}

/** A start call that this agent has made, whatever became of it. */
interface Started {
  readonly request: RunRequest;
  commandId: string | null;
}

/** What an agent may do; the swarm says how often. */
export type Deed = 'start' | 'start-and-cancel' | 'replay' | 'conflict' | 'read' | 'wait' | 'cancel' | 'spy';

const ATTEMPTS = 6;
/** An answer that takes longer is not waited for. */
const PATIENCE_MS = 12_000;

export class Caller {
  readonly options: CallerOptions;
  readonly #started: Started[] = [];
  #deeds = 0;
  #calls = 0;

  constructor(options: CallerOptions) {
    this.options = options;
  }

  /** Runs that this agent knows to exist. */
  runs(): string[] {
    return this.#started.flatMap(({ commandId }) => commandId ?? []);
  }

  /** Does something now. `sessions` are those that it may start; `strangers` are runs of other agents. */
  async act(deed: Deed, world: { sessions: readonly string[]; strangers: readonly string[] }): Promise<void> {
    const { seed, name } = this.options;
    const dice = new Dice(namedRandom(seed, `${name} deed ${++this.#deeds}`));
    const earlier = this.#started.length > 0 ? dice.pick(this.#started) : null;
    const run = earlier?.commandId ?? null;
    if (deed === 'start' && world.sessions.length > 0) return void (await this.#start(dice, dice.pick(world.sessions)));
    if (deed === 'start-and-cancel' && world.sessions.length > 0) return this.#startAndCancel(dice, world.sessions);
    if (deed === 'spy' && world.strangers.length > 0) return this.#read(dice.pick(world.strangers), 0);
    if (deed === 'replay' && earlier !== null)
      return this.#ask(dice, { ...earlier, request: respelled(earlier.request) });
    if (deed === 'conflict' && earlier !== null)
      return this.#ask(dice, { ...earlier, request: altered(earlier.request) });
    if (run === null) return;
    if (deed === 'read') return this.#read(run, 0);
    if (deed === 'wait') return this.#read(run, dice.whole(1_000, 50_000));
    if (deed === 'cancel') return this.#cancel(run);
  }

  /** Changes its mind soon: while the offer, the ack or its answer is on its way. */
  async #startAndCancel(dice: Dice, sessions: readonly string[]): Promise<void> {
    const { commandId } = await this.#start(dice, dice.pick(sessions));
    await new Promise<void>((resume) => this.options.life.after(dice.magnitude(0.1, 5_000), resume));
    if (commandId !== null) await this.#cancel(commandId);
  }

  async #start(dice: Dice, session: string): Promise<Started> {
    const { hurry, name } = this.options;
    const serial = this.#started.length + 1;
    // Keys are the same for all agents: an agent's key says nothing about another's.
    const request = {
      graph_session_id: session,
      arguments: { serial, by: name },
      idempotency_key: `key-number-${serial}`,
      ...(dice.chance(hurry) && { start_within_seconds: Math.ceil(dice.magnitude(1, 600)) }),
    };
    const started: Started = { request, commandId: null };
    this.#started.push(started);
    await this.#ask(dice, started);
    return started;
  }

  /** Asks until there is an answer, each time with the same key. */
  async #ask(dice: Dice, started: Started): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const answer = await this.#send((counter) => askToRun(counter, started.request));
      if (answer !== undefined) {
        if (answer !== null) started.commandId = answer;
        return;
      }
      await new Promise<void>((resume) => this.options.life.after(dice.between(500, 4_000), resume));
    }
  }

  async #read(commandId: string, waitMs: number): Promise<void> {
    await this.#send((counter) => askForRun(counter, { commandId, waitMs, by: 'read' }), waitMs);
  }

  async #cancel(commandId: string): Promise<void> {
    const { history, name } = this.options;
    history.add({ type: 'cancel-asked', agent: name, commandId });
    history.tell(name, 'asks to cancel', commandId);
    await this.#send((counter) => askToCancel(counter, commandId));
  }

  /** Resolves with undefined when no answer came. */
  #send<A>(ask: (counter: Counter) => Promise<A>, waitMs = 0): Promise<A | undefined> {
    const { seed, name, life, wire, counter } = this.options;
    const { promise, resolve } = Promise.withResolvers<A | undefined>();
    const takeBack = wire.send<A>(life, {
      name: 'agent',
      random: namedRandom(seed, `${name} call ${++this.#calls}`),
      deliver: (signal) => ask(counter(signal)),
      onAnswer: (answer) => end(answer),
      onBreakdown: () => end(undefined),
    });
    const patience = life.after(waitMs + PATIENCE_MS, () => {
      takeBack();
      end(undefined);
    });
    const end = (answer: A | undefined) => {
      patience.cancel();
      resolve(answer);
    };
    return promise;
  }
}

/** The same request by meaning. */
function respelled(request: RunRequest): RunRequest {
  return { ...request, arguments: Object.fromEntries(Object.entries(request.arguments).reverse()) };
}

/** Another request under the same key. */
function altered(request: RunRequest): RunRequest {
  return { ...request, arguments: { ...request.arguments, more: true } };
}
