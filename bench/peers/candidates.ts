/**
 * The systems that are measured beside ours, each in its durable and its quick setting, and what each of them needs.
 *
 * A new peer is one entry here and one module in systems/. Those modules import packages that are not part of the
 * project: nothing but `prepare` may load them, and only when the packages are installed.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Subject } from '../pickup/subject.ts';
import { MissingError } from './missing.ts';
import { findProgram, type ProgramName } from './programs.ts';
import { Rig, type Way } from './rig.ts';

export interface Setting {
  readonly name: string;
  readonly durable: boolean;
}

export interface Candidate {
  readonly name: string;
  /** The module in systems/, without its ending. */
  readonly module: string;
  /** Packages of bench/peers/package.json. */
  readonly packages: readonly string[];
  readonly program?: ProgramName;
  readonly settings: readonly Setting[];
}

/** What a module of systems/ exports. */
interface System {
  /** Throws a {@link MissingError} for what can only be seen when it is started. */
  start(rig: Rig): Promise<Way>;
}

const COMMIT_SETTINGS = [
  { name: 'synchronous_commit=on', durable: true },
  { name: 'synchronous_commit=off', durable: false },
];

export const CANDIDATES: readonly Candidate[] = [
  {
    name: 'bullmq',
    module: 'bullmq',
    packages: ['bullmq', 'ioredis'],
    program: 'redis-server',
    settings: [
      { name: 'appendfsync always', durable: true },
      { name: 'appendfsync everysec', durable: false },
    ],
  },
  {
    name: 'graphile-worker',
    module: 'graphile-worker',
    packages: ['graphile-worker', 'pg'],
    settings: COMMIT_SETTINGS,
  },
  { name: 'pg-boss', module: 'pg-boss', packages: ['pg-boss', 'pg'], settings: COMMIT_SETTINGS },
  {
    name: 'jetstream',
    module: 'jetstream',
    packages: ['@nats-io/jetstream', '@nats-io/transport-node'],
    program: 'nats-server',
    settings: [
      { name: 'sync always', durable: true },
      { name: 'default sync', durable: false },
    ],
  },
  {
    name: 'beanstalkd',
    module: 'beanstalkd',
    packages: [],
    program: 'beanstalkd',
    settings: [
      { name: '-b -f0', durable: true },
      { name: 'in memory', durable: false },
    ],
  },
  {
    name: 'socket.io',
    module: 'socket-io',
    packages: ['socket.io', 'socket.io-client'],
    settings: [
      { name: 'polling', durable: false },
      { name: 'websocket', durable: false },
    ],
  },
];

export const INSTALL = 'npm ci --prefix bench/peers';

/** Says what is missing, or returns a start of the system in this setting. */
export async function prepare(candidate: Candidate, setting: Setting, slots: number): Promise<Subject> {
  const versions: Record<string, string> = {};
  // The published package has no systems/: they are nothing that a user of the relay needs.
  const module = new URL(`./systems/${candidate.module}.ts`, import.meta.url);
  if (!existsSync(module)) {
    throw new MissingError('peers are not part of the published package', 'run it in a clone of the repository');
  }
  const absent = candidate.packages.filter((name) => {
    versions[name] = versionOf(name) ?? '';
    return versions[name] === '';
  });
  if (absent.length > 0) throw new MissingError(`the packages ${absent.join(', ')} are not installed`, INSTALL);
  if (candidate.program !== undefined) versions[candidate.program] = (await findProgram(candidate.program)).version;
  const system = (await import(module.href)) as System;
  return new Rig(candidate, { setting, slots, versions }).subject(system.start);
}

function versionOf(packageName: string): string | null {
  const manifest = new URL(`./node_modules/${packageName}/package.json`, import.meta.url);
  if (!existsSync(manifest)) return null;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
