/**
 * What every client meets: a relay process with an owner, a desktop process that shares a Graph, and the uses of a client.
 *
 * Owns the one course that all clients take, so that they can be compared. Must not know any client.
 */
import type { Test } from 'tap';
import { systemIds } from '../../protocol/host/system-ports.ts';
import type { RunTicket, RunView, SessionList } from '../../server/agent-api.ts';
import type { Browser, Page } from '../auth/support.ts';
import { becomeOwner } from '../process/browser.ts';
import {
  graphSource,
  McpCaller,
  makeToken,
  PROJECT,
  shareOffline,
  startDesktop,
  startRelay,
  writeGraph,
} from '../process/relay-world.ts';
import { expectProcesses, type LaunchOptions, LIGHT, type Running, tempFolder, until } from '../process/support.ts';
import { isInstalled } from './programs.ts';
import type { TriedClient } from './tried.ts';

export interface SharedGraph {
  /** The folder of the relay and of the desktop. */
  readonly data: string;
  readonly mcp: string;
  readonly relayUrl: string;
  readonly session: string;
  /** Of an agent that needs no login. */
  readonly token: string;
  readonly browser: Browser;
}

/** What an agent of these Graphs does. */
const AGENT = 'sleep 60';

/** The Graph adds `args.a` and `args.b`. */
export async function shareGraph(t: Test, { env = {} }: LaunchOptions = {}): Promise<SharedGraph> {
  const data = await tempFolder(t);
  const relay = await startRelay(t, data, { env: { ...LIGHT, ...env } });
  const browser = await becomeOwner(t, relay);
  await writeGraph(data, 'add.js', graphSource('add', 'return { sum: args.a + args.b };'));
  const session = await shareOffline(t, data, 'add.js');
  const token = await makeToken(data, 'desktop', 'studio');
  await startDesktop(t, { data, url: relay.url, token, env: LIGHT, args: ['--agent-command', AGENT] });
  const agentToken = await makeToken(data, 'agent', 'with a token');
  await new McpCaller(relay.url, agentToken).onlySession();
  return { data, relayUrl: relay.url, mcp: `${relay.url}/mcp`, session, token: agentToken, browser };
}

/** The tests of one client, around one relay; skipped where it is not installed, except in CI. */
export function testClient(root: Test, client: TriedClient, tests: (t: Test, shared: SharedGraph) => void): void {
  expectProcesses(root);
  root.test(`${client.name}, from its package`, async (t) => {
    t.jobs = 2;
    if (isInstalled(t, client)) tests(t, await shareGraph(t));
  });
}

/** A client in use: each call may be a process of its own. */
export interface InUse {
  toolNames(): Promise<readonly string[]>;
  /** The structured content of the tool's answer. */
  call<Answer>(tool: string, args: Record<string, unknown>): Promise<Answer>;
}

export const TOOL_NAMES = ['list_graph_sessions', 'run_graph_session', 'get_graph_run', 'cancel_graph_run'];

/** Lists tools and sessions, runs the Graph and reads its result. */
export async function use(t: Test, { session }: SharedGraph, client: InUse): Promise<void> {
  t.same(await client.toolNames(), TOOL_NAMES);
  const { project_id, sessions } = await client.call<SessionList>('list_graph_sessions', {});
  t.match({ project_id, sessions }, { project_id: PROJECT, sessions: [{ graph_session_id: session, name: 'add' }] });
  const { command_id } = await client.call<RunTicket>('run_graph_session', {
    graph_session_id: session,
    arguments: { a: 19, b: 23 },
    idempotency_key: systemIds.uuid(),
  });
  let view = await client.call<RunView>('get_graph_run', { command_id, wait_seconds: 20 });
  while (view.status === 'queued' || view.status === 'running') {
    view = await client.call<RunView>('get_graph_run', { command_id, wait_seconds: 20 });
  }
  t.match(view, { status: 'completed', result: { sum: 42 } });
}

/** Terminals make it a link, with control characters around it. */
const AUTHORIZE = /https?:\/\/[!-~]+\/oauth\/authorize\?[!-~]+/;

type Speaking = Pick<Running, 'stdout' | 'stderr' | 'isOver'>;

/** Waits until the client prints where its user is to go. */
export function linkOf(client: Speaking): Promise<string> {
  return until('the address of a login', () => {
    const found = AUTHORIZE.exec(client.stderr + client.stdout)?.[0];
    if (found === undefined && client.isOver) throw new Error(`no login: ${client.stderr}${client.stdout}`);
    return found;
  });
}

/** Goes where the client sends its user, as the owner, and allows it. */
export async function allowAsOwner({ browser }: SharedGraph, client: Speaking): Promise<Page> {
  return allowAt(browser, await linkOf(client));
}

/** Gives back the consent page, after the client has its code. */
export async function allowAt(browser: Browser, link: string): Promise<Page> {
  const asked = await browser.open(link);
  const isFirst = asked.text.includes('name="new_project"');
  const landed = await browser.send(asked, 'allow', isFirst ? { new_project: PROJECT } : {});
  const answer = await until('the client to take its code', () => fetch(landed.url).catch(notYet));
  if (!answer.ok) throw new Error(`the client answered ${answer.status} to its code: ${await answer.text()}`);
  return asked;
}

/** Some clients say where to go before they listen for the way back. */
function notYet(error: Error & { readonly cause?: { readonly code?: string } }): undefined {
  if (error.cause?.code !== 'ECONNREFUSED') throw error;
}
