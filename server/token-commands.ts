/** What the `graph-relay token` commands do: on the running relay, or on its data folder when none is running. */
import { ExitError } from '../protocol/host/exit-codes.ts';
import { localClient, runningOrOpened } from '../protocol/host/local-calls.ts';
import { createProcessLog } from '../protocol/host/logging.ts';
import { dataDirectory, openProcessState } from '../protocol/host/process.ts';
import { systemClock, systemIds } from '../protocol/host/system-ports.ts';
import { note, print } from '../protocol/host/terminal.ts';
import { createAccess } from './access.ts';
import { createRelayAdmin, type RelayAdmin, type RelayLocalRouter, type ShownToken } from './local-api.ts';
import { RELAY_TABLES, type RelayTables } from './rows.ts';

export interface CreateOptions {
  readonly agent?: string;
  readonly desktop?: string;
  readonly project?: string[];
  readonly data?: string;
  readonly json?: boolean;
}

/** Of the commands that look at tokens which are there. */
export interface ListOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export async function createToken(options: CreateOptions): Promise<void> {
  const { agent, desktop, project: projects = [] } = options;
  if ((agent === undefined) === (desktop === undefined)) {
    throw new ExitError('usage', 'Say whom the token is for: either --agent NAME or --desktop NAME.');
  }
  const request =
    agent === undefined ? { kind: 'desktop' as const, name: desktop ?? '' } : { kind: 'agent' as const, name: agent };
  const { token, row } = await withAdmin(options.data, (admin) => admin.createToken({ ...request, projects }));
  showToken(token, row, options);
}

function showToken(token: string, row: ShownToken, options: Pick<ListOptions, 'json'>): void {
  if (options.json) {
    print(JSON.stringify({ token, ...row }));
    return;
  }
  print(token);
  note(
    row.kind === 'agent'
      ? `This is the token of agent "${row.name}" for project ${row.projects.join(', ')}. Clients send it as "Authorization: Bearer …". It is not shown again.`
      : `This is the token of desktop "${row.name}". Put it into GRAPH_RELAY_TOKEN of \`graph-relay desktop\`. It is not shown again.`,
  );
}

export async function listTokens(options: ListOptions): Promise<void> {
  const rows = await withAdmin(options.data, (admin) => admin.listTokens());
  if (options.json) return print(JSON.stringify(rows));
  if (rows.length === 0) note('There are no tokens. Make one with `graph-relay token create`.');
  for (const row of rows) print(tokenLine(row));
}

function tokenLine(row: ShownToken): string {
  const made = new Date(row.createdAt).toISOString().slice(0, 16).replace('T', ' ');
  return [row.tokenId, row.kind.padEnd(7), made, row.name, row.projects.join(',')].join('  ').trimEnd();
}

export async function revokeToken(idOrName: string, options: ListOptions): Promise<void> {
  const row = await withAdmin(options.data, (admin) => admin.revokeToken(idOrName));
  if (row === null) throw noToken(idOrName);
  note(`The token of ${row.kind} "${row.name}" is revoked: it is refused from now on.`);
  if (row.kind === 'desktop') note(`\`graph-relay token rotate ${row.tokenId}\` gives the same desktop a new one.`);
}

export async function rotateToken(idOrName: string, options: ListOptions): Promise<void> {
  const rotated = await withAdmin(options.data, (admin) => admin.rotateToken(idOrName));
  if (rotated === null) throw noToken(idOrName);
  const { token, row } = rotated;
  showToken(token, row, options);
  if (!options.json)
    note(`The ${row.kind} is the same, with all that it has; its token before this one is refused from now on.`);
}

function noToken(idOrName: string): ExitError {
  return new ExitError(
    'failure',
    `There is no token with id or name "${idOrName}". \`graph-relay token list\` shows them.`,
  );
}

/** Asks the running relay; opens the data folder itself when none is running. */
async function withAdmin<T>(data: string | undefined, use: (admin: RelayAdmin) => Promise<T>): Promise<T> {
  const directory = dataDirectory(data, 'server');
  const client = localClient<RelayLocalRouter>(directory);
  const remote: RelayAdmin = {
    address: () => client.address.mutate(),
    status: () => client.status.mutate(),
    createToken: (request) => client.createToken.mutate(request),
    listTokens: () => client.listTokens.mutate(),
    revokeToken: (idOrName) => client.revokeToken.mutate(idOrName),
    rotateToken: (idOrName) => client.rotateToken.mutate(idOrName),
    ownerLink: () => client.ownerLink.mutate(),
  };
  return runningOrOpened({ remote: () => use(remote), opened: () => useFolder(directory, use) });
}

async function useFolder<T>(directory: string, use: (admin: RelayAdmin) => Promise<T>): Promise<T> {
  const log = createProcessLog({ component: 'token', level: 'warn', terminal: true, fd: 2 });
  const store = await openProcessState<RelayTables>({ directory, tables: RELAY_TABLES, log, clock: systemClock });
  try {
    const access = createAccess({ store, ports: { clock: systemClock, ids: systemIds } });
    return await use(createRelayAdmin(access, null));
  } finally {
    await store.close();
  }
}
