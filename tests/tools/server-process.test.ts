/** Tool servers that are real programs and misbehave: what the desktop makes of it, and that nothing of them is left. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { expectProcesses, isAlive, tempFolder, until } from '../process/support.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { createBench, oddServer } from './support.ts';

expectProcesses(t);

const SECRET = 'odd-secret-0123456789';
const SECRETS = { env: { ODD_SECRET: SECRET } };

t.test('a server is one process for all calls, and hears of the end of the desktop', async (t) => {
  const { call, tools, lines } = await createBench(t, { servers: { odd: oddServer() } });
  const pids = await Promise.all([call('odd.pid'), call('odd.pid'), call('odd.pid')]);
  t.equal(new Set(pids).size, 1);
  t.ok(isAlive(Number(pids[0])));
  await tools.close();
  t.notOk(isAlive(Number(pids[0])));
  t.notOk(
    lines.some(({ level }) => level === 'warn'),
    'an end that was wanted is no failure',
  );
});

t.test('a crash in mid-call fails the calls that go on, and the next call gets a new process', async (t) => {
  const { call, lines, admin } = await createBench(t, { servers: { odd: oddServer() } });
  const first = Number(await call('odd.pid'));
  const hanging = call('odd.hang').catch((error: Error) => error.message);
  const message = 'the tool server "odd" ended with exit code 3 during the call';
  await t.rejects(call('odd.crash'), { message });
  t.equal(await hanging, message);
  t.match(lines.at(-1), { event: 'tool-server.failed', fields: { server: 'odd' } });
  const second = Number(await call('odd.pid'));
  t.not(second, first);
  t.match((await admin.list()).servers, [{ state: 'running', problem: null }]);
  process.kill(second, 'SIGKILL');
  await until('its end to be noticed', () =>
    lines.some(({ fields }) => /was ended by SIGKILL/.test(String(fields.reason))),
  );
  t.ok(Number(await call('odd.pid')) > 0);
});

t.test('a hung server is told that its answer is not wanted, then ended, and another one is started', async (t) => {
  const folder = await tempFolder(t);
  const file = join(folder, 'cancelled');
  const clock = new SkippingClock();
  const servers = { odd: oddServer({ env: { ODD_CANCELLED: file } }) };
  const { call, lines } = await createBench(t, { servers, clock });
  const said = (words: RegExp) =>
    until(String(words), () => lines.some(({ fields }) => words.test(String(fields.said))));
  const first = Number(await call('odd.pid'));
  const hanging = t.rejects(call('odd.hang'), { message: 'the tool server "odd" gave no answer to hang within 120 s' });
  await said(/call \d+ hangs/);
  clock.skip(120_000);
  await hanging;
  t.match(await until('the word of the cancel', () => readFile(file, 'utf8').catch(() => undefined)), /^\d+$/);
  t.equal(Number(await call('odd.pid')), first, 'it is only this call that hangs');
  const deaf = t.rejects(call('odd.deafen'), { message: /gave no answer to deafen/ });
  await said(/call \d+ deafens/);
  clock.skip(120_000);
  await deaf;
  clock.skip(5_000);
  clock.skip(2_000);
  await until('the hung process to be gone', () => !isAlive(first));
  t.ok(lines.some(({ fields }) => /"odd" hangs, and is started anew/.test(String(fields.reason))));
  t.not(Number(await call('odd.pid')), first);
});

t.test('what a server has started goes with it, whatever it does about being asked to', async (t) => {
  for (const modes of [[], ['deaf']]) {
    const limits = { stopGraceMs: 100 };
    const { call, tools } = await createBench(t, { servers: { odd: oddServer({}, ...modes) }, limits });
    const pids = String(await call('odd.child'))
      .split(' ')
      .map(Number);
    t.ok(pids.length === 2 && pids.every(isAlive));
    await tools.close();
    t.notOk(isAlive(pids[0]!), modes.join() || 'a server that ends when it should');
    await until('its child to be gone', () => !isAlive(pids[1]!));
  }
});

t.test('what a crashed server has started is not left behind', async (t) => {
  const { call } = await createBench(t, { servers: { odd: oddServer() } });
  const [, child] = String(await call('odd.child'))
    .split(' ')
    .map(Number);
  await t.rejects(call('odd.crash'));
  await until('its child to be gone', () => !isAlive(child!));
});

t.test('a program that is not there, or ends at once, is named, and costs no other server anything', async (t) => {
  const servers = {
    nowhere: { command: '/nowhere/at-all' },
    dies: oddServer(SECRETS, 'dies'),
    odd: oddServer(),
    off: oddServer({}, 'no-tools'),
  };
  const { call, admin, lines } = await createBench(t, { servers });
  await t.rejects(call('nowhere.x'), {
    message: 'the tool server "nowhere" did not start: could not be started (ENOENT)',
  });
  await t.rejects(call('dies.x'), { message: 'the tool server "dies" did not start: ended with exit code 7' });
  t.match(lines.find(({ event }) => event === 'tool-server.said')?.fields, {
    said: 'cannot open the door with [redacted]',
  });
  t.match((await admin.list()).servers, [
    { name: 'nowhere', state: 'failed', tools: null, problem: /could not be started/ },
    { name: 'dies', state: 'failed', tools: null, problem: /exit code 7/ },
    { name: 'odd', state: 'running', problem: null },
    { name: 'off', state: 'running', tools: [] },
  ]);
});

t.test('a server that never says hello is given up', async (t) => {
  const { call } = await createBench(t, {
    servers: { odd: oddServer({}, 'mute') },
    limits: { startMs: 500, stopGraceMs: 100 },
  });
  await t.rejects(call('odd.pid'), { message: 'the tool server "odd" did not start within 0.5 s' });
});

t.test(
  'results beyond the bound are refused with how long they were; a message beyond it ends the server',
  async (t) => {
    const limits = { resultChars: 1_000_000, messageBytes: 2_000_000 };
    const { call } = await createBench(t, { servers: { odd: oddServer() }, limits });
    t.equal(String(await call('odd.large', { chars: 999_998 })).length, 999_998);
    const first = await call('odd.pid');
    await t.rejects(call('odd.large', { chars: 1_500_000 }), {
      message: /^odd\.large gave 1500002 characters of JSON, and 1000000 are/,
    });
    t.equal(await call('odd.pid'), first);
    await t.rejects(call('odd.huge', { bytes: 50_000_000 }), {
      message: 'the tool server "odd" sent a message of more than 2000000 bytes, and was ended for it during the call',
    });
    t.not(await call('odd.pid'), first, 'and the next call works');
  },
);

t.test(
  'what a server says on standard error is logged: bounded, without secrets, harmless on a terminal',
  async (t) => {
    const { call, lines, tools } = await createBench(t, { servers: { odd: oddServer(SECRETS) } });
    await call('odd.flood', { lines: 300 });
    await tools.close();
    const said = lines.filter(({ event }) => event === 'tool-server.said').map(({ fields }) => String(fields.said));
    t.equal(said.length, 100);
    t.equal(said[0], 'line 0 \\u{1b}[2J [redacted]');
    t.same(
      lines.filter(({ event }) => event === 'tool-server.said-too-much').map(({ fields }) => fields),
      [{ server: 'odd', lines_left_out: 201 }],
    );
    t.notMatch(JSON.stringify(lines), SECRET);
  },
);

t.test('no secret of a server is in an error, though the server puts it there', async (t) => {
  const { call, lines } = await createBench(t, { servers: { odd: oddServer(SECRETS) } });
  await t.rejects(call('odd.leak'), { message: /^the tool server "odd" refused the call: .*it is \[redacted\]$/ });
  await t.rejects(call('odd.fails'), { message: 'no: [redacted]' });
  t.notMatch(JSON.stringify(lines), SECRET);
});

t.test('a server gets what every program needs and what tools.json gives it, and nothing of ours', async (t) => {
  const names = ['GRAPH_RELAY_TOKEN', 'SOME_API_KEY'];
  const before = names.map((name) => process.env[name]);
  t.teardown(() => {
    for (const [index, name] of names.entries()) restore(name, before[index]);
  });
  process.env.GRAPH_RELAY_TOKEN = 'grd_ours';
  process.env.SOME_API_KEY = 'sk-ours';
  const print = `process.stderr.write(JSON.stringify(Object.keys(process.env)) + '\\n')`;
  const servers = { env: { command: process.execPath, args: ['-e', print], env: { GIVEN: '1' } } };
  const { call, lines } = await createBench(t, { servers });
  await t.rejects(call('env.x'), /did not start: ended with exit code 0/);
  const said = lines.find(({ event }) => event === 'tool-server.said');
  const seen = JSON.parse(String(said?.fields.said)) as string[];
  const usual = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
  t.same(
    // The runner of these tests puts its own into every process.
    seen.filter((name) => !usual.includes(name) && !/^(_TAPJS|NODE_OPTIONS$)/.test(name)),
    ['GIVEN'],
  );
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

t.test('lines that are no messages do no harm, and structured answers have their bounds', async (t) => {
  const { call } = await createBench(t, { servers: { odd: oddServer() } });
  t.equal(await call('odd.chatter'), 'and an answer');
  t.equal(await call('odd.empty'), null);
  t.equal(await call('odd.slow', { steps: 5 }), 'done');
  await t.rejects(call('odd.deep'), { message: /more than 64 levels/ });
});

t.test('odd names of tools are shown and cannot be called', async (t) => {
  const { call, admin } = await createBench(t, { servers: { odd: oddServer({}, 'odd-names') } });
  const [server] = (await admin.list()).servers;
  t.same(
    server?.tools?.filter(({ problem }) => problem === null).map(({ name }) => name),
    ['odd.fine.name/with-all_0'],
  );
  await t.rejects(call('odd.has space'), { name: 'ToolRefused', message: /is no tool/ });
});
