/**
 * A place in the user's PostgreSQL: the server that the usual variables name, or that of the local socket, and in it a
 * schema that is dropped at the end. Durable or quick is a setting of each connection, so the server stays as it is.
 */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import pg from 'pg';
import { systemIds } from '../../../protocol/host/system-ports.ts';
import { MissingError } from '../missing.ts';
import type { Rig } from '../rig.ts';

export interface PostgresPlace {
  /** For `pg`, and for those that pass it on to `pg`. */
  readonly config: pg.PoolConfig;
  /** Also the name of the channel on which results are notified. */
  readonly schema: string;
}

const SOCKET_FOLDERS = ['/var/run/postgresql', '/tmp'];
const CONNECT_MS = 5_000;
const REMEDY = 'start a PostgreSQL where you may create a schema, and name it by DATABASE_URL or PGHOST, PGUSER, …';

export async function openPostgres(rig: Rig): Promise<PostgresPlace> {
  const config = connectionConfig(rig.setting.durable);
  const client = await connected(config);
  rig.defer(() => client.end());
  client.on('error', (error) => rig.broken(error));
  rig.versions.postgresql = await show(client, 'server_version');
  if (rig.setting.durable && (await show(client, 'fsync')) !== 'on') {
    throw new MissingError('this PostgreSQL runs with fsync off: nothing is on disk when it says so', REMEDY);
  }
  const schema = `graph_relay_bench_${systemIds.hex(6)}`;
  await client.query(`create schema ${schema}`).catch((error: Error) => {
    throw new MissingError(`PostgreSQL refuses a schema: ${error.message}`, REMEDY);
  });
  rig.defer(() => client.query(`drop schema ${schema} cascade`));
  client.on('notification', ({ payload }) => rig.result(payload ?? ''));
  await client.query(`listen ${schema}`);
  return { config, schema };
}

/** A pool that says when a connection of it breaks, whether it is in use or not. */
export function poolOf(config: pg.PoolConfig, onBroken: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool(config);
  pool.on('error', onBroken);
  pool.on('connect', (client) => client.on('error', onBroken));
  return pool;
}

async function connected(config: pg.PoolConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  try {
    await client.connect();
    return client;
  } catch (error) {
    const at = process.env.DATABASE_URL ? 'DATABASE_URL' : (config.host ?? process.env.PGHOST ?? 'localhost');
    throw new MissingError(`no PostgreSQL lets us in at ${at}: ${(error as Error).message}`, REMEDY);
  }
}

/** Idle connections are kept: a user's pool is warm, and a round of the others takes longer than the default keeps. */
function connectionConfig(isDurable: boolean): pg.PoolConfig {
  const options = `${process.env.PGOPTIONS ?? ''} -c synchronous_commit=${isDurable ? 'on' : 'off'}`;
  const common = { options, connectionTimeoutMillis: CONNECT_MS, idleTimeoutMillis: 0, max: 10 };
  if (process.env.DATABASE_URL) return { ...common, connectionString: process.env.DATABASE_URL };
  const user = process.env.PGUSER ?? userInfo().username;
  const socket = SOCKET_FOLDERS.find((folder) => existsSync(`${folder}/.s.PGSQL.${process.env.PGPORT ?? 5432}`));
  return { ...common, user, ...(!process.env.PGHOST && socket && { host: socket }) };
}

async function show(client: pg.Client, setting: string): Promise<string> {
  const { rows } = await client.query(`show ${setting}`);
  return String(rows[0]?.[setting]);
}
