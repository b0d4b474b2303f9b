/** What logind says, through a program in gdbus's place: a real process, with what real ones print. */
import t, { type Test } from 'tap';
import { watchSleep } from '../../desktop-agent/sleep-watch.ts';
import type { LogFields } from '../../protocol/ports.ts';

const MANAGER = '/org/freedesktop/login1: org.freedesktop.login1.Manager';

/** The words that a program's output leads to, until it has ended or `count` have come. */
function watching(t: Test, program: string, count = Number.POSITIVE_INFINITY) {
  const words: string[] = [];
  const lines: { event: string; fields: LogFields | undefined }[] = [];
  const done = Promise.withResolvers<void>();
  const line = (event: string, fields?: LogFields) => {
    lines.push({ event, fields });
    done.resolve();
  };
  const say = (word: string) => () => {
    words.push(word);
    if (words.length >= count) done.resolve();
  };
  const stop = watchSleep({
    log: { debug: line, info: line, warn: line, error: line },
    onSleep: say('sleep'),
    onWake: say('wake'),
    command: [process.execPath, '--eval', program],
  });
  t.teardown(stop);
  return { words, lines, done: done.promise, stop };
}

function printing(...chunks: string[]): string {
  return `for (const chunk of ${JSON.stringify(chunks)}) require('node:fs').writeSync(1, chunk);`;
}

const STAY = 'setInterval(() => {}, 1_000);';

t.test('a sleep and a wake are heard, among all else that logind says, however it is cut', async (t) => {
  const program = printing(
    'Monitoring signals from all objects owned by org.freedesktop.login1\n',
    'The name org.freedesktop.login1 is owned by :1.7\n',
    `${MANAGER}.SessionNew ('3', objectpath '/org/freedesktop/login1/session/_33')\n`,
    `${MANAGER}.PrepareForShutdown (true,)\n`,
    `${MANAGER}.Prepare`,
    'ForSleep (tr',
    'ue,)\n',
    `${MANAGER}.PrepareForSleep (true,)\n`,
    `${MANAGER}.PrepareForSleep (false,)\r\n${MANAGER}.PrepareForSleep (true,)\n`,
  );
  const { words, lines, done } = watching(t, program + STAY, 3);
  await done;
  t.strictSame(words, ['sleep', 'wake', 'sleep']);
  t.strictSame(lines, []);
});

t.test('nothing else counts as the word, whoever can put it into a signal', async (t) => {
  const { words, done } = watching(
    t,
    printing(
      `${MANAGER}.SessionNew ('${MANAGER}.PrepareForSleep (true,)',)\n`,
      `  ${MANAGER}.PrepareForSleep (true,)\n`,
      `/org/other: org.freedesktop.login1.Manager.PrepareForSleep (true,)\n`,
      `${MANAGER}.PrepareForSleep (true, 'x')\n`,
      `${MANAGER}.PrepareForSleepWithMetadata (true, {})\n`,
      `${MANAGER}.PrepareForSleep (false,)\n`,
      `${'x'.repeat(200_000)}\n`,
    ),
  );
  await done;
  t.strictSame(words, []);
});

t.test('a program that finds no bus leaves one quiet line with its own words', async (t) => {
  const { words, lines, done } = watching(
    t,
    "process.stderr.write('Error connecting: Could not connect: No such file or directory\\n'); process.exitCode = 1;",
  );
  await done;
  t.strictSame(words, []);
  t.strictSame(lines, [
    {
      event: 'sleep.not-watched',
      fields: { reason: 'Error connecting: Could not connect: No such file or directory' },
    },
  ]);
});

t.test('a program that is not there leaves one quiet line', async (t) => {
  const done = Promise.withResolvers<void>();
  const lines: unknown[] = [];
  const line = (event: string, fields?: LogFields) => {
    lines.push([event, fields]);
    done.resolve();
  };
  const log = { debug: line, info: line, warn: line, error: line };
  const stop = watchSleep({ log, onSleep() {}, onWake() {}, command: ['graph-relay-no-such-program'] });
  await done.promise;
  stop();
  t.match(lines, [['sleep.not-watched', { reason: /ENOENT/ }]]);
});

t.test('a system without one starts nothing', async (t) => {
  const lines: string[] = [];
  const line = (event: string) => void lines.push(event);
  const log = { debug: line, info: line, warn: line, error: line };
  watchSleep({ log, onSleep() {}, onWake() {}, command: null })();
  t.strictSame(lines, []);
});
