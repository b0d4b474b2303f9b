/** The desktop's side of the contract by hand: raw calls over `fetch`, which a test can abort, repeat or send in pieces. */
import { connect } from 'node:net';
import { systemIds } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { SyncAnswer, SyncInput } from '../../protocol/schemas.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../protocol/versions.ts';
import { PROJECT } from './one-graph.ts';

export interface WireDesktop {
  readonly sessionId: string;
  /** A sync of this instance; the test says what differs. */
  sync(changes?: Partial<SyncInput>, signal?: AbortSignal): Promise<SyncAnswer>;
  call(path: string, input: unknown, signal?: AbortSignal): Promise<unknown>;
  headers(transport?: string): Record<string, string>;
  syncInput(changes?: Partial<SyncInput>): SyncInput;
}

export function wireDesktop(url: string, token: string, sessionName = 'Wire'): WireDesktop {
  const instance_id = systemIds.uuid();
  const sessionId = graphSessionId(systemIds.hex(16));
  const session = { name: sessionName, description: '', slug: 'wire', version: 1, status: 'ready' as const };
  const headers = (transport = 'long-poll') => ({
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'x-graph-relay-transport': transport,
    [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
  });
  const syncInput = (changes: Partial<SyncInput> = {}): SyncInput => ({
    instance_id,
    projects: [{ project_id: PROJECT, sessions: [{ graph_session_id: sessionId, ...session }] }],
    holding: [],
    capacity: 1,
    hold_ms: 0,
    ...changes,
  });

  async function call(path: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(input);
    const response = await fetch(`${url}/trpc/relay.${path}`, {
      method: 'POST',
      headers: headers(),
      body,
      ...(signal && { signal }),
    });
    return dataOf(await response.text());
  }

  return {
    sessionId,
    headers,
    syncInput,
    call,
    sync: async (changes, signal) => (await call('sync', syncInput(changes), signal)) as SyncAnswer,
  };
}

/** The data of an answer, or its error as an exception. */
export function dataOf(text: string): unknown {
  const answer = JSON.parse(text) as { result?: { data: unknown }; error?: { message: string } };
  if (answer.error) throw new Error(answer.error.message);
  return answer.result?.data;
}

/** Posts a body in TCP segments of this many bytes, and resolves with the text of the answer's body. */
export async function postInSegments(
  url: string,
  request: { path: string; headers: Record<string, string>; body: string; segment: number },
): Promise<string> {
  const { hostname, port } = new URL(url);
  const body = Buffer.from(request.body);
  const head = [
    `POST ${request.path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    '',
  ].join('\r\n');
  const socket = connect({ port: Number(port), host: hostname, noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const ended = new Promise<void>((done, failed) => socket.once('end', done).once('error', failed));
  const bytes = Buffer.concat([Buffer.from(head), body]);
  for (let at = 0; at < bytes.length; at += request.segment) {
    await new Promise((done) => socket.write(bytes.subarray(at, at + request.segment), done));
    // A turn of the event loop between two of them, or the kernel joins them again.
    await new Promise((done) => setImmediate(done));
  }
  await ended;
  socket.end();
  return bodyOf(Buffer.concat(chunks));
}

function bodyOf(answer: Buffer): string {
  const headEnd = answer.indexOf('\r\n\r\n');
  const head = answer.toString('latin1', 0, headEnd).toLowerCase();
  const rest = answer.subarray(headEnd + 4);
  return (head.includes('transfer-encoding: chunked') ? unchunked(rest) : rest).toString('utf8');
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size));
    rest = rest.subarray(lineEnd + 2 + size + 2);
  }
}
