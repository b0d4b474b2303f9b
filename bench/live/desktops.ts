/** Processes full of desktops, as seen from the process that measures. */
import { join } from 'node:path';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import type { TokenRequest } from '../../server/access.ts';
import type { BenchMode } from '../modes/mode.ts';
import type { Workload } from '../workloads/workload.ts';
import { startHelper } from './child-talk.ts';
import type { DesktopsAnswer, DesktopsOrder, DesktopsQuestion } from './desktops-messages.ts';

/** A desktop and the agent that starts runs on it, with a project of their own. */
export interface Pair {
  readonly project: string;
  readonly agentToken: string;
  readonly desktopToken: string;
}

/** What the relay has to be asked for, for these pairs. */
export function tokensFor(projects: readonly string[]): TokenRequest[] {
  return projects.flatMap((project) => [
    { kind: 'agent', name: project, projects: [project] } as const,
    { kind: 'desktop', name: project } as const,
  ]);
}

export function pairsOf(projects: readonly string[], tokens: readonly string[]): Pair[] {
  return projects.map((project, index) => ({
    project,
    agentToken: tokens[2 * index]!,
    desktopToken: tokens[2 * index + 1]!,
  }));
}

export interface Desktops {
  readonly pairs: readonly Pair[];
  readonly sessions: readonly string[];
  /** Connects all of them over this time. Resolves with when each began, in milliseconds of the shared clock. */
  run(spreadMs: number): Promise<readonly number[]>;
  /** What has run, and the instants of each pickup when they were asked for. */
  seen(): Promise<Pick<DesktopsAnswer, 'times' | 'marks'>>;
  end(): Promise<void>;
}

export async function openDesktops(given: {
  relay: URL;
  mode: BenchMode;
  workload: Pick<Workload, 'slots' | 'stop_s'>;
  pairs: readonly Pair[];
  directory: string;
  marked: boolean;
}): Promise<Desktops> {
  const { relay, mode, workload, pairs, directory, marked } = given;
  const program = siblingModule('./desktops-process', import.meta.url);
  const helper = startHelper<DesktopsOrder | DesktopsQuestion, DesktopsAnswer>(`the desktops of ${mode.name}`, {
    program,
  });
  const { sessions } = await helper.ask({
    url: relay.href,
    relay: mode.relay,
    slots: workload.slots,
    stopMs: workload.stop_s * 1_000,
    marked,
    desktops: pairs.map(({ project, desktopToken }) => ({
      project,
      token: desktopToken,
      directory: join(directory, project),
    })),
  });
  return {
    pairs,
    sessions,
    run: async (spreadMs) => (await helper.ask({ ask: 'run', spreadMs })).startedAt,
    seen: () => helper.ask({ ask: 'times' }),
    end: helper.end,
  };
}
