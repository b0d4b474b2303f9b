/** The one session that a desktop of the bench shares: a Graph without a file, whose engine is the bench's own. */
import type { LocalSession } from '../desktop-agent/graph-library.ts';
import { graphSessionId } from '../protocol/ids.ts';
import type { Ids } from '../protocol/ports.ts';

export function benchSession(ids: Ids): LocalSession {
  return {
    graph_session_id: graphSessionId(ids.hex(16)),
    name: 'Bench',
    description: 'A Graph that takes the time that it is told.',
    slug: 'bench',
    version: 1,
    status: 'ready',
    file_name: 'bench.js',
    problem: null,
  };
}
