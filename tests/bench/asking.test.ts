import t, { type Test } from 'tap';
import { FOLLOWING, STRATEGIES, type Strategy, strategySchema } from '../../bench/asking.ts';
import none from '../../bench/faults/none.ts';
import longPoll from '../../bench/modes/long-poll.ts';
import { estimatedTokens } from '../../bench/tokens.ts';
import { ask } from '../../bench/virtual/ask.ts';
import { type BenchWorld, createBenchWorld } from '../../bench/virtual/bench-world.ts';
import { sleepFor } from '../../bench/virtual/sleep.ts';
import type { RunTicket } from '../../server/agent-api.ts';

const RUN_MS = 25_000;

/** The whole stack, so that the endpoint itself can be asked too. */
function worldOf(weighsAnswers: boolean): Promise<BenchWorld> {
  const given = { seed: 1, mode: longPoll, fault: none, slots: 1, stopMs: 0 };
  return createBenchWorld({ ...given, metered: true, weighsAnswers });
}

function start({ relay, caller, graphSessionId }: BenchWorld, key: string): Promise<RunTicket> {
  const request = { graph_session_id: graphSessionId, arguments: { run_ms: RUN_MS }, idempotency_key: key };
  return relay.agents.runSession(caller, request);
}

/** Calls a tool at the endpoint. Returns what its answer weighs. */
function connect(t: Test, world: BenchWorld, token: string) {
  return async <Data>(name: string, input: object): Promise<{ data: Data; tokens: number; words: number }> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const params = { name, arguments: input };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const answer = await world.relay.fetch(new Request('http://relay/mcp', { method: 'POST', headers, body }));
    const { result } = JSON.parse(await answer.text());
    t.notOk(result.isError);
    const words = result.content.map(({ text }: { text: string }) => text).join('\n');
    const [said, asked] = [estimatedTokens(words), estimatedTokens(JSON.stringify(input))];
    const data = estimatedTokens(JSON.stringify(result.structuredContent));
    return { data: result.structuredContent, tokens: asked + said + data, words: asked + said };
  };
}

t.test('what is counted is what the endpoint sends: in full, briefly when nothing is new, and the end', async (t) => {
  const world = await worldOf(true);
  const { clock, relay, graphSessionId } = world;
  const created = relay.access.createToken({ kind: 'agent', name: 'over HTTP', projects: ['bench'] });
  const call = connect(t, world, (await clock.settle(created)).token);
  const polling: Strategy = { name: 'every 10 s', pauses_s: [10], wait_s: 0 };

  const counted = await clock.settle(start(world, 'counted--').then((ticket) => ask(world, ticket, polling)));
  const asked = async () => {
    const run = { graph_session_id: graphSessionId, arguments: { run_ms: RUN_MS }, idempotency_key: 'over-http' };
    const { data: ticket } = await call<RunTicket>('run_graph_session', run);
    const spent = [];
    for (let look = 0; look < 3; look++) {
      await sleepFor(clock, 10_000);
      const answer = await call<{ status: string }>('get_graph_run', { command_id: ticket.command_id });
      spent.push({ ...answer, status: answer.data.status });
    }
    return spent;
  };
  const sent = await clock.settle(asked());
  t.same(
    sent.map(({ status }) => status),
    ['running', 'running', 'completed'],
  );
  t.ok(sent[1]!.tokens < sent[0]!.tokens / 2, 'no news is a short answer');
  t.equal(counted.calls, 3);
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  // Ids and instants differ, and with them where digits and letters take turns.
  const isNear = (found: number, expected: number) => Math.abs(found - expected) < expected / 10;
  t.ok(isNear(counted.tokens.all, sum(sent.map(({ tokens }) => tokens))), JSON.stringify([counted, sent]));
  t.ok(isNear(counted.tokens.words, sum(sent.map(({ words }) => words))), JSON.stringify([counted, sent]));
});

t.test('each way of asking is a client by itself: nobody is told briefly what another one was told', async (t) => {
  const polling: Strategy = { name: 'every 10 s', pauses_s: [10], wait_s: 0 };
  const spent = async (ways: readonly Strategy[]) => {
    const world = await worldOf(true);
    const asking = start(world, 'together').then((ticket) => Promise.all(ways.map((way) => ask(world, ticket, way))));
    return (await world.clock.settle(asking))[0]!;
  };
  t.same(await spent([polling]), await spent([polling, polling, { ...polling, name: 'sooner', pauses_s: [1] }]));
});

t.test('who does as it is told looks when its last answer said, and needs few calls', async (t) => {
  const world = await worldOf(false);
  const { clock, relay } = world;
  const lookedAt: number[] = [];
  const said: (number | null)[] = [];
  const agents = {
    getRun: async (...given: Parameters<typeof relay.agents.getRun>) => {
      const run = await relay.agents.getRun(...given);
      lookedAt.push(clock.monotonic());
      said.push(run.check_after_seconds);
      return run;
    },
  };
  const play = async () => {
    // The first runs teach the relay how long this session takes.
    for (const key of ['first----', 'second---']) await ask(world, await start(world, key), FOLLOWING);
    const ticket = await start(world, 'third----');
    const from = clock.monotonic();
    return { ticket, from, asked: await ask({ ...world, relay: { agents } }, ticket, FOLLOWING) };
  };
  const { ticket, from, asked } = await clock.settle(play());
  const due = [ticket.check_after_seconds!, ...said.slice(0, -1).map((seconds) => seconds!)];
  for (const [index, at] of lookedAt.entries()) {
    const since = index === 0 ? from : lookedAt[index - 1]!;
    t.ok(Math.abs(at - since - due[index]! * 1_000) < 1e-6, `call ${index + 1} after ${at - since} ms`);
  }
  t.equal(said.at(-1), null, 'an end has no next look');
  t.ok(asked.calls <= 2, `${asked.calls} calls for a run that takes as long as those before`);
  t.equal(asked.tokens.all, 0, 'nobody weighed it');
});

t.test('a way of asking has pauses, or does as it is told', async (t) => {
  for (const strategy of STRATEGIES) t.same(strategySchema.parse(strategy), strategy);
  for (const pauses_s of [[], 'now and then', [-1]]) {
    t.equal(strategySchema.safeParse({ name: 'odd', pauses_s, wait_s: 0 }).success, false);
  }
});
