/** The relay under test, as seen from the process that measures: started with tokens that were made before, asked, stopped. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openProcessState } from '../../protocol/host/process.ts';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import type { Log } from '../../protocol/ports.ts';
import { createAccess, type TokenRequest } from '../../server/access.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { startChild } from '../start/child.ts';
import type { RelayAnswer, RelayMark, RelayQuestion, RelayUsage } from './relay-messages.ts';

export interface LiveRelay {
  readonly url: URL;
  /** Of those that were asked for, in the same order. */
  readonly tokens: readonly string[];
  usage(collected: boolean): Promise<RelayUsage>;
  /** From now on instants are taken, or none any more. */
  record(on: boolean): Promise<void>;
  marks(): Promise<readonly RelayMark[]>;
  stop(): Promise<void>;
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

export async function startLiveRelay(data: string, tokens: readonly TokenRequest[]): Promise<LiveRelay> {
  await mkdir(data, { recursive: true });
  const made = await makeTokens(join(data, 'server'), tokens);
  const child = await startChild({
    name: 'relay',
    program: siblingModule('./relay-process', import.meta.url),
    // So that it can be asked for what it keeps without what is garbage.
    runtime: ['--expose-gc'],
    args: [data],
    logFile: join(data, 'server.log'),
    onLine: () => {},
  });
  const ask = (question: RelayQuestion): Promise<RelayAnswer> =>
    Promise.race([
      new Promise<RelayAnswer>((done) => {
        child.process.once('message', (answer) => done(answer as RelayAnswer));
        child.process.send(question);
      }),
      child.ended.then((reason) => {
        throw new Error(`The relay under test ended in mid-measurement: ${reason}.`);
      }),
    ]);
  return {
    url: new URL(child.ready.url ?? ''),
    tokens: made,
    usage: async (collected) => (await ask({ ask: 'usage', collected })).usage,
    record: async (on) => void (await ask({ ask: 'record', on })),
    marks: async () => (await ask({ ask: 'marks' })).marks,
    stop: child.stop,
  };
}

/** Into the folder of a relay that does not run yet: ten thousand calls of a running one would take longer than the bench. */
async function makeTokens(directory: string, requests: readonly TokenRequest[]): Promise<string[]> {
  const store = await openProcessState<RelayTables>({
    directory,
    tables: RELAY_TABLES,
    log: SILENT,
    clock: systemClock,
  });
  const access = createAccess({ store, ports: { clock: systemClock, ids: systemIds } });
  try {
    return await Promise.all(requests.map(async (request) => (await access.createToken(request)).token));
  } finally {
    await store.close();
  }
}
