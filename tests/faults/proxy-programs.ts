/**
 * nginx and haproxy as they come from the distribution: each with a configuration of the test's own, in a folder of the
 * test's own, in the foreground and on a free port.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { waitFor } from './rig.ts';

export interface ProxyProgram {
  readonly url: string;
}

export interface NginxOptions {
  readonly target: number;
  readonly readTimeout: string;
  /** Whether upgrades are passed on. */
  readonly upgrade: boolean;
  /** False buffers a request and an answer before they go on, as is the default of nginx. */
  readonly buffering?: boolean;
}

/** Why a program cannot be tested here; false when it can. In CI it has to be there. */
export function missing(program: string, versionFlag = '-v'): string | false {
  const found = spawnSync(program, [versionFlag], { stdio: 'ignore' }).error === undefined;
  if (found || process.env.CI) return false;
  return `${program} is not installed`;
}

export async function startNginx(t: Test, folder: string, options: NginxOptions): Promise<ProxyProgram> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(join(folder, 'temp'), { recursive: true });
  const upgrade = options.upgrade
    ? 'proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;'
    : 'proxy_set_header Connection "";';
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp/${name};`);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `worker_processes 1;
pid nginx.pid;
error_log error.log;
events { worker_connections 256; }
http {
  access_log off;
  ${temp.join(' ')}
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream relay { server 127.0.0.1:${options.target}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://relay;
      proxy_http_version 1.1;
      proxy_read_timeout ${options.readTimeout};
      ${upgrade}
    }
  }
}
`,
  );
  return runProxy(t, { program: 'nginx', args: ['-p', `${folder}/`, '-c', 'nginx.conf', '-g', 'daemon off;'], url });
}

export async function startHaproxy(
  t: Test,
  folder: string,
  options: { target: number; serverTimeout: string; tunnelTimeout: string },
): Promise<ProxyProgram> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server ${options.serverTimeout}
  timeout tunnel ${options.tunnelTimeout}
frontend front
  bind 127.0.0.1:${port}
  default_backend relay
backend relay
  server relay 127.0.0.1:${options.target}
`,
  );
  return runProxy(t, { program: 'haproxy', args: ['-db', '-f', join(folder, 'haproxy.cfg')], url });
}

export interface ProxyRun {
  readonly program: string;
  readonly args: readonly string[];
  /** Where it answers for the relay behind it. */
  readonly url: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts it, waits until the relay answers through it, and ends it with the test. */
export async function runProxy(t: Test, { program, args, url, env = {} }: ProxyRun): Promise<ProxyProgram> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit').catch((error: Error) => {
    said += error.message;
  });
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await waitFor(`the port of ${program}`, 20_000, async () => {
    if (child.exitCode !== null || said.includes('ENOENT')) throw new Error(`${program} did not start: ${said}`);
    return fetch(`${url}/healthz`).then(
      () => true,
      () => null,
    );
  });
  return { url };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
