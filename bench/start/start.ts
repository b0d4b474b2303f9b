/**
 * `graph-relay start`: the main job, shown. A relay and a desktop as two processes on loopback, two sample Graphs
 * shared, one run through a real MCP client.
 *
 * Everything here is also there as a command of its own; this only does the steps of a newcomer, and says each one.
 */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DesktopLocalRouter } from '../../desktop-agent/local-api.ts';
import { ExitError } from '../../protocol/host/exit-codes.ts';
import { localCallError, localClient } from '../../protocol/host/local-calls.ts';
import { dataDirectory } from '../../protocol/host/process.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import type { RelayLocalRouter } from '../../server/local-api.ts';
import { type Child, startChild } from './child.ts';
import { liveLine, nextSteps, timelineOf, timelineText } from './report.ts';
import { runSample } from './sample-run.ts';

export interface StartOptions {
  readonly data: string | undefined;
  readonly port: number;
  readonly once: boolean;
  readonly json: boolean;
}

const PROJECT = 'sample-project';
const CLIENT = 'sample-client';
const DESKTOP = 'sample-desktop';
/** What is shared to begin with. The other samples are there to be looked at, and want an agent or a tool of the owner's. */
const SHARED = ['hello.js', 'fan-out.js'];
const SAMPLES = fileURLToPath(new URL('../../desktop-agent/samples/', import.meta.url));
/** How long a desktop may take until its first sync is seen. */
const CONNECT_MS = 15_000;

interface Places {
  readonly server: string;
  readonly desktop: string;
  readonly graphs: string;
  readonly logs: string;
  readonly clientToken: string;
  readonly desktopToken: string;
}

export async function start(options: StartOptions): Promise<void> {
  const say = options.json ? () => {} : (line: string) => void process.stdout.write(`${line}\n`);
  const places = await preparePlaces(options.data);
  const stopped = stopSignal();
  const children: Child[] = [];
  let live = false;
  const onLine = (line: Parameters<typeof liveLine>[0]) => {
    const text = live ? liveLine(line) : null;
    if (text !== null) say(text);
  };
  try {
    say(`Data folder: ${shown(dataDirectory(options.data, '.'))}`);
    const data = ['--data', dataDirectory(options.data, '.')];
    const args = ['server', '--port', String(options.port), ...data];
    const server = await startChild({ name: 'relay', args, logFile: join(places.logs, 'server.log'), onLine });
    children.push(server);
    const url = server.ready.url ?? '';
    say(`Relay:       ${url}`);
    const tokens = await makeTokens(places);

    const desktopArgs = ['desktop', '--relay', url, '--graphs', places.graphs, ...data];
    const logFile = join(places.logs, 'desktop.log');
    const env = { GRAPH_RELAY_TOKEN: tokens.desktop };
    const desktop = await startChild({ name: 'desktop', args: desktopArgs, logFile, env, onLine: () => {} });
    children.push(desktop);
    const slugs = await shareSamples(places);
    say(
      `Desktop:     shares ${slugs.map((slug) => `"${slug}"`).join(' and ')} with project "${PROJECT}" (nothing is shared by default; this command did it)`,
    );
    await connected(places);

    const slug = slugs.includes('hello') ? 'hello' : (slugs[0] ?? 'hello');
    const { monotonic } = systemClock;
    const sample = await runSample({
      url,
      token: tokens.client,
      slug,
      args: { name: 'Ada' },
      idempotencyKey: systemIds.uuid(),
      monotonic,
    });
    const timeline = timelineOf(sample);
    if (options.json) process.stdout.write(`${JSON.stringify(timeline)}\n`);
    else say(`\n${timelineText(timeline, sample.session)}`);
    if (timeline.status !== 'completed') throw new ExitError('failure', `The sample run ended as ${timeline.status}.`);
    if (options.once) return;

    const flags = options.data === undefined ? '' : ` --data ${options.data}`;
    const { graphs, logs, clientToken } = places;
    say(
      nextSteps({
        url,
        tokenFile: shown(clientToken),
        graphs: shown(graphs),
        logs: shown(logs),
        project: PROJECT,
        flags,
      }),
    );
    live = true;
    await Promise.race([stopped, died(server, 'relay', logs), died(desktop, 'desktop', logs)]);
    say('\nStopping …');
  } finally {
    // The desktop first: it can still deliver what it has.
    for (const child of children.reverse()) await child.stop();
  }
}

async function died(child: Child, name: string, logs: string): Promise<never> {
  const reason = await child.ended;
  throw new ExitError('failure', `The ${name} has ended by itself (${reason}). Its log is in ${shown(logs)}.`);
}

function stopSignal(): Promise<void> {
  return new Promise((done) => {
    process.once('SIGINT', () => done());
    process.once('SIGTERM', () => done());
  });
}

function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short !== '' && !short.startsWith('..') ? short : path;
}

async function preparePlaces(data: string | undefined): Promise<Places> {
  const places = {
    server: dataDirectory(data, 'server'),
    desktop: dataDirectory(data, 'desktop'),
    graphs: dataDirectory(data, 'graphs'),
    logs: dataDirectory(data, 'logs'),
    clientToken: join(dataDirectory(data, '.'), 'client-token'),
    desktopToken: join(dataDirectory(data, 'desktop'), 'token'),
  };
  await mkdir(places.desktop, { recursive: true, mode: 0o700 });
  await mkdir(places.logs, { recursive: true, mode: 0o700 });
  await mkdir(places.graphs, { recursive: true });
  // Files that are there stay as they are: the folder is the owner's.
  const there = new Set(await readdir(places.graphs));
  for (const sample of await readdir(SAMPLES)) {
    if (sample.endsWith('.js') && !there.has(sample))
      await copyFile(join(SAMPLES, sample), join(places.graphs, sample));
  }
  return places;
}

/** The tokens of an earlier start when they are still good, otherwise new ones. */
async function makeTokens(places: Places): Promise<{ client: string; desktop: string }> {
  const relay = localClient<RelayLocalRouter>(places.server);
  const known = await relay.listTokens.mutate();
  async function token(kind: 'agent' | 'desktop', name: string, file: string): Promise<string> {
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    const row = known.find((each) => each.kind === kind && each.name === name);
    if (row !== undefined && kept !== '') return kept;
    // The file was lost: the same agent or desktop gets another one.
    const rotated = row === undefined ? null : await relay.rotateToken.mutate(row.tokenId);
    const projects = kind === 'agent' ? [PROJECT] : [];
    const made = rotated ?? (await relay.createToken.mutate({ kind, name, projects }));
    await writeFile(file, `${made.token}\n`, { mode: 0o600 });
    return made.token;
  }
  return {
    client: await token('agent', CLIENT, places.clientToken),
    desktop: await token('desktop', DESKTOP, places.desktopToken),
  };
}

async function shareSamples(places: Places): Promise<string[]> {
  const desktop = localClient<DesktopLocalRouter>(places.desktop);
  const slugs: string[] = [];
  for (const file of SHARED) {
    const { session } = await desktop.share.mutate({ session: file, project: PROJECT });
    slugs.push(session.slug);
  }
  return slugs;
}

/** Waits until the desktop's loop has had its first answer. */
async function connected(places: Places): Promise<void> {
  const desktop = localClient<DesktopLocalRouter>(places.desktop);
  const deadline = systemClock.monotonic() + CONNECT_MS;
  for (;;) {
    const status = await desktop.status.mutate();
    if (status?.connected && status.refusedProjects.length === 0) return;
    if (systemClock.monotonic() > deadline) {
      throw new ExitError('failure', `The desktop does not reach the relay: ${status?.trouble ?? 'no answer yet'}.`);
    }
    await new Promise<void>((done) => systemClock.after(20, done));
  }
}

/** Runs the sample once more on what `start` has left running. */
export async function again(options: StartOptions): Promise<void> {
  const places = await preparePlaces(options.data);
  const token = (await readFile(places.clientToken, 'utf8').catch(() => '')).trim();
  const relay = localClient<RelayLocalRouter>(places.server);
  const url = await relay.address.mutate().catch((error: unknown) => {
    throw localCallError(error) ?? notRunning();
  });
  if (url === null) throw notRunning();
  const { monotonic } = systemClock;
  const sample = await runSample({
    url,
    token,
    slug: 'hello',
    args: { name: 'Ada' },
    idempotencyKey: systemIds.uuid(),
    monotonic,
  });
  const timeline = timelineOf(sample);
  process.stdout.write(options.json ? `${JSON.stringify(timeline)}\n` : `${timelineText(timeline, sample.session)}\n`);
}

function notRunning(): ExitError {
  return new ExitError(
    'failure',
    'The relay is not running on this data folder. Run `npm start` in another terminal first.',
  );
}
