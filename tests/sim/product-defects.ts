/** Deliberate faults of the product, made by wrapping its parts: each takes away one thing that it does on purpose. */
import type { Defects } from '../../bench/sim/defects.ts';
import type { RelayHandlers } from '../../protocol/api.ts';
import type { MemoryImage } from '../../protocol/host/state/memory-state.ts';
import type { StateStore, StoreChange } from '../../protocol/ports.ts';
import type { SyncAnswer } from '../../protocol/schemas.ts';
import type { AgentApi, AgentPrincipal } from '../../server/agent-api.ts';
import type { CommandRow, RelayTables } from '../../server/rows.ts';

type RelayStore = StateStore<RelayTables>;

/** Says at once that everything is durable. */
export function relayDiskLies(): Defects {
  return {
    relayStore: (store) =>
      changed(store, {
        commit: (changes) => {
          store.commit(changes).catch(() => {});
          return Promise.resolve();
        },
        synced: () => Promise.resolve(),
      }),
  };
}

export function relayForgetsRuns(): Defects {
  return { relayImage: (image) => withoutTable(image, 'command') };
}

const STORED = async () => ({ stored: true, already: false, sync_raised: false }) as const;

/** The end of a run is answered as stored, and is not written. */
export function completionsAreForgotten(): Defects {
  return { calls: (calls) => ({ ...calls, complete: STORED }) };
}

/** A restarted desktop does not know what it has begun, and nobody else stops it. */
export function journalIsLost(): Defects {
  return { ...everythingMayStart(), desktopImage: (image) => withoutTable(withoutTable(image, 'execution'), 'outbox') };
}

/** The last word before running is always yes, and is not written down. */
export function everythingMayStart(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      control: async (input, context) =>
        input.phase === 'starting' ? { cancel: false, reason: null } : calls.control(input, context),
    }),
  };
}

export function oneSlotTooMany(): Defects {
  return { slots: (slots) => slots + 1 };
}

/** An older instance is let in as if it were the newer one, and asks without an epoch. */
export function epochsAreIgnored(): Defects {
  const newest = new Map<string, string>();
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => {
        const asked = newest.get(context.desktopId) ?? input.instance_id;
        newest.set(context.desktopId, asked);
        const answer = await calls.sync({ ...input, instance_id: asked }, context);
        return { ...answer, epoch: answer.epoch + [...input.instance_id].reduce((sum, c) => sum + c.charCodeAt(0), 0) };
      },
      control: ({ epoch: _epoch, ...input }, context) => calls.control(input, context),
    }),
  };
}

export function oneEpochForAll(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => ({ ...(await calls.sync(input, context)), epoch: 1 }),
    }),
  };
}

/** Each fifth answer about a run that has started says that it has not. */
export function oldStatesComeBack(): Defects {
  let reads = 0;
  return {
    agents: (agents) => ({
      ...agents,
      getRun: async (agent, request) => {
        const run = await agents.getRun(agent, request);
        return ++reads % 5 === 0 ? { ...run, status: 'queued' } : run;
      },
    }),
  };
}

/** Each third answer about a run that has completed says that it has failed. */
export function endsAreGuessed(): Defects {
  let reads = 0;
  return {
    agents: (agents) => ({
      ...agents,
      getRun: async (agent, request) => {
        const { result, ...run } = await agents.getRun(agent, request);
        const guess = run.status === 'completed' && ++reads % 3 === 0;
        return guess ? { ...run, status: 'failed' } : { ...run, ...(result === undefined ? {} : { result }) };
      },
    }),
  };
}

/** A cancel is forgotten when the desktop reports how the run ended. */
export function lateCompletionWins(): Defects {
  return {
    calls: (calls, store) => ({
      ...calls,
      complete: (input, context) => {
        rewrite(store, input.command_id, (row) =>
          row.status === 'cancelled'
            ? { ...row, status: 'running', cancelRequestedAt: null, executionId: input.execution_id }
            : row,
        );
        return calls.complete({ ...input, status: 'completed' }, context);
      },
    }),
  };
}

export function resultsAreMixedUp(): Defects {
  let last: unknown = 'nothing yet';
  return {
    calls: (calls) => ({
      ...calls,
      complete: (input, context) => {
        const mixed = { ...input, ...(input.result === undefined ? {} : { result: last }) };
        last = input.result ?? last;
        return calls.complete(mixed, context);
      },
    }),
  };
}

/** Whoever names a run reads it as its owner would. */
export function anybodyMayRead(): Defects {
  const owners = new Map<string, AgentPrincipal>();
  return {
    agents: (agents) => ({
      ...agents,
      runSession: async (agent, request) => {
        const ticket = await agents.runSession(agent, request);
        owners.set(ticket.command_id, agent);
        return ticket;
      },
      getRun: (agent, request) => agents.getRun(owners.get(request.command_id) ?? agent, request),
    }),
  };
}

export function everythingFails(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      complete: ({ result: _result, ...input }, context) => calls.complete({ ...input, status: 'failed' }, context),
    }),
  };
}

export function keysAreNotKept(): Defects {
  let serial = 0;
  return withRequests((request) => ({ ...request, idempotency_key: `${request.idempotency_key}-${++serial}` }));
}

export function argumentsAreIgnored(): Defects {
  return withRequests((request) => ({ ...request, arguments: {} }));
}

/** All agents are taken for the first one that starts something. */
export function keysAreShared(): Defects {
  let first: AgentPrincipal | null = null;
  const asFirst = (agent: AgentPrincipal): AgentPrincipal => {
    first ??= agent;
    return { ...first, projects: agent.projects };
  };
  return {
    agents: (agents) => ({
      ...agents,
      runSession: (agent, request) => agents.runSession(asFirst(agent), { ...request, arguments: {} }),
      getRun: (agent, request) => agents.getRun(asFirst(agent), request),
      cancelRun: (agent, request) => agents.cancelRun(asFirst(agent), request),
    }),
  };
}

/** A sync that has its answer keeps its request open for a while. */
export function oldHoldsStay(): Defects {
  return lateSyncs(async (answer, context) => {
    if (context.signal.aborted) await new Promise(() => {});
    return answer;
  });
}

/** Nothing that is held ever ends by itself. */
export function holdsAreLong(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => {
        let answer = await calls.sync(input, context);
        for (let again = 0; again < 2 && input.hold_ms > 0 && answer.commands.length === 0; again++) {
          answer = await calls.sync(input, context);
        }
        return answer;
      },
    }),
  };
}

export function nothingIsHeld(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => ({ ...(await calls.sync({ ...input, hold_ms: 0 }, context)), next_sync_ms: 0 }),
    }),
  };
}

/** What was offered to one desktop is offered to the next one that asks, too. */
export function offersGoAstray(): Defects {
  let last: SyncAnswer['commands'] = [];
  return lateSyncs(async (answer) => {
    const astray = [...last, ...answer.commands];
    last = answer.commands;
    return { ...answer, commands: astray };
  });
}

/** The desktop believes that the relay has each completion, and the relay never hears of it. */
export function completionsAreThrownAway(): Defects {
  return {
    dialers: (dialers) => ({
      'long-poll': { ...dialers['long-poll'], complete: STORED },
      websocket: { ...dialers.websocket, complete: STORED },
      plain: { ...dialers.plain, complete: STORED },
    }),
  };
}

/** What was in an answer once is taken out of all later ones. */
export function offersAreMadeOnce(): Defects {
  const offered = new Set<string>();
  return lateSyncs(async (answer) => {
    const commands = answer.commands.filter(({ command_id }) => !offered.has(command_id));
    for (const { command_id } of answer.commands) offered.add(command_id);
    return { ...answer, commands };
  });
}

function lateSyncs(
  change: (answer: SyncAnswer, context: Parameters<RelayHandlers['sync']>[1]) => Promise<SyncAnswer>,
): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => change(await calls.sync(input, context), context),
    }),
  };
}

function withRequests(change: (request: Parameters<AgentApi['runSession']>[1]) => typeof request): Defects {
  return {
    agents: (agents) => ({
      ...agents,
      runSession: (agent, request) => agents.runSession(agent, change(request)),
    }),
  };
}

function rewrite(store: RelayStore, commandId: string, change: (row: CommandRow) => CommandRow): void {
  const row = store.rows('command').get(commandId);
  if (row === undefined) return;
  const rewritten: StoreChange<RelayTables> = { table: 'command', id: commandId, row: change(row) };
  store.commit([rewritten]).catch(() => {});
}

function withoutTable(image: MemoryImage, name: string): MemoryImage {
  return { ...image, tables: image.tables.filter(([table]) => table !== name) };
}

/** The store with some of its methods replaced. */
function changed(store: RelayStore, instead: Partial<RelayStore>): RelayStore {
  return {
    rows: (table) => store.rows(table),
    commit: (changes) => store.commit(changes),
    synced: () => store.synced(),
    readFrozen: (id) => store.readFrozen(id),
    status: () => store.status(),
    close: () => store.close(),
    ...instead,
  };
}
