/**
 * One imaginary command through a throw-away desktop, before the real one connects.
 *
 * The first pickup after a start would otherwise pay for compiling everything on its way (50-100 ms on two cores). No
 * network, no disk and no Graph: the answers of the relay are canned, and what it does is thrown away.
 */
import { createMemoryState } from '../protocol/host/state/memory-state.ts';
import { graphSessionId } from '../protocol/ids.ts';
import type { Log, Ports } from '../protocol/ports.ts';
import type { CompleteAnswer, ControlAnswer, SyncAnswer } from '../protocol/schemas.ts';
import { createAgent } from './agent.ts';
import { createDialers } from './dialer/dialers.ts';
import type { GraphLibrary, LocalSession } from './graph-library.ts';
import type { Engine, RunOutcome } from './ports.ts';
import type { DesktopTables } from './rows.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const PROJECT = 'rehearsal';

export async function rehearseDesktop(real: Ports): Promise<void> {
  const ports: Ports = { ...real, log: SILENT };
  const session: LocalSession = {
    graph_session_id: graphSessionId(ports.ids.hex(16)),
    name: 'Rehearsal',
    description: '',
    slug: 'rehearsal',
    version: 1,
    status: 'ready',
    file_name: 'rehearsal.js',
    problem: null,
  };
  const completed = Promise.withResolvers<void>();
  const agent = createAgent({
    ports,
    dialers: createDialers({
      url: 'http://rehearsal.invalid',
      token: () => 'none',
      clock: ports.clock,
      fetch: cannedRelay(ports, session, () => completed.resolve()),
      open: () => ({ send() {}, terminate() {} }),
    }),
    store: createMemoryState<DesktopTables>(),
    engine: instantEngine,
    library: libraryOf(session),
  });
  await agent.sharing.share(PROJECT, session.graph_session_id);
  const ended = agent.run();
  await completed.promise;
  await agent.drain(0);
  await ended;
}

/** Offers one command with the second sync, holds the third until it is taken back, and agrees to everything else. */
function cannedRelay({ ids, clock }: Ports, session: LocalSession, onCompleted: () => void) {
  const syncAnswer: SyncAnswer = { epoch: 1, commands: [], refused_projects: [], hold_granted_ms: 0, next_sync_ms: 0 };
  const offer = {
    command_id: ids.uuid(),
    project_id: PROJECT,
    graph_session_id: session.graph_session_id,
    slug: session.slug,
    arguments: { name: 'nobody' },
    queued_at_ms: Math.round(clock.now()),
  };
  let syncs = 0;
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    if (path.endsWith('sync')) {
      syncs++;
      const isGoodbye = String(init?.body).includes('"leaving"');
      if (syncs > 2 && !isGoodbye) await untilAborted(init?.signal);
      return answer<SyncAnswer>(syncs === 2 ? { ...syncAnswer, commands: [offer] } : syncAnswer);
    }
    if (path.endsWith('control')) return answer<ControlAnswer>({ cancel: false, reason: null });
    onCompleted();
    return answer<CompleteAnswer>({ stored: true, already: false, sync_raised: true });
  };
}

function answer<Data>(data: Data): Response {
  return Response.json({ result: { data } });
}

function untilAborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new DOMException('The rehearsal is over.', 'AbortError'));
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function libraryOf(session: LocalSession): GraphLibrary {
  return { list: () => [session], load: async () => ({ name: session.file_name, source: '' }) };
}

const DONE: RunOutcome = {
  status: 'completed',
  resultJson: '{"ok":true}',
  error: null,
  totalTokens: 0,
  reportedCost: null,
};

const instantEngine: Engine = { start: () => ({ done: Promise.resolve(DONE), cancel() {} }), close: async () => {} };
