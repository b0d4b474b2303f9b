/**
 * A client that asks for the result of a run in its own way, and what that costs it.
 *
 * Owns the counting of calls and characters. The answer is the text that a model gets, as the MCP endpoint packs it.
 */
import type { Clock } from '../../protocol/ports.ts';
import type { AgentApi, AgentPrincipal, RunView } from '../../server/agent-api.ts';
import type { Strategy } from '../asking.ts';
import { sleepFor } from './sleep.ts';

/** What asking needs of a world, virtual or real. */
export interface AskedWorld {
  readonly clock: Clock;
  readonly relay: { readonly agents: Pick<AgentApi, 'getRun'> };
  readonly caller: AgentPrincipal;
  readonly options: { readonly weighsAnswers: boolean };
}

/** What asking for one run came to. */
export interface Asked {
  readonly calls: number;
  /** Of inputs and answers, as text; 0 in a world where nobody weighs them, since that costs more than asking. */
  readonly chars: number;
  /** When the client knew that the run had ended. */
  readonly knewAt: number;
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'lost']);

export function hasEnded({ status }: Pick<RunView, 'status'>): boolean {
  return ENDS.has(status);
}

const never = new AbortController().signal;

/** Asks until the run has ended. */
export async function ask(world: AskedWorld, commandId: string, strategy: Strategy): Promise<Asked> {
  const { clock } = world;
  const { pauses_s, wait_s } = strategy;
  const input = wait_s > 0 ? { command_id: commandId, wait_seconds: wait_s } : { command_id: commandId };
  const { weighsAnswers } = world.options;
  const inputChars = JSON.stringify(input).length;
  let chars = 0;
  for (let calls = 0; ; ) {
    const pauseS = pauses_s[Math.min(calls, pauses_s.length - 1)]!;
    await sleepFor(clock, pauseS * 1_000);
    const run = await read(world, commandId, wait_s * 1_000);
    calls++;
    if (weighsAnswers) chars += inputChars + JSON.stringify(run).length;
    if (hasEnded(run)) return { calls, chars, knewAt: clock.monotonic() };
  }
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
