/** The log of a desktop as a file: bounded, found by `desktop logs`, followed while it is written. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { LogFile, previousLogFile } from '../../protocol/host/log-file.ts';
import { LogTail } from '../../protocol/host/log-tail.ts';
import { startDesktop, startWorld } from '../process/relay-world.ts';
import { COMMAND, cleanEnvironment, expectProcesses, launch, run, tempFolder, until } from '../process/support.ts';
import { onTerminal } from './support.ts';

expectProcesses(t);

t.test(
  'the log of a desktop that runs without a terminal is shown to a person, as JSON, and while it goes on',
  async (t) => {
    const world = await startWorld(t);
    const { data, url, desktopToken } = world;
    const args = ['desktop', 'logs', '--data', data];
    t.match(await run(t, args), { code: 0, stdout: '', stderr: /There is nothing in .*desktop\.log yet/ });
    const following = launch(t, [...args, '-f']);
    await until('the one that follows', () => following.stderr !== '');

    const desktop = await startDesktop(t, { data, url, token: desktopToken });
    await until('the connection, live', () => /INFO: relay\.connected/.test(following.stdout));
    await desktop.end();
    await until('the end, live', () => /desktop\.stopped/.test(following.stdout));

    const json = await run(t, [...args, '--json', '-n', '1000']);
    t.equal(json.stdout, desktop.stdout, 'line for line what went to standard output');
    t.equal((await stat(join(data, 'desktop', 'desktop.log'))).mode & 0o777, 0o600);
    const last = await run(t, [...args, '-n', '2']);
    t.match(
      last.stdout,
      /^\[[\d-]+ [\d:.]+\] INFO: desktop\.stopping\n {4}reason: "stopped"\n\[.*INFO: desktop\.stopped\n$/,
    );
    t.match(await run(t, [...args, '-n', 'all']), { code: 2, stderr: /It must be a whole number/ });
  },
);

t.test('what somebody wrote into a log does not steer the terminal of its reader', async (t) => {
  const data = await tempFolder(t);
  await mkdir(join(data, 'desktop'));
  const line = { level: 'warn', time: '2026-01-01T00:00:00.000Z', event: 'x', reason: '\u001b[2Jgone\u009b31m' };
  await writeFile(join(data, 'desktop', 'desktop.log'), `${JSON.stringify(line)}\n`);
  const program = [process.execPath, COMMAND, 'desktop', 'logs', '--data', data];
  const { screen } = await onTerminal(t, program, { env: { ...cleanEnvironment(), NO_COLOR: '1' } }).ended;
  t.match(screen, 'gone');
  for (const steering of ['\u001b', '\u009b']) t.notMatch(screen, steering);
});

t.test('a log file is bounded: when it is full it becomes the one before, and a reader misses nothing', async (t) => {
  const path = join(await tempFolder(t), 'new', 'x.log');
  const line = (n: number) => `line ${String(n).padStart(4, '0')}`;
  const file = new LogFile(path, 100);
  const tail = new LogTail(path);
  t.same(tail.last(5), [], 'there is no file yet');
  const seen: string[] = [];
  for (let n = 0; n < 50; n++) {
    file.write(`${line(n)}\n`);
    // Not after each line: the file is taken up between two looks.
    if (n % 7 === 0) seen.push(...tail.news());
  }
  seen.push(...tail.news());
  t.same(
    seen,
    Array.from({ length: 50 }, (_, n) => line(n)),
  );
  for (const each of [path, previousLogFile(path)]) t.ok((await stat(each)).size <= 100);
  t.same(new LogTail(path).last(3), [47, 48, 49].map(line));
  t.same(
    new LogTail(path).last(12),
    Array.from({ length: 12 }, (_, n) => line(n + 38)),
    'over both files',
  );

  file.close();
  const again = new LogFile(path, 100);
  again.write('half');
  t.same(tail.news(), [], 'half a line waits for its other half');
  again.write(' and half\n');
  t.same(tail.news(), ['half and half'], 'a file of an earlier process is written on');
  again.close();
  tail.close();
});

t.test('a log file that cannot be written is told of once, and nothing else happens', async (t) => {
  const folder = await tempFolder(t);
  await writeFile(join(folder, 'file'), '');
  const said: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (text: unknown) => said.push(String(text)) > 0;
  const file = new LogFile(join(folder, 'file', 'x.log'));
  file.write('one\n');
  file.write('two\n');
  process.stderr.write = write;
  t.equal(said.length, 1);
  t.match(said[0], /x\.log cannot be written \(.*\), so lines of the log are missing there/);
  t.equal(await readFile(join(folder, 'file'), 'utf8'), '');
});
