/**
 * Keeps thousands of requests held: each a sync of a desktop of its own, sent again when it is answered, and nothing else
 * that a desktop does. The relay cannot tell it from desktops without work.
 *
 * Owns connections and their count. As light as it can be, since it shares the machine with the relay that is measured.
 */
import { Agent, request } from 'node:http';
import { systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import { HOLD_MAX_MS } from '../../protocol/limits.ts';
import type { HolderAnswer, HolderQuestion } from './holder-messages.ts';

/** Desktops that connect in one moment. More: the relay's queue of new connections overflows. */
const CONNECTING = 64;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
let counts: HolderAnswer = { answered: 0, failed: 0, failure: null };
let begun: Extract<HolderQuestion, { ask: 'begin' }>;
let held = 0;
let next = 0;

function sync(token: string, input: object): Promise<void> {
  const text = JSON.stringify(input);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-graph-relay-transport': 'long-poll',
  };
  return new Promise((done, failed) => {
    const outgoing = request(new URL('/trpc/relay.sync', begun.url), { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('error', failed);
      answer.on('end', () => {
        if (answer.statusCode === 200) done();
        else failed(new Error(`the relay answered with status ${answer.statusCode}`));
      });
    });
    outgoing.on('error', failed);
    outgoing.end(text);
  });
}

/** Connects, and then holds until the process ends. Resolves when the first hold is on its way. */
async function hold(index: number): Promise<void> {
  const token = begun.tokens[index]!;
  const session = {
    graph_session_id: graphSessionId(systemIds.hex(16)),
    name: `Held ${index}`,
    description: '',
    slug: `held-${index}`,
    version: 1,
    status: 'ready',
  };
  const projects = [{ project_id: begun.project, sessions: [session] }];
  const input = { instance_id: systemIds.uuid(), projects, holding: [], capacity: 1 };
  await sync(token, { ...input, hold_ms: 0 });
  void again(token, input, Math.round(HOLD_MAX_MS * systemRandom.next()));
}

/** The first hold has any length, so that from the start on they end evenly over time, as after hours. */
async function again(token: string, input: object, firstMs: number): Promise<void> {
  let holdMs = firstMs;
  for (;;) {
    try {
      await sync(token, { ...input, hold_ms: holdMs });
      counts = { ...counts, answered: counts.answered + 1 };
    } catch (error) {
      failed(error);
      return;
    }
    holdMs = HOLD_MAX_MS;
  }
}

function failed(error: unknown): void {
  counts = {
    ...counts,
    failed: counts.failed + 1,
    failure: error instanceof Error ? error.message : String(error),
  };
}

async function raise(count: number): Promise<void> {
  held = count;
  const connect = async () => {
    while (next < held) await hold(next++).catch(failed);
  };
  await Promise.all(Array.from({ length: CONNECTING }, connect));
}

const tell = () => process.send?.(counts);

process.on('message', (question: HolderQuestion) => {
  if (question.ask === 'begin') begun = question;
  if (question.ask === 'hold') void raise(question.count).then(tell);
  else tell();
});
process.once('disconnect', () => process.exit());
