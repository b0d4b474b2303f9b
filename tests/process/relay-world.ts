/**
 * A relay and desktops as real processes on one data folder, and the clients that talk to them.
 *
 * Owns how a test starts them, makes tokens, calls the MCP tools, and speaks the desktop's wire by hand.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { DesktopLocalRouter } from '../../desktop-agent/local-api.ts';
import { localClient } from '../../protocol/host/local-calls.ts';
import { systemIds } from '../../protocol/host/system-ports.ts';
import type { SyncAnswer, SyncInput } from '../../protocol/schemas.ts';
import type { RunTicket, RunView, SessionList } from '../../server/agent-api.ts';
import type { RelayLocalRouter } from '../../server/local-api.ts';
import { type LaunchOptions, launch, type Running, run, tempFolder, until } from './support.ts';

export const PROJECT = 'home';

export interface Relay {
  readonly process: Running;
  readonly url: string;
}

export async function startRelay(t: Test, data: string, options: LaunchOptions = {}): Promise<Relay> {
  const relay = launch(t, ['server', '--port', '0', '--data', data], options);
  const { url = '' } = await relay.ready;
  return { process: relay, url };
}

export interface DesktopOptions {
  readonly data: string;
  readonly url: string;
  readonly token: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function startDesktop(t: Test, { data, url, token, args = [], env }: DesktopOptions): Promise<Running> {
  const desktop = launch(t, ['desktop', '--relay', url, '--data', data, ...args], {
    env: { GRAPH_RELAY_TOKEN: token, ...env },
  });
  await desktop.ready;
  return desktop;
}

/** A token, made on the running relay of this folder. */
export async function makeToken(data: string, kind: 'agent' | 'desktop', name: string): Promise<string> {
  const client = localClient<RelayLocalRouter>(join(data, 'server'));
  const { token } = await client.createToken.mutate({ kind, name, projects: kind === 'agent' ? [PROJECT] : [] });
  return token;
}

export interface World extends Relay {
  readonly data: string;
  readonly desktopToken: string;
  readonly agent: McpCaller;
}

/** A relay with one agent and one desktop token on a new folder. No desktop runs yet. */
export async function startWorld(t: Test): Promise<World> {
  const data = await tempFolder(t);
  const relay = await startRelay(t, data);
  const agent = new McpCaller(relay.url, await makeToken(data, 'agent', 'tester'));
  const desktopToken = await makeToken(data, 'desktop', 'laptop');
  return { ...relay, data, desktopToken, agent };
}

/** Writes a Graph file into the Graph folder of this data folder. */
export async function writeGraph(data: string, file: string, source: string): Promise<string> {
  const folder = join(data, 'graphs');
  await mkdir(folder, { recursive: true });
  const path = join(folder, file);
  // In one step: a running desktop could look at half of it.
  await writeFile(join(folder, `.${file}.new`), source);
  await rename(join(folder, `.${file}.new`), path);
  return path;
}

export function graphSource(name: string, body: string): string {
  return `export const meta = { name: '${name}', slug: '${name}' };\n${body}\n`;
}

/** Shares a Graph file with the project, by the command line of a desktop that does not run. */
export async function shareOffline(t: Test, data: string, file: string): Promise<string> {
  const args = ['desktop', 'share', file, '--project', PROJECT, '--json', '--data', data];
  const { code, stdout, stderr } = await run(t, args);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout).session.graph_session_id;
}

/** Shares a Graph file with the project, on the desktop that runs on this folder. */
export async function shareOnline(data: string, file: string): Promise<string> {
  const desktop = localClient<DesktopLocalRouter>(join(data, 'desktop'));
  const { session } = await desktop.share.mutate({ session: file, project: PROJECT });
  return session.graph_session_id;
}

/** Calls the MCP tools with plain requests. */
export class McpCaller {
  readonly url: string;
  readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  sessions(): Promise<SessionList> {
    return this.call<SessionList>('list_graph_sessions', {});
  }

  start(sessionId: string, args: Record<string, unknown> = {}): Promise<RunTicket> {
    return this.call<RunTicket>('run_graph_session', {
      graph_session_id: sessionId,
      arguments: args,
      idempotency_key: systemIds.uuid(),
    });
  }

  get(commandId: string, waitSeconds = 0): Promise<RunView> {
    return this.call<RunView>('get_graph_run', { command_id: commandId, wait_seconds: waitSeconds });
  }

  cancel(commandId: string): Promise<RunView> {
    return this.call<RunView>('cancel_graph_run', { command_id: commandId });
  }

  /** Resolves when the run has ended. */
  async end(commandId: string): Promise<RunView> {
    for (;;) {
      const view = await this.get(commandId, 20);
      if (view.status !== 'queued' && view.status !== 'running') return view;
    }
  }

  /** Resolves when the run is going on. Asked again and again: a held question would wait for the next change. */
  running(commandId: string): Promise<RunView> {
    return until(`run ${commandId} to go on`, async () => {
      const view = await this.get(commandId);
      if (view.status === 'running') return view;
      if (view.status !== 'queued') throw new Error(`the run is ${view.status}: ${view.error}`);
      return undefined;
    });
  }

  /** Resolves with the only session that is shared, as soon as it is. */
  onlySession(): Promise<string> {
    return until('a shared session', async () => (await this.sessions()).sessions[0]?.graph_session_id);
  }

  /** Rejects with the tool's text when the tool refuses. */
  async call<Answer>(tool: string, args: Record<string, unknown>): Promise<Answer> {
    const response = await fetch(new URL('/mcp', this.url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${this.token}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }),
    });
    const message = answerIn(await response.text());
    if (message.result === undefined) throw new Error(message.error?.message ?? `status ${response.status}`);
    if (message.result.isError) throw new Error(message.result.content[0]?.text);
    return message.result.structuredContent as Answer;
  }
}

interface RpcAnswer {
  readonly result?: { structuredContent: unknown; isError?: boolean; content: { text?: string }[] };
  readonly error?: { message: string };
}

/** A held call is answered as an event stream, whose last data line is the answer. */
function answerIn(text: string): RpcAnswer {
  const data = text.split('\n').findLast((line) => line.startsWith('data: {'));
  return JSON.parse(data === undefined ? text : data.slice('data: '.length)) as RpcAnswer;
}

/** What a desktop without sessions, runs and wishes says. */
export function plainSync(input: Partial<SyncInput> = {}): SyncInput {
  return { instance_id: systemIds.uuid(), projects: [], holding: [], capacity: 0, hold_ms: 0, ...input };
}

/** One call of a desktop, by hand. */
export async function desktopCall<Answer = SyncAnswer>(
  relay: { url: string; token: string },
  call: 'sync' | 'control' | 'complete',
  input: unknown,
): Promise<{ status: number; answer: Answer }> {
  const response = await fetch(new URL(`/trpc/relay.${call}`, relay.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${relay.token}` },
    body: JSON.stringify(input),
  });
  const body = (await response.json()) as { result?: { data: Answer } };
  return { status: response.status, answer: body.result?.data as Answer };
}

/** A session as a sync shares it. */
export function sharedSession(graphSessionId: string): SyncInput['projects'] {
  return [
    {
      project_id: PROJECT,
      sessions: [
        {
          graph_session_id: graphSessionId,
          name: 'By hand',
          description: '',
          slug: 'by-hand',
          version: 1,
          status: 'ready',
        },
      ],
    },
  ];
}
