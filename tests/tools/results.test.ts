/** What a Graph gets of what a tool gave. */
import t from 'tap';
import { toolValue } from '../../desktop-agent/tools/tool-result.ts';

type Content = Parameters<typeof toolValue>[1]['content'];

function value(content: unknown, more: object = {}, chars = 1_000_000) {
  return toolValue('a.b', { content: content as Content, ...more }, { resultChars: chars, clear: (text) => text });
}

const text = (words: string) => ({ type: 'text', text: words });
const IMAGE = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(300, 7).toString('base64') };

t.test('structured content comes as it is, whatever else there is', async (t) => {
  t.same(value([text('{"a":1}')], { structuredContent: { a: 1 } }), { a: 1 });
  t.same(value([], { structuredContent: [1, 2] }), [1, 2]);
  t.same(value([text('null')], { structuredContent: null }), 'null', 'null is none');
});

t.test('texts are one text, and nothing is null', async (t) => {
  t.equal(value([text('one')]), 'one');
  t.equal(value([text('one'), text('two')]), 'one\ntwo');
  t.equal(value([]), null);
  t.equal(value(undefined), null);
});

t.test('what is no text is told by what it was, and not carried', async (t) => {
  const parts = value([
    text('see'),
    IMAGE,
    { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
    { type: 'resource_link', uri: 'file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'file:///b', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///c', blob: 'AAAAAA==' } },
    { type: 'hologram', data: 'x' },
  ]);
  t.same(parts, [
    'see',
    { type: 'image', mime_type: 'image/png', bytes: 300 },
    { type: 'audio', mime_type: 'audio/wav', bytes: 3 },
    { type: 'resource_link', uri: 'file:///a', name: 'a', mime_type: null },
    { type: 'resource', uri: 'file:///b', mime_type: 'text/plain', text: 'inside' },
    { type: 'resource', uri: 'file:///c', mime_type: null, bytes: 4 },
    { type: 'hologram' },
  ]);
});

t.test('a tool that failed is an error with its words', async (t) => {
  const isError = true;
  t.throws(() => value([text('no such file'), text('really')], { isError }), { message: 'no such file\nreally' });
  t.throws(() => value([], { isError }), { message: 'the tool failed without a reason' });
  t.throws(() => value([IMAGE], { isError }), /"bytes":300/);
  t.throws(() => value([], { isError, structuredContent: { code: 7 } }), { message: '{"code":7}' });
  t.throws(() => value([text('x'.repeat(9_000))], { isError }), { message: /^x{1999}…$/ });
});

t.test('a result is bounded, and the message says by how much', async (t) => {
  t.equal(String(value([text('x'.repeat(98))], {}, 100)).length, 98);
  t.throws(
    () => value([text('x'.repeat(99))], {}, 100),
    /^a\.b gave 101 characters of JSON, and 100 are taken: ask it for less/,
  );
  let deep: unknown = 1;
  for (let n = 0; n < 65; n++) deep = [deep];
  t.throws(() => value([], { structuredContent: deep }), /more than 64 levels/);
});

t.test('characters that not every reader takes are replaced', async (t) => {
  t.equal(value([text('a\0b\ud800c')]), 'a\ufffdb\ufffdc');
});
