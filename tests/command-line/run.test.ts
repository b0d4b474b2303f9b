/** `desktop run`: a Graph in a process of its own, its events beside its result, and how it ends. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { EventLines } from '../../desktop-agent/command-line/event-lines.ts';
import { givenArguments } from '../../desktop-agent/command-line/given-arguments.ts';
import { costText, spanText } from '../../desktop-agent/command-line/words.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import { plain } from '../../protocol/host/terminal.ts';
import { agentProgram } from '../process/agent-program.ts';
import { graphSource, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import {
  COMMAND,
  cleanEnvironment,
  expectProcesses,
  isAlive,
  launch,
  run,
  tempFolder,
  until,
} from '../process/support.ts';
import { onTerminal } from './support.ts';

expectProcesses(t);

const ASK = `export const meta = { name: 'Ask', slug: 'ask', arguments: { type: 'object',
  properties: { topic: { type: 'string' }, depth: { type: 'integer' } }, required: ['topic'], additionalProperties: false } };
phase('Asking');
log('about ' + args.topic);
const answer = await agent('What is ' + args.topic + '?', { label: 'asker' });
return { topic: args.topic, depth: args.depth, answered: answer !== '' };
`;

function runHere(t: Test, data: string, ...args: string[]) {
  return run(t, ['desktop', 'run', ...args, '--data', data]);
}

t.test('the result is alone on standard output, what happens is beside it', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'ask.js', ASK);
  const asked = await runHere(t, data, 'ask', 'topic=42', 'depth=2');
  t.equal(asked.code, 0, asked.stderr);
  t.same(JSON.parse(asked.stdout), { topic: '42', depth: 2, answered: true }, 'the schema says what is text');
  const lines = asked.stderr.trimEnd().split('\n');
  t.same(lines.slice(0, 3), ['── Asking', '   about 42', ' ▸ asker']);
  t.match(lines[3], /^ ✓ asker {2}\d+ tokens, \d+ ms$/);
  t.match(lines[4], /^completed: \d+ tokens, .*s$/);

  const json = await runHere(t, data, 'ask', '--args', '{"topic":"tea"}', '--json', '--quiet');
  t.match(JSON.parse(json.stdout), { status: 'completed', result: { topic: 'tea' }, error: null, reported_cost: null });
  t.equal(json.stderr, '');

  await writeGraph(data, 'text.js', graphSource('text', "return 'two\\nlines';"));
  t.equal((await runHere(t, data, 'text')).stdout, 'two\nlines\n', 'a text is printed as it is');
});

t.test('arguments that do not fit are refused before anything starts', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'ask.js', ASK);
  const program = await agentProgram(t, data, 'echo hi');
  const refused = await runHere(t, data, 'ask', 'depth=deep', '--agent-command', program.command);
  t.match(refused, {
    code: 2,
    stdout: '',
    stderr: /arguments\.depth: .*Nothing was started\. It takes topic: string, depth/,
  });
  t.same(await program.pids(), [], 'no agent was asked');
  for (const [args, says] of [
    [['ask', 'tea'], /"tea" is not key=value/],
    [['ask', '--args', '{tea}'], /--args is not JSON/],
    [['ask', '--args', '[1]'], /--args must be a JSON object/],
    [['ask', '--args-file', join(data, 'none.json')], /none\.json cannot be read \(ENOENT\)/],
    [['ask', '--args', '{}', '--args-file', '-'], /not both/],
  ] as const) {
    t.match(await runHere(t, data, ...args), { code: 2, stdout: '', stderr: says });
  }
  const file = join(data, 'args.json');
  await writeFile(file, '{"topic":"from a file"}');
  t.match((await runHere(t, data, 'ask', '--args-file', file, 'depth=1')).stdout, /"from a file",\n {2}"depth": 1/);
});

t.test('a Graph that fails or does not parse ends with its reason and its code', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'fail.js', graphSource('fail', "throw new Error('no luck');"));
  const failed = await runHere(t, data, 'fail');
  t.match(failed, { code: 30, stdout: '', stderr: /^failed: no luck/m });
  t.match(JSON.parse((await runHere(t, data, 'fail', '--json')).stdout), {
    status: 'failed',
    result: null,
    error: /no luck/,
  });
  await writeGraph(data, 'broken.js', graphSource('broken', 'return (;'));
  const broken = await runHere(t, data, 'broken');
  t.match(broken, {
    code: 1,
    stdout: '',
    stderr: /broken\.js:2:9: Unexpected token\nNothing was started.*desktop check broken/,
  });
  t.match(await runHere(t, data, 'nobody'), { code: 1, stderr: /Graph of this desktop: fail|broken/ });
});

t.test('Ctrl-C cancels the run, and its agent is gone', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'slow.js', graphSource('slow', "return await agent('wait');"));
  const program = await agentProgram(t, data, 'sleep 600 & wait');
  const running = launch(t, ['desktop', 'run', 'slow', '--data', data, '--agent-command', program.command]);
  const [pid = 0] = await until('the agent', async () => {
    const pids = await program.pids();
    return pids.length > 0 && pids;
  });
  t.same(await running.end('SIGINT'), { code: 130, signal: null });
  t.match(running.stderr, /^cancelled: The run was stopped by hand\./m);
  t.equal(running.stdout, '');
  await until('the end of the agent', () => !isAlive(pid));
});

t.test('a run here needs no relay, also beside a desktop that runs', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken } = world;
  await writeGraph(data, 'one.js', graphSource('one', 'return 1;'));
  const desktop = await startDesktop(t, { data, url, token: desktopToken });
  t.match(await runHere(t, data, 'one'), { code: 0, stdout: '1\n' });
  t.notOk(
    desktop.log.some(({ event }) => event === 'run.started'),
    'the desktop was not asked',
  );
});

t.test('what a Graph writes cannot steer the terminal', async (t) => {
  const data = await tempFolder(t);
  const steer = '\\u001b[2J\\u001b]0;title\\u0007\\u009b31m\\r';
  await writeGraph(data, 'steer.js', graphSource('steer', `log('before${steer}after'); return 'a${steer}b\\nc';`));
  const command = [process.execPath, COMMAND, 'desktop', 'run', 'steer', '--data', data];
  const { screen } = await onTerminal(t, command, { env: { ...cleanEnvironment(), NO_COLOR: '1' } }).ended;
  t.match(screen, / {3}before *after\r\n/);
  t.match(screen, /^a *b\r\nc\r\n/m);
  t.notMatch(screen, '\u001b');
  t.match((await runHere(t, data, 'steer')).stdout, '\u001b[2J', 'a pipe gets it as it is');
  t.equal(plain('a\u202eb\u2028c\td'), 'a b c d');
});

t.test('each kind of event is a line, or says nothing new', async (t) => {
  const lines = new EventLines((paint, text) => (paint === 'dim' ? text : `<${paint}>${text}`));
  const line = (event: GraphEvent) => lines.line(event);
  const took = { duration_ms: 1_500, error: null };
  t.equal(line({ type: 'fleet_started', run_id: 'x' }), null);
  t.equal(line({ type: 'wave_finished', wave: 1, agents: 1, tokens: 5, duration_ms: 1 }), null);
  t.equal(
    line({ type: 'wave_finished', wave: 2, agents: 3, tokens: 1_234, duration_ms: 90_000 }),
    '   wave 2: 3 agents, 1,234 tokens, 1 min 30 s',
  );
  t.equal(line({ type: 'agent_started', agent: 1, label: 'a', wave: 1, model: 'm', prompt: '' }), ' ▸ a (m)');
  const finished = {
    type: 'agent_finished',
    agent: 1,
    ok: false,
    tokens: 1,
    cost: 0.5,
    duration_ms: 1,
    answer: null,
  } as const;
  t.equal(line({ ...finished, error: 'no\nway' }), ' <red>✗ a  1 token, $0.5000, 1 ms  <red>no way');
  t.equal(line({ type: 'agent_refused', label: 'b', reason: 'spent' }), '<yellow> ⊘ b: spent');
  t.equal(
    line({ type: 'retry_waits', attempt: 1, attempts: 3, wait_ms: 1_000, error: 'busy' }),
    '<yellow> ↻ attempt 1 of 3 failed: busy; again in 1.0 s',
  );
  t.equal(line({ type: 'graph_started', graph: 1, slug: 'inner', version: 2, args: {} }), ' ▸ Graph inner');
  t.equal(line({ type: 'tool_started', call: 1, tool: 'f.read', input: {}, within: 1 }), '   ▸ f.read');
  t.equal(line({ type: 'graph_started', graph: 2, slug: 'deep', version: 2, args: {}, within: 1 }), '   ▸ Graph deep');
  t.equal(line({ type: 'log', message: 'down here', within: 2 }), '       down here');
  t.equal(
    line({ type: 'tool_finished', call: 1, tool: 'f.read', ok: true, output: 1, ...took }),
    ' <green>✓ f.read  1.5 s',
  );
  t.equal(line({ type: 'tool_refused', call: 2, tool: 'f.write', reason: 'denied' }), '<yellow> ⊘ f.write: denied');
  const approval = { approval: 'ap1', call: 3, tool: 'f.write' };
  t.match(line({ type: 'approval_asked', ...approval, input: {} }), /waits for your approval \(ap1\)/);
  t.equal(
    line({ type: 'approval_decided', ...approval, decision: 'allow', scope: 'run' }),
    ' ✓ f.write: allowed for this run',
  );
  t.equal(line({ type: 'graph_finished', graph: 1, slug: 'inner', ok: true, ...took }), ' <green>✓ Graph inner  1.5 s');
  t.equal(line({ type: 'graph_refused', slug: 'x', reason: 'a cycle' }), '<yellow> ⊘ Graph x: a cycle');
  t.equal(line({ type: 'finished', status: 'completed', tokens: 1, cost: null, error: null }), null);
});

t.test('values are read by the schema, as JSON, or as text, in this order', async (t) => {
  const pairs = ['text=12', 'n=12', 'list=[1,2]', 'word=tea', 'eq=a=b', '__proto__=1'];
  const schema = { type: 'object', properties: { text: { type: 'string' } } };
  const given = givenArguments({ pairs }, schema);
  t.equal(JSON.stringify(given), '{"text":"12","n":12,"list":[1,2],"word":"tea","eq":"a=b","__proto__":1}');
  t.same(givenArguments({ json: { text: '{"a":1,"b":2}', from: '--args' }, pairs: ['b=3'] }, undefined), {
    a: 1,
    b: 3,
  });
});

t.test('spans and costs are told as people tell them', async (t) => {
  t.same([0.4, 999, 1_000, 59_940, 59_960, 3_599_000, 3_600_000, 12_000_000].map(spanText), [
    '0 ms',
    '999 ms',
    '1.0 s',
    '59.9 s',
    '1 min 0 s',
    '59 min 59 s',
    '1 h 0 min',
    '3 h 20 min',
  ]);
  t.same([null, 0.00123, 1.5].map(costText), ['', '$0.0012', '$1.50']);
});
