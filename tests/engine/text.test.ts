import t from 'tap';
import { cleanText } from '../../protocol/text.ts';

t.test('a text that fits and is clean stays as it is', async (t) => {
  t.equal(cleanText('pretty 😀 text\n', 100), 'pretty 😀 text\n');
  t.equal(cleanText('12345', 5), '12345');
});

t.test('a text that is cut has exactly the allowed length and ends in an ellipsis', async (t) => {
  t.equal(cleanText('123456', 5), '1234…');
  t.equal(cleanText('x'.repeat(5_000_000), 2_000).length, 2_000);
  t.equal(cleanText('ab', 1), '…');
  t.equal(cleanText('ab', 0), '');
});

t.test('a cut never separates a surrogate pair, wherever it falls (C112, C115)', async (t) => {
  for (let limit = 0; limit <= 12; limit += 1) {
    for (const start of ['', 'x']) {
      const cut = cleanText(start + '😀'.repeat(10), limit);
      t.ok(cut.isWellFormed(), `limit ${limit}`);
      t.ok(cut.length <= limit);
    }
  }
  t.equal(cleanText('😀😀😀', 4), '😀…');
});

t.test('NULs go and lone surrogates become replacement characters', async (t) => {
  t.equal(cleanText('a\0b\0', 10), 'ab');
  t.equal(cleanText('a\ud800b\udc00', 10), 'a\ufffdb\ufffd');
});

t.test('any value that can be thrown becomes a text (C116)', async (t) => {
  t.equal(cleanText(null, 50), 'null');
  t.equal(cleanText(undefined, 50), 'undefined');
  t.equal(cleanText(42n, 50), '42');
  t.equal(cleanText(Symbol('s'), 50), 'Symbol(s)');
  t.equal(cleanText(new TypeError('wrong'), 50), 'TypeError: wrong');
  t.equal(cleanText(new Error('plain'), 50), 'plain');
  t.equal(cleanText(new Error(''), 50), 'Error');
});

t.test('values that defend themselves do not make it throw (C116)', async (t) => {
  const bomb = () => {
    throw new Error('bomb');
  };
  const hostile: unknown[] = [
    { toString: bomb },
    { toString: () => ({}) },
    Object.create(null),
    {
      get message() {
        return bomb();
      },
    },
    { message: { toString: bomb } },
    new Proxy({}, { get: bomb, has: bomb }),
    new Proxy(new Error('x'), { get: bomb }),
  ];
  for (const value of hostile) {
    const text = cleanText(value, 100);
    t.type(text, 'string');
    t.ok(text.length > 0);
  }
});

t.test('of five thousand causes the first few are named, and a cycle of causes ends (C119)', async (t) => {
  let chain: Error | undefined;
  for (let depth = 5_000; depth > 0; depth -= 1) chain = new Error(`level ${depth}`, { cause: chain });
  t.equal(
    cleanText(chain, 2_000),
    'level 1, caused by: level 2, caused by: level 3, caused by: level 4, caused by: level 5',
  );
  const circular = new Error('round');
  circular.cause = circular;
  t.ok(cleanText(circular, 2_000).startsWith('round, caused by: round'));
});
