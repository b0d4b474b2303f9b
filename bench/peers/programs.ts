/**
 * The servers of other systems that are started for a measurement: found on PATH, on a free port of the loopback, in a
 * folder of their own. A server that the user runs is never spoken to.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { MissingError } from './missing.ts';

const PROGRAMS = {
  'redis-server': { ask: '--version', version: /v=(\S+)/, remedy: 'apt-get install redis-server' },
  'nats-server': { ask: '--version', version: /v(\d\S*)/, remedy: 'apt-get install nats-server' },
  beanstalkd: { ask: '-v', version: /beanstalkd (\S+)/, remedy: 'apt-get install beanstalkd' },
} as const;

export type ProgramName = keyof typeof PROGRAMS;

export async function findProgram(name: ProgramName): Promise<{ version: string }> {
  const { ask, version, remedy } = PROGRAMS[name];
  try {
    const { stdout, stderr } = await promisify(execFile)(name, [ask]);
    return { version: version.exec(stdout + stderr)?.[1] ?? 'unknown' };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new MissingError(`the program ${name} is not on PATH`, remedy);
  }
}

export interface Broker {
  readonly port: number;
  onGone(hear: (error: Error) => void): void;
  /** Ends it, and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Runs a program and ends it when standard input ends: also when the process that started it was killed, which is why a
 * shell stands in between. Its exit code is that of the program.
 */
const KEEPER = 'exec 3<&0; "$@" </dev/null 3<&- & it=$!; (read -r _ <&3; kill $it 2>/dev/null) & wait $it';
const READY_MS = 20_000;
const READY_POLL_MS = 20;
const SAID_CHARS = 2_000;

export async function startBroker(
  name: ProgramName,
  argsFor: (place: { port: number; folder: string }) => readonly string[] | Promise<readonly string[]>,
): Promise<Broker> {
  const folder = await mkdtemp(join(tmpdir(), `graph-relay-peers-${name}-`));
  const port = await freePort();
  const args = await argsFor({ port, folder });
  // Detached: Ctrl-C goes to the measurement only, which stops its servers when nobody speaks to them any more.
  const shell = spawn('sh', ['-c', KEEPER, 'sh', name, ...args], { stdio: 'pipe', detached: true });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-SAID_CHARS);
    });
  }
  const listeners: ((error: Error) => void)[] = [];
  let isAsked = false;
  const ended = once(shell, 'exit').then(() => {
    shell.stdin.end();
    return new Error(`${name} ended: ${said.trim()}`);
  });
  void ended.then((error) => {
    if (!isAsked) for (const hear of listeners) hear(error);
  });
  const stop = async () => {
    isAsked = true;
    await endOf(shell, ended);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([answers(port), ended.then((error) => Promise.reject(error))]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, onGone: (hear) => void listeners.push(hear), stop };
}

async function endOf(shell: ChildProcess, ended: Promise<unknown>): Promise<void> {
  shell.stdin?.end();
  await ended;
}

/** Free a moment ago: the programs can be told a port, but not all of them tell which one they took. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

async function answers(port: number): Promise<void> {
  const giveUpAt = systemClock.monotonic() + READY_MS;
  while (!(await accepts(port))) {
    if (systemClock.monotonic() > giveUpAt) throw new Error(`Nothing listens on port ${port} after ${READY_MS} ms.`);
    await new Promise<void>((done) => systemClock.after(READY_POLL_MS, done));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
}
