/** `graph-relay start`: what a newcomer sees, as real processes. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { expectProcesses, isAlive, launch, run, tempFolder, until } from './support.ts';

expectProcesses(t);

t.test('start --once --json ends with one line that tells of a completed run, also a second time', async (t) => {
  const data = await tempFolder(t);
  const tokens: string[] = [];
  for (const time of ['first', 'second']) {
    const { code, stdout, stderr } = await run(t, ['start', '--once', '--json', '--port', '0', '--data', data]);
    t.equal(code, 0, `${time} time: ${stderr}`);
    const lines = stdout.trimEnd().split('\n');
    t.equal(lines.length, 1, stdout);
    const timeline = JSON.parse(lines[0] ?? '');
    t.ok(typeof timeline.pickup_ms === 'number' && timeline.pickup_ms >= 0, `pickup_ms ${timeline.pickup_ms}`);
    t.match(timeline, { status: 'completed', transport: 'long-poll', result: { name: 'Ada' }, error: null });
    t.equal((await readdir(join(data, 'server'))).includes('lock'), false, 'the relay has given its lock back');
    tokens.push(await readFile(join(data, 'client-token'), 'utf8'));
  }
  t.equal(tokens[0], tokens[1], 'the token of the first time is used again');

  const known = async () => JSON.parse((await run(t, ['token', 'list', '--json', '--data', data])).stdout);
  const subjects = async () => (await known()).map((row: { subjectId: string }) => row.subjectId).sort();
  const before = await subjects();
  for (const file of ['client-token', join('desktop', 'token')]) await rm(join(data, file));
  const { code, stderr } = await run(t, ['start', '--once', '--json', '--port', '0', '--data', data]);
  t.equal(code, 0, stderr);
  t.same(await subjects(), before, 'tokens that were lost are replaced, for the same agent and desktop');
  t.not(await readFile(join(data, 'client-token'), 'utf8'), tokens[0]);
});

t.test('start stays up, says what next, shows a further run, and leaves nothing behind on SIGINT', async (t) => {
  const data = await tempFolder(t);
  const start = launch(t, ['start', '--port', '0', '--data', data]);
  await until('the last line of the next steps', () => start.stdout.includes('Ctrl-C stops both.'));
  t.match(start.stdout, /nothing is shared by default/);
  t.match(start.stdout, /offered .* ms[\s\S]*started .* ms[\s\S]*finished .* ms {3}completed/);
  for (const hint of ['/mcp', 'client-token', 'start --again', 'desktop share', 'logs']) {
    t.ok(start.stdout.includes(hint), `tells of ${hint}`);
  }
  t.notMatch(start.stdout, /gr[ad]_[0-9a-f]{64}/, 'shows no token');
  const shownBefore = start.stdout;

  const again = await run(t, ['start', '--again', '--json', '--data', data]);
  t.equal(again.code, 0, again.stderr);
  const { command_id, status } = JSON.parse(again.stdout);
  t.equal(status, 'completed');
  const short = command_id.slice(0, 8);
  await until('live lines', () => start.stdout.includes(`${short}  completed`));
  const live = start.stdout.slice(shownBefore.length);
  t.match(
    live,
    new RegExp(`${short}  queued\n  ${short}  started after \\d+ ms \\(long-poll\\)\n  ${short}  completed`),
  );

  const children = await childrenOf(data);
  t.equal(children.length, 2, 'relay and desktop run');
  t.same(await start.end('SIGINT'), { code: 0, signal: null });
  t.match(start.stdout, /Stopping/);
  t.same(children.filter(isAlive), [], 'no child is left');
});

t.test('start --json without --once prints its line, stays up, and stops both on SIGTERM', async (t) => {
  const data = await tempFolder(t);
  const start = launch(t, ['start', '--json', '--port', '0', '--data', data]);
  await until('the line', () => start.log.length > 0);
  const children = await childrenOf(data);
  t.equal(children.every(isAlive), true);
  t.same(await start.end('SIGTERM'), { code: 0, signal: null });
  t.equal(start.stdout.trimEnd().split('\n').length, 1, start.stdout);
  t.same(children.filter(isAlive), []);

  const nothing = await run(t, ['start', '--again', '--data', data]);
  t.equal(nothing.code, 1);
  t.match(nothing.stderr, /The relay is not running on this data folder/);
});

t.test('a second start on the same folder is refused, and children end when their start is killed', async (t) => {
  const data = await tempFolder(t);
  const first = launch(t, ['start', '--json', '--port', '0', '--data', data]);
  await until('the line', () => first.log.length > 0);
  const children = await childrenOf(data);
  const second = await run(t, ['start', '--once', '--port', '0', '--data', data]);
  t.equal(second.code, 10, second.stderr);
  t.match(second.stderr, /The relay did not start .*is in use by the process with the id \d+\. Stop that process/);
  t.notMatch(second.stderr, /\n\s+at /, 'no stack');
  t.equal(children.every(isAlive), true, 'the first one goes on');

  await first.end('SIGKILL');
  await until('the end of the children', () => !children.some(isAlive));
  t.pass('both have gone');
});

/** The processes of the two locks. */
async function childrenOf(data: string): Promise<number[]> {
  const locks = ['server', 'desktop'].map((part) => readFile(join(data, part, 'lock'), 'utf8'));
  return (await Promise.all(locks)).map((text) => JSON.parse(text).pid as number);
}
