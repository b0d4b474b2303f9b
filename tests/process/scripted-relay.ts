/**
 * A relay that does what a test says: it speaks the desktop's wire, offers commands one at a time, and can refuse to
 * take completions.
 *
 * Owns a small HTTP server on loopback, closed after the test.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { systemIds } from '../../protocol/host/system-ports.ts';
import type { CompleteInput, ControlInput, OfferedCommand, SyncInput } from '../../protocol/schemas.ts';

interface Shared {
  readonly sessionId: string;
  readonly slug: string;
  readonly project: string;
}

export async function scriptedRelay(t: Test, shared: Shared): Promise<ScriptedRelay> {
  const relay = new ScriptedRelay(shared);
  await relay.listen();
  t.teardown(() => relay.close());
  return relay;
}

export class ScriptedRelay {
  refuseCompletions: 'no' | 'with-503' | 'silently' = 'no';
  /** What was taken, without the capacity that may go along, by command. */
  readonly stored = new Map<string, Partial<CompleteInput>>();
  lastSync: SyncInput | null = null;
  readonly #shared: Shared;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #completions: CompleteInput[] = [];
  readonly #held: ServerResponse[] = [];
  /** Offered again and again, until a control says that the desktop has it. */
  readonly #waiting = new Map<string, OfferedCommand>();
  #epoch = 0;
  #instance = '';

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  listen(): Promise<void> {
    return new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Puts a command into the answer of the next sync. */
  offer(args: Record<string, unknown>): string {
    const { sessionId, slug, project } = this.#shared;
    const command_id = systemIds.uuid();
    const command = { command_id, project_id: project, graph_session_id: sessionId, slug, arguments: args };
    this.#waiting.set(command_id, { ...command, queued_at_ms: 0 });
    this.wake();
    return command_id;
  }

  /** Everything that was posted for this command, in order, taken or not. */
  completionsOf(commandId: string): CompleteInput[] {
    return this.#completions.filter((each) => each.command_id === commandId);
  }

  /** Answers the syncs that are held; the desktop comes again with its news. */
  wake(): false {
    for (const response of this.#held.splice(0)) this.#answerSync(response);
    return false;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const input = JSON.parse(Buffer.concat(chunks).toString());
    if (request.url === '/trpc/relay.sync') this.#sync(input, response);
    else if (request.url === '/trpc/relay.control') this.#control(input, response);
    else this.#complete(input, response);
  }

  #sync(input: SyncInput, response: ServerResponse): void {
    this.lastSync = input;
    if (input.instance_id !== this.#instance) {
      this.#instance = input.instance_id;
      this.#epoch += 1;
    }
    if (input.hold_ms === 0 || (this.#waiting.size > 0 && input.capacity > 0)) this.#answerSync(response);
    else this.#held.push(response);
  }

  #answerSync(response: ServerResponse): void {
    const room = this.lastSync?.capacity ?? 0;
    const commands = [...this.#waiting.values()].slice(0, room);
    send(response, { epoch: this.#epoch, commands, refused_projects: [], hold_granted_ms: 20_000, next_sync_ms: 0 });
  }

  #control(input: ControlInput, response: ServerResponse): void {
    this.#waiting.delete(input.command_id);
    if (input.phase === 'starting') send(response, { cancel: false, reason: null });
    // A running one is held until its caller goes.
  }

  #complete(input: CompleteInput, response: ServerResponse): void {
    this.#completions.push(input);
    if (this.refuseCompletions === 'silently') return;
    if (this.refuseCompletions === 'with-503') {
      const data = { relayCode: 'store-unavailable', httpStatus: 503 };
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'no room', code: -32_000, data } }));
      return;
    }
    const { capacity: _told, ...completion } = input;
    const already = this.stored.has(input.command_id);
    this.stored.set(input.command_id, completion);
    send(response, { stored: true, already, sync_raised: false });
  }
}

function send(response: ServerResponse, data: unknown): void {
  if (response.destroyed) return;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ result: { data } }));
}
