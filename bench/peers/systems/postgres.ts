/**
 * A place in the user's PostgreSQL: the server that the usual variables name, or that of the local socket, and in it a
 * database that is dropped at the end. Durable or quick is a setting of each connection, so the server stays as it is.
 *
 * A schema would not do: graphile-worker wakes and stops its workers over channels that are the same for all schemas of
 * a database, so its two settings would work, and end, on each other's word.
 */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import pg from 'pg';
import { systemIds } from '../../../protocol/host/system-ports.ts';
import { MissingError } from '../missing.ts';
import type { Rig } from '../rig.ts';

const SOCKET_FOLDERS = ['/var/run/postgresql', '/tmp'];
const CONNECT_MS = 5_000;
/**
 * Connections of one pool. Two systems in two settings, each with a caller and a worker, have to fit into the 100 that
 * a PostgreSQL takes by default. More made nothing quicker here.
 */
export const POOL = 8;
const REMEDY = 'start a PostgreSQL where you may create a database, and name it by DATABASE_URL or PGHOST, PGUSER, …';
/** The channel on which workers say that a result is there. */
export const RESULTS = 'results';

/** For `pg`, and for those that pass it on to `pg`. */
export interface DatabaseConfig {
  readonly options: string;
  readonly connectionTimeoutMillis: number;
  readonly idleTimeoutMillis: number;
  readonly max: number;
  readonly connectionString?: string;
  readonly host?: string;
  readonly user?: string;
  readonly database?: string;
}

export async function openDatabase(rig: Rig): Promise<DatabaseConfig> {
  const outside = connectionConfig(rig.setting.durable);
  const owner = await connected(outside, rig);
  rig.versions.postgresql = (await show(owner, 'server_version')).split(' ')[0] ?? '';
  if (rig.setting.durable && (await show(owner, 'fsync')) !== 'on') {
    throw new MissingError('this PostgreSQL runs with fsync off: nothing is on disk when it says so', REMEDY);
  }
  const database = `graph_relay_bench_${systemIds.hex(6)}`;
  await owner.query(`create database ${database} template template0`).catch((error: Error) => {
    throw new MissingError(`PostgreSQL refuses a database: ${error.message}`, REMEDY);
  });
  rig.defer(() => owner.query(`drop database ${database} with (force)`));
  const inside = within(outside, database);
  const listener = await connected(inside, rig);
  listener.on('notification', ({ payload }) => rig.result(payload ?? ''));
  await listener.query(`listen ${RESULTS}`);
  return inside;
}

/** A pool that says when a connection of it breaks, whether it is in use or not. */
export function poolOf(config: DatabaseConfig, onBroken: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool(config);
  pool.on('error', onBroken);
  pool.on('connect', (client) => client.on('error', onBroken));
  return pool;
}

async function connected(config: DatabaseConfig, rig: Rig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', (error) => rig.broken(error));
  try {
    await client.connect();
  } catch (error) {
    const at = process.env.DATABASE_URL ? 'DATABASE_URL' : (config.host ?? process.env.PGHOST ?? 'localhost');
    throw new MissingError(`no PostgreSQL lets us in at ${at}: ${(error as Error).message}`, REMEDY);
  }
  rig.defer(() => client.end());
  return client;
}

/** Idle connections are kept: a user's pool is warm, and a round of the others takes longer than the default keeps. */
function connectionConfig(isDurable: boolean): DatabaseConfig {
  const options = `${process.env.PGOPTIONS ?? ''} -c synchronous_commit=${isDurable ? 'on' : 'off'}`.trim();
  const common = { options, connectionTimeoutMillis: CONNECT_MS, idleTimeoutMillis: 0, max: POOL };
  if (process.env.DATABASE_URL) return { ...common, connectionString: process.env.DATABASE_URL };
  const user = process.env.PGUSER ?? userInfo().username;
  const socket = SOCKET_FOLDERS.find((folder) => existsSync(`${folder}/.s.PGSQL.${process.env.PGPORT ?? 5432}`));
  // Every server has this one, and it is only the door: what is measured gets its own.
  const database = process.env.PGDATABASE ?? 'postgres';
  return { ...common, user, database, ...(!process.env.PGHOST && socket && { host: socket }) };
}

function within({ connectionString, ...config }: DatabaseConfig, database: string): DatabaseConfig {
  if (connectionString === undefined) return { ...config, database };
  const url = new URL(connectionString);
  url.pathname = `/${database}`;
  return { ...config, connectionString: url.href };
}

async function show(client: pg.Client, setting: string): Promise<string> {
  const { rows } = await client.query(`show ${setting}`);
  return String(rows[0]?.[setting]);
}
