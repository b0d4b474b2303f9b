/**
 * A client that asks for the result of a run in its own way, and what that costs it.
 *
 * Owns when it asks, and the counting of calls. Each way of asking is a client by itself: what one of them was told last
 * is no news of another.
 */
import type { Clock } from '../../protocol/ports.ts';
import type { AgentApi, AgentPrincipal, RunView } from '../../server/agent-api.ts';
import type { Strategy } from '../asking.ts';
import { sleepFor } from './sleep.ts';
import { weighedLook } from './weighed-look.ts';

/** What asking needs of a world, virtual or real. */
export interface AskedWorld {
  readonly clock: Clock;
  readonly relay: { readonly agents: Pick<AgentApi, 'getRun'> };
  readonly caller: AgentPrincipal;
  readonly options: { readonly weighsAnswers: boolean };
}

/** What is needed of an answer to know what to do next. */
export type Told = Pick<RunView, 'status' | 'check_after_seconds'>;

/** Estimated, of what a model writes and reads. */
export interface TokensSpent {
  /** Of inputs, and of answers as words and as data: what the endpoint sends. */
  readonly all: number;
  /** Of inputs, and of answers as words alone: where a client keeps the data from its model. */
  readonly words: number;
}

export interface Looked {
  readonly told: Told;
  readonly tokens: TokensSpent;
}

/** What asking for one run came to. */
export interface Asked {
  readonly calls: number;
  /** 0 in a world where nobody weighs answers, since that costs more than asking. */
  readonly tokens: TokensSpent;
  /** When the client knew that the run had ended. */
  readonly knewAt: number;
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'lost']);

export function hasEnded({ status }: Pick<RunView, 'status'>): boolean {
  return ENDS.has(status);
}

const never = new AbortController().signal;

/** Asks until the run has ended. */
export async function ask(world: AskedWorld, ticket: RunView, strategy: Strategy): Promise<Asked> {
  const { clock } = world;
  const look = world.options.weighsAnswers ? weighedLook(world, ticket) : bareLook(world, ticket);
  const spent = { all: 0, words: 0 };
  let told: Told = ticket;
  for (let calls = 0; ; ) {
    await sleepFor(clock, pauseS(strategy, { calls, told }) * 1_000);
    const looked = await look(strategy.wait_s);
    calls++;
    told = looked.told;
    spent.all += looked.tokens.all;
    spent.words += looked.tokens.words;
    if (hasEnded(told)) return { calls, tokens: spent, knewAt: clock.monotonic() };
  }
}

/** As the endpoint says it where there is no better guess. */
const UNTOLD_S = 1;

function pauseS({ pauses_s }: Strategy, { calls, told }: { calls: number; told: Told }): number {
  if (typeof pauses_s === 'string') return told.check_after_seconds ?? UNTOLD_S;
  return pauses_s[Math.min(calls, pauses_s.length - 1)]!;
}

const NOTHING: TokensSpent = { all: 0, words: 0 };

function bareLook(world: AskedWorld, { command_id }: RunView): (waitS: number) => Promise<Looked> {
  return async (waitS) => ({ told: await read(world, command_id, waitS * 1_000), tokens: NOTHING });
}

export function read(world: AskedWorld, commandId: string, waitMs = 0): Promise<RunView> {
  return world.relay.agents.getRun(world.caller, { command_id: commandId, waitMs, signal: never });
}

const LONGEST_WAIT_MS = 50_000;

/** Resolves in the moment in which the relay has the end of the run. */
export async function untilEnded(world: AskedWorld, commandId: string): Promise<RunView> {
  for (;;) {
    const run = await read(world, commandId, LONGEST_WAIT_MS);
    if (hasEnded(run)) return run;
  }
}
