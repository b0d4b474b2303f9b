/**
 * Clients of others as processes: from their own packages, each in a home folder of its own, with nothing of ours in
 * their environment.
 *
 * Owns that a client reaches this machine and nothing else: whatever it would send outside goes to a proxy that writes it
 * down and refuses. The packages are no dependencies of the project: without them a test is skipped, except where CI
 * is set.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { type Finished, Running, tempFolder, within } from '../process/support.ts';
import type { TriedClient } from './tried.ts';

const PACKAGES = fileURLToPath(new URL('node_modules/', import.meta.url));
const INSTALL = 'npm ci --prefix tests/clients';

/** Skips the test where the client is not installed, except in CI. */
export function isInstalled(t: Test, { package: name }: TriedClient): boolean {
  if (existsSync(join(PACKAGES, name))) return true;
  const reason = `${name} is not installed: ${INSTALL}`;
  if (process.env.CI) t.fail(reason);
  else t.pass('skipped', { skip: reason });
  return false;
}

export function folderOf({ package: name }: TriedClient): string {
  return join(PACKAGES, name);
}

/** The module that the package gives as its command. */
export function commandOf(client: TriedClient, command: string): string {
  const folder = folderOf(client);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  return join(folder, bin[command]!);
}

/** Somebody's machine with nothing on it: a home folder, and a way out that leads nowhere. */
export interface Seat {
  readonly t: Test;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Hosts that a client wanted to reach outside. */
  readonly wantedOutside: readonly string[];
}

export async function newSeat(t: Test, more: Readonly<Record<string, string>> = {}): Promise<Seat> {
  const home = await tempFolder(t);
  const { proxy, wanted } = await closedProxy(t);
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: home,
    TMPDIR: home,
    // A browser that shows nothing: the test reads the address from what the client prints, and plays the browser.
    BROWSER: 'true',
    NO_COLOR: '1',
    HTTPS_PROXY: proxy,
    HTTP_PROXY: proxy,
    NO_PROXY: '127.0.0.1,localhost',
    ...more,
  };
  return { t, home, env, wantedOutside: wanted };
}

async function closedProxy(t: Test): Promise<{ proxy: string; wanted: string[] }> {
  const wanted: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (bytes) => {
      wanted.push(String(bytes).split('\r\n', 1)[0] ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => new Promise((done) => server.close(done)));
  return { proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, wanted };
}

/** Starts a program with these arguments; it is killed after the test when it still runs. */
export function start({ t, home, env }: Seat, program: string, args: readonly string[]): Running {
  const child = spawn(program, args, { cwd: home, env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const running = new Running(child);
  t.teardown(() => running.end('SIGKILL'));
  return running;
}

export async function finished(running: Running, what: string): Promise<Finished> {
  const ended = await within(running.ended, `${what} to end`);
  return { ...ended, stdout: running.stdout, stderr: running.stderr };
}

/** A client's command with one set of first arguments. */
export class ClientCommand {
  readonly seat: Seat;
  readonly #first: readonly string[];

  constructor(seat: Seat, first: readonly string[]) {
    this.seat = seat;
    this.#first = first;
  }

  start(args: readonly string[]): Running {
    return start(this.seat, process.execPath, [...this.#first, ...args]);
  }

  run(args: readonly string[]): Promise<Finished> {
    return finished(this.start(args), args.join(' '));
  }

  /** What it prints as JSON; rejects with what it said when it did not end well. */
  async json<Answer>(args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as Answer;
  }
}
