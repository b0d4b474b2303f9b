/** Questions to the owner: who is asked, what an answer is good for, and when a question is taken back. */
import t, { type Test } from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { ApprovalScope } from '../../desktop-agent/run-events.ts';
import type { McpConnection } from '../../desktop-agent/tools/mcp-connection.ts';
import { type BenchOptions, COMMAND_ID, createBench, RUN_ID } from './support.ts';

const OTHER_RUN = '22222222-2222-4222-8222-222222222222';
const SERVERS = { files: { command: 'files' }, web: { command: 'web' } };

/** Servers that do what they are asked at once, and write it down. */
function obedient(done: string[]): NonNullable<BenchOptions['connect']> {
  return async ({ config }): Promise<McpConnection> => ({
    tools: async () => ['read', 'write'].map((name) => ({ name, description: `${name}s` })),
    signOfLife: async () => {},
    call: async ({ name, input }) => {
      done.push(`${config.name}.${name} ${JSON.stringify(input)}`);
      return { content: [{ type: 'text', text: 'done' }] };
    },
    ending: () => null,
    onEnd: () => {},
    close: async () => {},
  });
}

async function open(t: Test, options: BenchOptions = {}) {
  const clock = new VirtualClock();
  const done: string[] = [];
  const bench = await createBench(t, { servers: SERVERS, allow: [], connect: obedient(done), clock, ...options });
  const { admin, call, tools } = bench;
  /** A call, and how it stands. */
  const begin = (tool: string, more: Parameters<typeof call>[2] = {}, input: unknown = {}) => {
    const state = { is: 'waiting' };
    const ended = call(tool, input, more).then(
      (value) => {
        state.is = `gave ${value}`;
      },
      (error: Error) => {
        state.is = `${error.name}: ${error.message}`;
      },
    );
    return { ended, state };
  };
  /** Resolves when so many questions wait. */
  const asked = async (count: number) => {
    while (tools.approvals.list().length !== count) await new Promise((turn) => setImmediate(turn));
    return tools.approvals.list();
  };
  const decide = (decision: 'allow' | 'deny', scope: ApprovalScope = 'call', approval?: string) =>
    admin.decide({ decision, scope, approval });
  return { ...bench, clock, done, begin, asked, decide };
}

t.test('a tool that nothing was said of waits for its owner, who sees what it is about', async (t) => {
  const { begin, asked, clock, decide, done, events } = await open(t);
  const input = { path: 'a.txt', text: 'hello' };
  const { ended, state } = begin('files.write', { call: 7 }, input);
  const [question] = await asked(1);
  const { approval } = question!;
  t.match(approval, /^[0-9a-f]{6}$/);
  t.strictSame(question, {
    approval,
    command_id: COMMAND_ID,
    run_id: RUN_ID,
    tool: 'files.write',
    input,
    asked_at_ms: clock.now(),
  });
  t.same(done, [], 'nothing is called');
  t.same(events, [{ type: 'approval_asked', approval, call: 7, tool: 'files.write', input }]);
  t.match(await decide('allow'), [{ approval }]);
  await ended;
  t.equal(state.is, 'gave done');
  t.same(done, [`files.write ${JSON.stringify(input)}`]);
  t.match(events[1], {
    type: 'approval_decided',
    approval,
    call: 7,
    tool: 'files.write',
    decision: 'allow',
    scope: 'call',
  });
  t.equal(events.length, 2);
});

t.test('a tool that was denied is not called, and the Graph gets an error', async (t) => {
  const { begin, asked, decide, done, events } = await open(t);
  const { ended, state } = begin('files.write');
  await asked(1);
  await decide('deny');
  await ended;
  t.equal(state.is, 'ToolRefused: the owner did not allow files.write');
  t.match(events.at(-1), { type: 'approval_decided', decision: 'deny', scope: 'call' });
  t.same(done, []);
});

t.test('allowed and denied tools are not asked about', async (t) => {
  const { begin, tools, events, done } = await open(t);
  await tools.permissions.set('files.*', 'allow');
  await tools.permissions.set('files.write', 'deny');
  const [read, write] = [begin('files.read'), begin('files.write')];
  await Promise.all([read.ended, write.ended]);
  t.equal(read.state.is, 'gave done');
  t.equal(write.state.is, 'ToolRefused: the owner denies files.write');
  await tools.permissions.set('web.*', 'deny');
  const web = begin('web.read');
  await web.ended;
  t.equal(web.state.is, 'ToolRefused: the owner denies web.read (web.*)');
  t.same(events, []);
  t.same(done, ['files.read {}']);
});

t.test('an answer for one call is good for one call', async (t) => {
  const { begin, asked, decide } = await open(t);
  const calls = [begin('files.write'), begin('files.write')];
  const [, second] = await asked(2);
  await decide('allow', 'call', second!.approval);
  await calls[1]!.ended;
  t.equal(calls[0]!.state.is, 'waiting');
  const third = begin('files.write');
  await asked(2);
  t.equal(third.state.is, 'waiting');
});

for (const decision of ['allow', 'deny'] as const) {
  const said = decision === 'allow' ? 'gave done' : 'ToolRefused: the owner did not allow files.write';

  t.test(`"${decision} for this run" answers all calls of this tool in this run, and no other`, async (t) => {
    const { begin, asked, decide, admin } = await open(t);
    const same = [begin('files.write'), begin('files.write')];
    const others = [begin('files.read'), begin('web.write'), begin('files.write', { runId: OTHER_RUN })];
    const [first] = await asked(5);
    t.equal((await decide(decision, 'run', first!.approval)).length, 2);
    await Promise.all(same.map(({ ended }) => ended));
    t.same(
      same.map(({ state }) => state.is),
      [said, said],
    );
    const later = begin('files.write');
    await later.ended;
    t.equal(later.state.is, said, 'nobody is asked any more');
    t.ok(others.every(({ state }) => state.is === 'waiting'));
    t.same((await admin.list()).permissions, [], 'and nothing of it is kept');
  });

  t.test(`"${decision} from now on" is a permission, also for other runs that wait`, async (t) => {
    const { begin, asked, decide, admin, events } = await open(t);
    const calls = [begin('files.write'), begin('files.write', { runId: OTHER_RUN })];
    const other = begin('files.read');
    const [first] = await asked(3);
    await decide(decision, 'always', first!.approval);
    await Promise.all(calls.map(({ ended }) => ended));
    t.same(
      calls.map(({ state }) => state.is),
      [said, said],
    );
    t.equal(other.state.is, 'waiting');
    t.same((await admin.list()).permissions, [{ pattern: 'files.write', rule: decision }]);
    const decided = events.filter(({ type }) => type === 'approval_decided');
    t.match(
      decided,
      [
        { decision, scope: 'always' },
        { decision, scope: 'always' },
      ],
      'the history has it for each of them',
    );
  });
}

t.test('a permission that comes while calls wait answers them', async (t) => {
  const { begin, asked, admin, tools } = await open(t);
  const [write, read, web] = [begin('files.write'), begin('files.read'), begin('web.read')];
  await asked(3);
  await admin.permit({ pattern: 'files.write', rule: 'deny' });
  const answer = await admin.permit({ pattern: 'files.*', rule: 'allow' });
  t.match(answer, { changed: true, tools: ['files.read', 'files.write'], decided: [{ tool: 'files.read' }] });
  await Promise.all([write.ended, read.ended]);
  t.equal(write.state.is, 'ToolRefused: the owner did not allow files.write');
  t.equal(read.state.is, 'gave done');
  t.equal(web.state.is, 'waiting');
  await admin.permit({ pattern: '*', rule: 'ask' });
  t.equal(tools.approvals.list().length, 1);
});

t.test('the end of a run takes its question back, and nobody can answer it any more', async (t) => {
  const { begin, asked, decide, done, events, tools } = await open(t);
  const run = new AbortController();
  const { ended, state } = begin('files.write', { signal: run.signal });
  const other = begin('web.read', { runId: OTHER_RUN });
  const [question] = await asked(2);
  run.abort(new Error('the run was cancelled'));
  await ended;
  t.equal(state.is, 'Error: the run was cancelled');
  t.match(tools.approvals.list(), [{ tool: 'web.read' }]);
  await t.rejects(decide('allow', 'call', question!.approval), {
    code: 'invalid-input',
    message: /No question "[0-9a-f]{6}" waits/,
  });
  t.equal(events.length, 2, 'both were asked, and nothing was decided');
  await decide('allow');
  await other.ended;
  t.same(done, ['web.read {}']);
  const gone = begin('files.write', { signal: run.signal });
  await gone.ended;
  t.equal(gone.state.is, 'Error: the run was cancelled', 'what has ended asks nothing');
});

t.test('who decides without a name decides the only question, and is told when there are more, or none', async (t) => {
  const { begin, asked, decide } = await open(t);
  await t.rejects(decide('allow'), { code: 'invalid-input', message: 'Nothing waits for a decision.' });
  begin('files.write');
  begin('web.read');
  const [first, second] = await asked(2);
  const more = `More than one question waits, so name one: ${first!.approval} (files.write), ${second!.approval} (web.read).`;
  await t.rejects(decide('allow'), { code: 'invalid-input', message: more });
  await t.rejects(decide('allow', 'call', 'ffffff'), { message: /These do: / });
  await decide('allow', 'call', first!.approval.toUpperCase());
  t.match(await decide('deny'), [{ tool: 'web.read' }]);
});

t.test('nobody is asked about what is no tool, and the message says what there is', async (t) => {
  const { begin, events, done, configure } = await open(t);
  const refusals: readonly (readonly [tool: string, input: unknown, says: RegExp])[] = [
    ['files', {}, /"files" is no tool: they are called server\.tool/],
    ['files.*', {}, /"files\.\*" is no tool/],
    ['nowhere.read', {}, /there is no tool server "nowhere": there are files, web/],
    ['files.burn', {}, /there is no tool files\.burn: its server has files\.read, files\.write/],
    ['files.read', 'a.txt', /the input of files\.read has to be an object/],
    ['files.read', ['a.txt'], /has to be an object/],
  ];
  for (const [tool, input, says] of refusals) {
    const { ended, state } = begin(tool, {}, input);
    await ended;
    t.match(state.is, says);
    t.match(state.is, /^ToolRefused: /);
  }
  await configure({});
  const { ended, state } = begin('files.read');
  await ended;
  t.match(state.is, /there is no tool server "files": tools\.json of this desktop names none/);
  t.same([...events, ...done], []);
});

t.test('so many questions are open at once, and no more', async (t) => {
  const { begin, asked, decide } = await open(t, { limits: { openApprovals: 2 } });
  begin('files.write');
  begin('files.read');
  const [first] = await asked(2);
  const third = begin('web.read');
  await third.ended;
  t.match(third.state.is, /^ToolRefused: 2 questions to the owner are open already, so web\.read was not asked about/);
  await decide('deny', 'call', first!.approval);
  begin('web.read');
  t.match(await asked(2), [{ tool: 'files.read' }, { tool: 'web.read' }]);
});

t.test(
  'what was decided for a run is kept for the runs of a busy desktop, and not for all that ever were',
  async (t) => {
    const { begin, asked, decide } = await open(t);
    const runId = (n: number) => `33333333-3333-4333-8333-${String(n).padStart(12, '0')}`;
    for (let n = 0; n <= 100; n++) {
      const { ended } = begin('files.write', { runId: runId(n) });
      await asked(1);
      await decide('allow', 'run');
      await ended;
    }
    const [newest, oldest] = [begin('files.write', { runId: runId(1) }), begin('files.write', { runId: runId(0) })];
    await newest.ended;
    t.match(await asked(1), [{ run_id: runId(0) }]);
    t.equal(oldest.state.is, 'waiting');
  },
);
