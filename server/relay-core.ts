/**
 * The relay without its routes: the books, who acts on them, and the calls of both sides.
 *
 * Owns how these parts are put together. Knows no request and no path.
 */
import type { CallContext, RelayHandlers } from '../protocol/api.ts';
import { asRelayError, RelayError, withoutDisk } from '../protocol/errors.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import { RUN_NOT_FOUND } from '../protocol/texts.ts';
import { type AgentApi, AgentError } from './agent-api.ts';
import { createAgentCalls } from './agent-calls.ts';
import { AwaitedApprovals } from './awaited-approvals.ts';
import { CommandBook } from './command-book.ts';
import { Deadlines } from './deadlines.ts';
import { DesktopBook } from './desktop-book.ts';
import { createDesktopCalls } from './desktop-calls.ts';
import { Dispatcher } from './dispatcher.ts';
import { Draining } from './draining.ts';
import { HeldRequests } from './held-requests.ts';
import { logCommandLife } from './log-events.ts';
import { createPlainCalls, type PlainCalls } from './plain-calls.ts';
import { PlainLeases } from './plain-leases.ts';
import type { RelayLimits } from './relay-limits.ts';
import { Retention } from './retention.ts';
import type { RelayTables } from './rows.ts';

export interface RelayCoreOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  readonly limits: RelayLimits;
}

export interface RelayCore {
  readonly agents: AgentApi;
  readonly calls: RelayHandlers;
  readonly plainCalls: PlainCalls;
  readonly draining: () => boolean;
  /** Ends what this desktop holds: it may not come in any more. */
  endHeld(desktopId: string, error: RelayError): void;
  /** Ends what this agent waits for. Its runs go on. */
  endWaits(agentId: string, error: RelayError): void;
  /** The connection of this desktop is dead, and nobody said so. */
  fellSilent(desktopId: string): void;
  /**
   * The owner removed this agent: what it asked for a moment ago is refused too, what it waits for ends, its runs that
   * wait are not started any more, and those that go on are asked to stop.
   */
  endAgent(agentId: string): void;
  /** Ends what is held and takes nothing new. */
  drain(): Promise<void>;
}

export function createRelayCore({ ports, store, limits }: RelayCoreOptions): RelayCore {
  const { clock, log } = ports;
  const commands = new CommandBook({ store, clock, log });
  const desktops = new DesktopBook({ store, clock });
  const dispatcher = new Dispatcher({ commands, clock });
  const approvals = new AwaitedApprovals({ clock, commands, onChange: (commandId) => dispatcher.news(commandId) });
  const leases = new PlainLeases({ clock, commands });
  const onReturned = (desktopId: string) => dispatcher.dispatch(desktopId);
  const deadlines = new Deadlines({ clock, commands, desktops, leases, limits, onReturned });
  const retention = new Retention({ clock, log, commands, limits });
  const held = new HeldRequests(limits.heldPerDesktop);
  const waits = new HeldRequests(limits.waitsPerAgent);
  /** An id is never used again, and removals are few. */
  const endedAgents = new Set<string>();
  const draining = new Draining({ ports, dispatcher, held, waits });
  logCommandLife(commands, log);

  const books = { ports, store, approvals, commands, desktops, dispatcher, draining };
  const hasProject = (projectId: string) => store.rows('project').has(projectId);
  const desktopBooks = { ...books, hasProject, held };

  return {
    agents: quiet(createAgentCalls({ ...books, waits, endedAgents, limits })),
    calls: loggingFaults(createDesktopCalls(desktopBooks), ports),
    plainCalls: createPlainCalls({ ...desktopBooks, leases }),
    draining: () => draining.begun,
    endHeld(desktopId, error) {
      dispatcher.syncs.get(desktopId)?.fail(error);
      held.failAllOf(desktopId, error);
    },
    endWaits: (agentId, error) => waits.failAllOf(agentId, error),
    fellSilent: (desktopId) => desktops.fellSilent(desktopId),
    endAgent(agentId) {
      endedAgents.add(agentId);
      waits.failAllOf(agentId, new AgentError(RUN_NOT_FOUND));
      // Copied: each step changes the list that it comes from.
      const runs = [...commands.allLive()].filter((row) => row.agentId === agentId);
      for (const { commandId } of runs) commands.apply(commandId, { type: 'cancel' });
      if (runs.length > 0) log.info('agent.runs-ended', { agent_id: agentId, runs: runs.length });
    },
    async drain() {
      deadlines.stop();
      retention.stop();
      await draining.begin();
    },
  };
}

/** The same calls, which keep to themselves what the disk said: the store's own log line has it. */
function quiet<Calls extends object>(calls: Calls): Calls {
  const quieten = (error: unknown) => {
    throw error instanceof RelayError ? withoutDisk(error) : error;
  };
  const wrapped = Object.entries(calls).map(([name, call]) => [
    name,
    (...input: unknown[]) => (call as (...input: unknown[]) => Promise<unknown>)(...input).catch(quieten),
  ]);
  return Object.fromEntries(wrapped) as Calls;
}

/** A fault of ours is logged where it happened; the caller gets a neutral text. */
function loggingFaults(calls: RelayHandlers, { log }: Ports): RelayHandlers {
  const guard = <I, A>(name: string, call: (input: I, context: CallContext) => Promise<A>) => {
    return async (input: I, context: CallContext): Promise<A> => {
      try {
        return await call(input, context);
      } catch (error) {
        const relay = asRelayError(error);
        if (relay.code === 'internal')
          log.error('relay.fault', { call: name, desktop_id: context.desktopId, err: error });
        throw withoutDisk(relay);
      }
    };
  };
  return {
    sync: guard('sync', calls.sync),
    control: guard('control', calls.control),
    complete: guard('complete', calls.complete),
    probe: guard('probe', calls.probe),
    unreadableCompletion: calls.unreadableCompletion,
  };
}
