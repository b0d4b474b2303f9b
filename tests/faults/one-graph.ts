/** What all desktops of these tests share: one Graph, with one project. Imports no code of either side. */
import type { GraphLibrary, LocalSession } from '../../desktop-agent/graph-library.ts';

export const PROJECT = 'faults';

export function libraryOf(sessionId: string): GraphLibrary {
  const session: LocalSession = {
    graph_session_id: sessionId,
    name: 'Fault',
    description: '',
    slug: 'fault',
    version: 1,
    status: 'ready',
    file_name: 'fault.js',
    problem: null,
  };
  return { list: () => [session], load: async () => ({ name: session.file_name, source: '' }) };
}
