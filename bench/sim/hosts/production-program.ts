/**
 * The production desktop on a simulated machine.
 *
 * Owns how its ports are filled. Changes nothing of it: what differs from a real one is the world around.
 */
import { createAgent } from '../../../desktop-agent/agent.ts';
import type { GraphLibrary } from '../../../desktop-agent/graph-library.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../../desktop-agent/rows.ts';
import type { Dialers } from '../../../desktop-agent/transports.ts';
import { TRPC_PATH } from '../../../protocol/api.ts';
import { RelayError } from '../../../protocol/errors.ts';
import { createMemoryState } from '../../../protocol/host/state/memory-state.ts';
import type { Ports } from '../../../protocol/ports.ts';
import { identifyUpgrade } from '../../../server/upgrades.ts';
import { namedRandom, seededIds } from '../seeded.ts';
import { observed } from './observed-dialers.ts';
import { partLog } from './part-log.ts';
import type { Installed, ProgramGiven } from './program.ts';
import type { RelayHost } from './relay-host.ts';
import { createObservedEngine } from './simulated-graphs.ts';

export function installProduction(given: ProgramGiven): Installed {
  const { options, ref, life, image } = given;
  const { history, seed, mode, slots, diskMs, defects } = options;
  const ports: Ports = {
    clock: life,
    random: namedRandom(seed, ref.instance),
    ids: seededIds(namedRandom(seed, `${ref.instance} ids`)),
    log: partLog(history, ref.instance),
  };
  const store = createMemoryState<DesktopTables>({
    tables: DESKTOP_TABLES,
    clock: life,
    syncDelayMs: diskMs,
    ...(image && { restore: image }),
  });
  const dialers = observed(dialersOf(given), { history, ref, clock: life.machine.world });
  const agent = createAgent({
    ports,
    // What a defect makes of an answer comes after the answer was seen.
    dialers: defects.dialers?.(dialers) ?? dialers,
    store: defects.desktopStore?.(store) ?? store,
    engine: createObservedEngine(options, { ref, life }),
    library: libraryOf(given),
    mode,
    slots: defects.slots?.(slots) ?? slots,
  });
  const { sharing } = agent;
  return {
    disk: store,
    program: {
      run: agent.run,
      drain: agent.drain,
      share: (projectId, graphSessionId) => sharing.share(projectId, graphSessionId),
      unshare: (projectId, graphSessionId) => sharing.unshare(projectId, graphSessionId),
      libraryChanged: agent.libraryChanged,
    },
  };
}

function dialersOf({ options, ref, life, names, wire, randomOf }: ProgramGiven): Dialers {
  const { history, seed, path, relay, sky, name, desktopId, token } = options;
  const site = {
    life: () => relay.listening(),
    refusal: (headers: Readonly<Record<string, string>>) => {
      const { access, draining } = relay.serving!.relay;
      const upgrade = identifyUpgrade({ url: TRPC_PATH, headers }, { desktopOf: access.desktopOf, draining });
      return upgrade instanceof RelayError ? upgrade : null;
    },
    accept: (socket: Parameters<RelayHost['accept']>[0]) => relay.accept(socket, desktopId),
  };
  let sockets = 0;
  const newRandom = () => namedRandom(seed, `${ref.instance} socket ${++sockets}`);
  return path.dialers({
    life,
    wire,
    sockets: { clock: life.machine.world, history, sky, site, caller: name, newRandom },
    serving: () => relay.serving!,
    desktopId,
    token,
    names,
    randomOf,
  });
}

function libraryOf({ sessions }: ProgramGiven): GraphLibrary {
  return {
    list: sessions,
    load: async (id) => {
      const session = sessions().find(({ graph_session_id }) => graph_session_id === id);
      return session === undefined ? null : { name: session.file_name, source: '' };
    },
  };
}
