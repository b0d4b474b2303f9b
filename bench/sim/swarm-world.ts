/**
 * The world of one seed: a relay, desktops and agents as the swarm drew them, production code on both sides.
 *
 * Owns the setting up. What goes wrong is in `faults/`, what must hold is in `checkers/`.
 */
import type { LocalSession } from '../../desktop-agent/graph-library.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { Access } from '../../server/access.ts';
import type { AgentPrincipal } from '../../server/agent-api.ts';
import type { Defects } from './defects.ts';
import { Dice } from './faults/dice.ts';
import type { CallerPlan, DesktopPlan, Swarm } from './faults/swarm.ts';
import { Sky } from './faults/weather.ts';
import { Wire } from './faults/wire.ts';
import { History } from './history.ts';
import { Caller } from './hosts/caller.ts';
import { DesktopHost, type Share } from './hosts/desktop-host.ts';
import { Life, Machine } from './hosts/machine.ts';
import { RelayHost } from './hosts/relay-host.ts';
import type { Counter } from './hosts/told-run.ts';
import type { Path } from './paths/path.ts';
import { namedRandom, seededIds } from './seeded.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface DesktopPlace {
  readonly plan: DesktopPlan;
  readonly host: DesktopHost;
  readonly sky: Sky;
  /** What the owner means to share; faults take some of it away for a while. */
  readonly shares: readonly Share[];
}

export interface SwarmWorld {
  readonly swarm: Swarm;
  readonly clock: VirtualClock;
  readonly history: History;
  readonly relay: RelayHost;
  readonly desktops: readonly DesktopPlace[];
  readonly callers: readonly Caller[];
  readonly callerSky: Sky;
  /** How an agent reaches the relay that serves now, without a network between them. */
  readonly counterOf: (caller: Caller) => Counter;
}

export interface WorldGiven {
  readonly path: Path;
  readonly defects: Defects;
  /** Whether the world's story is written down. */
  readonly traced: boolean;
}

export async function createSwarmWorld(swarm: Swarm, { path, defects, traced }: WorldGiven): Promise<SwarmWorld> {
  const clock = new VirtualClock(path.settling);
  const history = new History(clock, { traced });
  const { seed } = swarm;
  const { relayDiskMs: diskMs, startByMs } = swarm;
  const relay = new RelayHost({ seed, machine: new Machine(clock), history, path, diskMs, startByMs, defects });
  relay.start();
  const { access } = relay.serving!.relay;

  const agents: AdmittedAgent[] = [];
  for (const plan of swarm.callers) agents.push(await clock.settle(admitAgent(access, plan)));
  // A project exists once an agent has it; a desktop may share with one that nobody uses.
  await clock.settle(access.createToken({ kind: 'agent', name: 'owner', projects: swarm.projects }));
  const desktops: DesktopPlace[] = [];
  for (const plan of swarm.desktops) {
    const { token, row } = await clock.settle(access.createToken({ kind: 'desktop', name: plan.name }));
    const given = { seed, history, path, relay, defects, token, desktopId: row.subjectId };
    desktops.push(createDesktop(swarm, plan, { ...given, clock }));
  }
  const callerSky = new Sky(swarm.callerWeather);
  const { signal: never } = new AbortController();
  const callers = swarm.callers.map(({ name, hurry }, index) => {
    const { token, principal } = agents[index]!;
    const site = { life: () => relay.listening() };
    return new Caller({
      seed,
      name,
      hurry,
      life: new Life(new Machine(clock), name),
      history,
      wire: new Wire({ clock, history, sky: callerSky, site, caller: name }),
      principal,
      counter(signal) {
        const serving = relay.serving!;
        const { life } = serving;
        const api = path.agents(serving, { token, signal, life });
        return { api, life, principal, name, signal, history };
      },
    });
  });
  const counterOf = ({ options: { name, principal } }: Caller): Counter => {
    const { agents: api, life } = relay.serving!;
    return { api, life, principal, name, signal: never, history };
  };
  return { swarm, clock, history, relay, desktops, callers, callerSky, counterOf };
}

interface AdmittedAgent {
  readonly token: string;
  readonly principal: AgentPrincipal;
}

async function admitAgent(access: Access, { name, projects }: CallerPlan): Promise<AdmittedAgent> {
  const { token } = await access.createToken({ kind: 'agent', name, projects });
  return { token, principal: access.agentOf(token)! };
}

function createDesktop(
  swarm: Swarm,
  plan: DesktopPlan,
  given: Pick<DesktopHost['options'], 'seed' | 'history' | 'path' | 'relay' | 'defects' | 'token' | 'desktopId'> & {
    clock: VirtualClock;
  },
): DesktopPlace {
  const { clock, ...rest } = given;
  const { name, monotonicSleeps, weather } = plan;
  const sky = new Sky(weather);
  const machine = new Machine(clock, { monotonicSleeps });
  const host = new DesktopHost({ ...rest, ...plan, machine, sky });
  const random = namedRandom(swarm.seed, `${name} sessions`);
  const ids = seededIds(random);
  const dice = new Dice(random);
  const shares: Share[] = [];
  for (let number = 1; number <= plan.sessions; number++) {
    const session = sessionOf(`${name}-graph-${number}`, ids.hex(16));
    host.sessions.push(session);
    for (const projectId of swarm.projects) {
      if (dice.chance(0.8)) shares.push({ projectId, graphSessionId: session.graph_session_id });
    }
  }
  return { plan, host, sky, shares };
}

function sessionOf(slug: string, hex: string): LocalSession {
  return {
    graph_session_id: graphSessionId(hex),
    name: slug,
    description: '',
    slug,
    version: 1,
    status: 'ready',
    file_name: `${slug}.js`,
    problem: null,
  };
}
