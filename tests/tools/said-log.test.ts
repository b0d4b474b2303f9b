/** What a server says on standard error, and what an owner is shown of what others wrote. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { SaidLog } from '../../desktop-agent/tools/said-log.ts';
import { Secrets } from '../../desktop-agent/tools/secrets.ts';
import { oneLine, shownLines } from '../../desktop-agent/tools/shown-text.ts';
import type { LogFields } from '../../protocol/ports.ts';

function open(limits = { saidChars: 100, saidLines: 5 }) {
  const clock = new VirtualClock();
  const lines: [event: string, fields: LogFields][] = [];
  const write = (event: string, fields: LogFields = {}) => void lines.push([event, fields]);
  const log = { debug: write, info: write, warn: write, error: write };
  const secrets = new Secrets();
  secrets.addValue('TOKEN', 'very-secret-1');
  const said = new SaidLog({ server: 'files', secrets, clock, log, limits });
  return { clock, said, lines, texts: () => lines.flatMap(([, fields]) => (fields.said ? [fields.said] : [])) };
}

t.test('lines come as they end, in whatever pieces they came, and the last one at the end', async (t) => {
  const { said, texts } = open();
  for (const piece of ['one\ntw', 'o\r\n', '\n', 'thr', 'ee']) said.take(piece);
  t.same(texts(), ['one', 'two']);
  said.end();
  t.same(texts(), ['one', 'two', 'three']);
});

t.test('a secret is cleared also where a line was cut into pieces, or is cut off', async (t) => {
  const { said, texts } = open({ saidChars: 20, saidLines: 5 });
  said.take('token very-sec');
  said.take('ret-1 is mine\n');
  said.take(`${'x'.repeat(14)} very-secret-1\n`);
  t.same(texts(), ['token [redacted] is…', `${'x'.repeat(14)} [red…`]);
});

t.test('a flood is cut to so many lines a minute, and counted', async (t) => {
  const { clock, said, lines, texts } = open();
  for (let n = 1; n <= 12; n++) said.take(`line ${n}\n`);
  t.equal(texts().length, 5);
  await clock.advance(60_000);
  said.take('later\n');
  t.same(lines.at(-2), ['tool-server.said-too-much', { server: 'files', lines_left_out: 7 }]);
  t.same(texts().at(-1), 'later');
});

t.test('a line without an end is kept to its first part', async (t) => {
  const { said, texts } = open({ saidChars: 1_000_000, saidLines: 5 });
  for (let n = 0; n < 100; n++) said.take('y'.repeat(64 * 1024));
  said.take('\n');
  t.same(
    texts().map((text) => String(text).length),
    [16 * 1024],
  );
});

t.test('what would move the cursor, hide or turn around is shown as what it is', async (t) => {
  t.equal(
    oneLine('a\u001b[2Jb\rc\u009bd\u202ee\u200bf\u2028g\0'),
    'a\\u{1b}[2Jb\\u{d}c\\u{9b}d\\u{202e}e\\u{200b}f\\u{2028}g\\u{0}',
  );
  t.equal(oneLine('Grüße 日本 👍'), 'Grüße 日本 👍');
  t.same(shownLines('a\tb\nc'), ['a\\u{9}b', 'c']);
});
