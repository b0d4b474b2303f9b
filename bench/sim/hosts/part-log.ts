/** A part's own log, as lines of the world's story: the event, and the few fields that are equal on both paths. */
import type { Log, LogFields } from '../../../protocol/ports.ts';
import type { History } from '../history.ts';

/** Never texts of errors: what broke is worded differently on each path. */
const TOLD_FIELDS = ['status', 'offers', 'epoch', 'code', 'transport', 'from', 'to'] as const;

/** Said on one path only: the other one has no such part. */
const OF_ONE_PATH: ReadonlySet<string> = new Set(['mcp.call']);

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function partLog(history: History, who: string): Log {
  if (!history.traced) return SILENT;
  const tell = (event: string, fields: LogFields = {}) => {
    if (OF_ONE_PATH.has(event)) return;
    let text = event;
    for (const name of TOLD_FIELDS) if (fields[name] !== undefined) text += ` ${name}=${fields[name]}`;
    const { command_id } = fields;
    history.tell(who, text, typeof command_id === 'string' ? command_id : null);
  };
  // What a part says only when asked to say everything may differ between the paths.
  return { debug() {}, info: tell, warn: tell, error: tell };
}
