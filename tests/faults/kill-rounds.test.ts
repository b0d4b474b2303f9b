/**
 * kill -9 at random moments, 200 rounds: relay and desktop on their durable stores, while runs are queued and read all
 * the time. Nothing acknowledged may be missing, and nothing may run twice.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { systemIds } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import {
  type DesktopOrder,
  type DesktopReport,
  Killable,
  type RelayOrder,
  type RelayReport,
  type Tokens,
} from './killable.ts';
import { later, waitFor } from './rig.ts';

const ROUNDS = 200;

// Most of the time goes into starting 200 processes, on a machine that may be busy.
t.setTimeout(600_000);

/** A process lives for up to this long in a round; most live for much less. */
const LIFE_MS = 600;
/** One life in so many lasts until a run has ended: on a busy machine nothing would get that far otherwise. */
const FRUITFUL = 5;
/** Runs that have not ended, at most. */
const OPEN_RUNS = 16;

type Outcome = Extract<RelayReport, { type: 'read' }>;

/** What was promised and what was seen, from outside of both processes. */
class Ledger {
  /** Every key that was ever sent, and the ticket that was acknowledged for it. */
  readonly tickets = new Map<string, string>();
  readonly unanswered = new Set<string>();
  readonly outcomes = new Map<string, Outcome>();
  /** Promises that were broken, for a person. */
  readonly broken: string[] = [];

  take(report: RelayReport): void {
    if (report.type === 'refused') this.unanswered.add(report.key);
    if (report.type === 'ticket') this.#ticket(report.key, report.commandId);
    if (report.type === 'read') this.#outcome(report);
  }

  /** Commands that have a ticket and no end yet. */
  open(): string[] {
    return [...this.tickets.values()].filter((id) => !this.outcomes.has(id));
  }

  #ticket(key: string, commandId: string): void {
    const before = this.tickets.get(key);
    if (before !== undefined && before !== commandId)
      this.broken.push(`${key} has the tickets ${before} and ${commandId}`);
    this.unanswered.delete(key);
    this.tickets.set(key, commandId);
  }

  #outcome(report: Outcome): void {
    const before = this.outcomes.get(report.commandId);
    if (before !== undefined && before.status !== report.status) {
      this.broken.push(`${report.commandId} went from ${before.status} to ${report.status}`);
    }
    if (report.status !== 'queued' && report.status !== 'running') this.outcomes.set(report.commandId, report);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function startBoth(folder: string) {
  const ledger = new Ledger();
  const port = await freePort();
  const sessionId = graphSessionId(systemIds.hex(16));
  const runsFile = join(folder, 'runs.txt');
  let tokens: Tokens | null = null;
  const relay = new Killable<RelayOrder, RelayReport>('kill-relay.ts', (report) => {
    if (report.type === 'open') tokens = report.tokens;
    ledger.take(report);
  });
  const desktop = new Killable<DesktopOrder, DesktopReport>('kill-desktop.ts', (report) => {
    if (report.type === 'ended') ledger.broken.push(`the desktop ended by itself: ${report.end}`);
  });
  const openRelay = () => relay.open({ type: 'open', directory: join(folder, 'relay'), port, tokens });
  const openDesktop = () => {
    const url = `http://127.0.0.1:${port}`;
    return desktop.open({ directory: join(folder, 'desktop'), url, token: tokens!.desktop, sessionId, runsFile });
  };
  await openRelay();
  await openDesktop();
  const queue = (key: string) => relay.tell({ type: 'queue', key, sessionId });
  const read = (commandId: string) => relay.tell({ type: 'read', commandId });
  const kill = {
    relay: () => relay.kill().then(openRelay),
    desktop: () => desktop.kill().then(openDesktop),
  };
  const runs = () => (existsSync(runsFile) ? readFileSync(runsFile, 'utf8').split('\n').filter(Boolean) : []);
  const end = () => Promise.all([relay.end(), desktop.end()]);
  return { ledger, queue, read, kill, runs, end };
}

type Both = Awaited<ReturnType<typeof startBoth>>;

/** Queues and reads until it is stopped. A key without an answer is sent again: that is what keys are for. */
function startCaller({ ledger, queue, read }: Both) {
  let made = 0;
  let producing = true;
  const timer = setInterval(() => {
    for (const id of ledger.open()) read(id);
    const open = ledger.open().length + ledger.unanswered.size;
    if (producing && open < OPEN_RUNS) ledger.unanswered.add(`key-${String(++made).padStart(6, '0')}`);
    for (const key of ledger.unanswered) queue(key);
  }, 50);
  return {
    made: () => made,
    finish: () => {
      producing = false;
    },
    stop: () => clearInterval(timer),
  };
}

async function killAgainAndAgain(kill: () => Promise<void>, { ledger, seed }: { ledger: Ledger; seed: number }) {
  const { next: random } = seededRandom(seed);
  for (let round = 0; round < ROUNDS / 2; round++) {
    const before = ledger.outcomes.size;
    await later(random() ** 2 * LIFE_MS);
    if (round % FRUITFUL === 0) {
      await waitFor('the end of a run', 60_000, async () => (ledger.outcomes.size > before ? true : null));
    }
    await kill();
  }
}

t.test(`after ${ROUNDS} kills of relay and desktop nothing is missing and nothing has run twice`, async (t) => {
  const both = await startBoth(t.testdir({}));
  const caller = startCaller(both);
  t.teardown(() => {
    caller.stop();
    return both.end();
  });
  const { ledger } = both;
  await waitFor('the first end of a run', 20_000, async () => (ledger.outcomes.size > 0 ? true : null));

  // Each has moments of its own, so that at times both are dead.
  await Promise.all([
    killAgainAndAgain(both.kill.relay, { ledger, seed: 1 }),
    killAgainAndAgain(both.kill.desktop, { ledger, seed: 2 }),
  ]);
  caller.finish();
  await waitFor('the end of every run', 60_000, async () =>
    ledger.unanswered.size === 0 && ledger.open().length === 0 ? true : null,
  );
  // Everything is asked for once more: what has ended must still be what it was.
  for (const [key, id] of ledger.tickets) {
    both.queue(key);
    both.read(id);
  }
  await later(2_000);

  const runs = both.runs();
  const outcomes = [...ledger.outcomes.values()];
  const completed = outcomes.filter(({ status }) => status === 'completed');
  const interrupted = outcomes.filter(({ status }) => status === 'failed');
  t.comment(`${ledger.tickets.size} runs, ${runs.length} of them begun`);
  t.comment(`${completed.length} completed, ${interrupted.length} interrupted by a kill`);
  t.same(ledger.broken, []);
  t.ok(completed.length >= ROUNDS / FRUITFUL / 4, 'enough went on while processes were killed');
  t.equal(ledger.tickets.size, caller.made(), 'every key has its ticket');
  t.equal(new Set(ledger.tickets.values()).size, ledger.tickets.size, 'every key has a run of its own');
  t.equal(completed.length + interrupted.length, ledger.tickets.size, 'every run has ended, in one of two ways');
  t.equal(new Set(runs).size, runs.length, 'nothing has run twice');
  const ran = new Set(runs);
  t.same(
    completed.filter(({ commandId }) => !ran.has(commandId)),
    [],
    'what is completed has run',
  );
  const keys = new Map([...ledger.tickets].map(([key, id]) => [id, key]));
  t.same(
    completed.filter(({ commandId, result }) => (result as { key: string }).key !== keys.get(commandId)),
    [],
    'every result is that of its own run',
  );
  t.same([...new Set(interrupted.map(({ error }) => error))], interrupted.length > 0 ? [RESTARTED_DURING_RUN] : []);
});
