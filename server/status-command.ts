/** What `graph-relay server status` does: asks the running relay, over its local socket. */

import { durationText } from '../protocol/host/limit-options.ts';
import { localCallError, localClient } from '../protocol/host/local-calls.ts';
import { dataDirectory } from '../protocol/host/process.ts';
import { print } from '../protocol/host/terminal.ts';
import type { RelayLocalRouter, RelayStatus } from './local-api.ts';
import type { ShownLimit } from './owner-limits.ts';

export interface StatusOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export async function showStatus(options: StatusOptions): Promise<void> {
  const status = await statusOf(dataDirectory(options.data, 'server'));
  if (options.json) return print(JSON.stringify(status));
  if (status === null) return print('not running');
  const { url, sockets, writable, trouble, limits } = status;
  print(`listening on ${url}, ${sockets} WebSockets of desktops`);
  print(writable ? 'its disk takes writes' : `its disk refuses writes: ${trouble}`);
  for (const limit of limits) print(limitLine(limit));
}

function limitLine({ name, value, unit, is_default, is_off }: ShownLimit): string {
  const shown = is_off === true ? 'no limit' : unit === 'ms' ? durationText(value) : `${value} ${unit}`;
  return `  ${name.padEnd(20)} ${shown}${is_default ? '' : '  (set by the owner)'}`;
}

/** Null when no relay runs on this folder. */
async function statusOf(directory: string): Promise<RelayStatus | null> {
  try {
    return await localClient<RelayLocalRouter>(directory).status.mutate();
  } catch (error) {
    const answered = localCallError(error);
    if (answered === null) return null;
    throw answered;
  }
}
