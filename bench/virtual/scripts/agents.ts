/** Experiments about agents: replies that are lost on their way to one, and one that asks for a run of another. */
import { AgentError } from '../../../server/agent-api.ts';
import { CALM, Sky } from '../../sim/faults/weather.ts';
import { Wire } from '../../sim/faults/wire.ts';
import { Life, Machine } from '../../sim/hosts/machine.ts';
import { namedRandom } from '../../sim/seeded.ts';
import { type BenchWorld, type BenchWorldOptions, createBenchWorld } from '../bench-world.ts';
import { queue } from '../rounds.ts';

export interface LostReplies {
  /** Calls that each run took. */
  readonly attempts: readonly number[];
  /** Runs that the relay has queued for those calls. */
  readonly queued: number;
}

/** More than may wait by default: with new keys, each lost reply leaves a run behind. */
const ROOM = 10_000;

/** An agent starts runs and repeats each call until a reply comes. The desktop is away, so nothing runs meanwhile. */
export async function loseReplies(
  options: BenchWorldOptions,
  given: { newKeys: boolean; runs: number; loss: number },
): Promise<LostReplies> {
  const limits = { queuedPerDesktop: ROOM, queuedPerProject: ROOM };
  const world = await createBenchWorld({ ...options, limits });
  const { clock, history, relay, relayLife, caller, graphSessionId } = world;
  world.sky.begin({ loseRequest: 1, loseAnswer: 1, sockets: 'refused' });
  const sky = new Sky({ ...CALM, loseAnswer: given.loss });
  const wire = new Wire({ clock, history, sky, site: { life: () => relayLife }, caller: 'agent' });
  const life = new Life(new Machine(clock), 'agent');
  const queued = new Set<string>();
  const attempts: number[] = [];
  let calls = 0;

  /** Resolves with false when the reply was lost. */
  const call = (key: string): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const request = { graph_session_id: graphSessionId, arguments: { run_ms: 1_000 }, idempotency_key: key };
    wire.send<void>(life, {
      name: 'agent',
      random: namedRandom(options.seed, `call ${++calls}`),
      deliver: async () => void queued.add((await relay.agents.runSession(caller, request)).command_id),
      onAnswer: () => resolve(true),
      onBreakdown: () => resolve(false),
    });
    return promise;
  };
  const startAll = async () => {
    for (let run = 1; run <= given.runs; run++) {
      let attempt = 1;
      while (!(await call(`run-${run}-key-${given.newKeys ? attempt : 1}`))) attempt++;
      attempts.push(attempt);
    }
  };
  await clock.settle(startAll());
  return { attempts, queued: queued.size };
}

/** What another agent is told of a run; null when it is told of the run itself. */
export async function readAsStranger(world: BenchWorld): Promise<string | null> {
  const { clock, relay, stranger } = world;
  const commandId = await clock.settle(queue(world, { key: 'a run of mine', order: { run_ms: 1_000 } }));
  const request = { command_id: commandId, waitMs: 0, signal: new AbortController().signal };
  try {
    await clock.settle(relay.agents.getRun(stranger, request));
    return null;
  } catch (error) {
    if (error instanceof AgentError) return error.message;
    throw error;
  }
}
