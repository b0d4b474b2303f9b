/**
 * How long until a waiting desktop starts a run, against the floor of the same machine in the same minute.
 *
 * Three processes on each side: caller, server, worker. Ours is durable on both sides and goes the whole way: MCP call,
 * queue, offer, ack, permission, journal. The floor is a bare held answer of node:http. Rounds of both are interleaved,
 * since such machines change their speed from minute to minute: only the ratio means something.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModeName } from '../../desktop-agent/modes.ts';
import { localClient } from '../../protocol/host/local-calls.ts';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import type { RelayLocalRouter } from '../../server/local-api.ts';
import { startChild } from '../start/child.ts';
import { stampUs } from './stamp.ts';

export interface PickupReport {
  readonly rounds: number;
  readonly runs_per_round: number;
  readonly floor_us: Quantiles;
  /** From the call of run_graph_session until the desktop's engine is told to start. */
  readonly pickup_us: Quantiles;
  /** From the call until the ticket, which is on disk, is there. */
  readonly ticket_us: Quantiles;
  readonly pickup_to_floor: number;
  readonly node: string;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** One system under test: `enqueue` resolves when its caller has an answer, with the instants in microseconds. */
interface Subject {
  enqueue(id: string): Promise<void>;
  /** Resolves with the instant at which the worker had this one. */
  picked(id: string): Promise<number>;
  stop(): Promise<void>;
}

/** Between two runs, so that the worker really waits. */
const GAP_MS = 10;
const PROJECT = 'pickup';

export async function measurePickup(options: {
  rounds: number;
  runsPerRound: number;
  mode: ModeName;
}): Promise<PickupReport> {
  const floor = await startFloor();
  const relay = await startRelay(options.mode);
  const samples = { floor: [] as number[], pickup: [] as number[], ticket: [] as number[] };
  try {
    for (let round = -1; round < options.rounds; round++) {
      // The first round of each warms up and does not count.
      const counts = round >= 0;
      for (let run = 0; run < options.runsPerRound; run++) {
        const { pickedUs } = await once(floor);
        if (counts) samples.floor.push(pickedUs);
      }
      for (let run = 0; run < options.runsPerRound; run++) {
        const { pickedUs, answeredUs } = await once(relay);
        if (counts) samples.pickup.push(pickedUs);
        if (counts) samples.ticket.push(answeredUs);
      }
    }
  } finally {
    await floor.stop();
    await relay.stop();
  }
  const floorUs = quantiles(samples.floor);
  const pickupUs = quantiles(samples.pickup);
  return {
    rounds: options.rounds,
    runs_per_round: options.runsPerRound,
    floor_us: floorUs,
    pickup_us: pickupUs,
    ticket_us: quantiles(samples.ticket),
    pickup_to_floor: Math.round((pickupUs.p50 / floorUs.p50) * 100) / 100,
    node: process.version,
  };
}

async function once(subject: Subject): Promise<{ pickedUs: number; answeredUs: number }> {
  const id = systemIds.uuid();
  await new Promise<void>((done) => systemClock.after(GAP_MS, done));
  const picked = subject.picked(id);
  const start = stampUs();
  await subject.enqueue(id);
  const answeredUs = stampUs() - start;
  return { pickedUs: (await picked) - start, answeredUs };
}

async function startFloor(): Promise<Subject> {
  const file = siblingModule('./floor-process', import.meta.url);
  const server = fork(file, ['server']);
  const { port } = await nextMessage<{ port: number }>(server);
  const worker = fork(file, ['worker', String(port)]);
  const post = poster({ host: '127.0.0.1', port });
  return {
    enqueue: async (id) => void (await post('/', {}, { id })),
    picked: pickedBy(worker),
    async stop() {
      for (const child of [worker, server]) child.disconnect();
    },
  };
}

async function startRelay(mode: ModeName): Promise<Subject> {
  const data = await mkdtemp(join(tmpdir(), 'graph-relay-pickup-'));
  const server = await startChild({
    name: 'relay',
    args: ['server', '--port', '0', '--data', data],
    logFile: join(data, 'server.log'),
    onLine: () => {},
  });
  const url = new URL(server.ready.url ?? '');
  const admin = localClient<RelayLocalRouter>(join(data, 'server'));
  const agent = await admin.createToken.mutate({ kind: 'agent', name: 'pickup', projects: [PROJECT] });
  const token = await admin.createToken.mutate({ kind: 'desktop', name: 'pickup', projects: [] });
  const desktop = fork(siblingModule('./desktop-process', import.meta.url), [
    url.href,
    token.token,
    join(data, 'desktop'),
    PROJECT,
    mode,
  ]);
  const { session } = await nextMessage<{ session: string }>(desktop);
  const post = poster({ host: url.hostname, port: Number(url.port) });
  const headers = { authorization: `Bearer ${agent.token}`, accept: 'application/json, text/event-stream' };
  return {
    async enqueue(id) {
      const params = {
        name: 'run_graph_session',
        arguments: { graph_session_id: session, arguments: { id }, idempotency_key: id },
      };
      const answer = await post('/mcp', headers, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      if (!answer.includes('"isError":true')) return;
      throw new Error(`run_graph_session was refused: ${answer}`);
    },
    picked: pickedBy(desktop),
    async stop() {
      const ended = new Promise((done) => desktop.once('exit', done));
      desktop.disconnect();
      await ended;
      await server.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((done) => child.once('message', (message) => done(message as Message)));
}

function pickedBy(worker: ChildProcess): (id: string) => Promise<number> {
  const waiting = new Map<string, (atUs: number) => void>();
  worker.on('message', (message: { id?: string; atUs?: number }) => {
    if (message.id !== undefined) waiting.get(message.id)?.(message.atUs ?? 0);
  });
  return (id) => new Promise((done) => waiting.set(id, done));
}

/** A caller as thin as possible, the same for both: node:http with one kept connection. */
function poster(at: { host: string; port: number }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path: string, headers: Record<string, string>, body: object): Promise<string> => {
    const text = JSON.stringify(body);
    const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    return new Promise((done, failed) => {
      const outgoing = request(
        { ...at, path, method: 'POST', agent, headers: { ...headers, ...length } },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk) => chunks.push(chunk));
          incoming.on('end', () => done(Buffer.concat(chunks).toString()));
        },
      );
      outgoing.on('error', failed);
      outgoing.end(text);
    });
  };
}

function quantiles(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
