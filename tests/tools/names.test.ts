import t from 'tap';
import { isOwnName, isPattern, isServerName, matches, parseToolName } from '../../desktop-agent/tools/tool-names.ts';

t.test('a tool is called server.tool, and the first dot parts the two', async (t) => {
  t.same(parseToolName('files.read_file'), { server: 'files', own: 'read_file' });
  t.same(parseToolName('git-hub_2.repos/list.all'), { server: 'git-hub_2', own: 'repos/list.all' });
  t.same(parseToolName('__proto__.constructor'), { server: '__proto__', own: 'constructor' });
  for (const name of [
    '',
    '.',
    'files',
    'files.',
    '.read',
    'a b.c',
    'a.b c',
    'a.*',
    'ä.b',
    'a.b\n',
    `a.${'b'.repeat(129)}`,
  ]) {
    t.equal(parseToolName(name), null, JSON.stringify(name));
  }
});

t.test('names that could be taken for another, or not be typed, are none', async (t) => {
  for (const name of ['a.b', 'a/b', 'a b', '', 'x'.repeat(65), '*']) t.notOk(isServerName(name), JSON.stringify(name));
  for (const name of ['a b', 'a*', '', 'x'.repeat(129), 'a\u202eb', 'a,b'])
    t.notOk(isOwnName(name), JSON.stringify(name));
});

t.test('a pattern is a name, or what it begins with and a star', async (t) => {
  for (const pattern of ['*', 'files.*', 'files.read_*', 'files.read_file', 'files.a.b/*'])
    t.ok(isPattern(pattern), pattern);
  const none = ['', 'files', 'files.', 'fi*', '*.delete', '*.delete_*', 'files.*_file', 'a b.*', '**', '*\n', '.*'];
  for (const pattern of none) t.notOk(isPattern(pattern), JSON.stringify(pattern));
  for (const pattern of [`a.${'x'.repeat(129)}*`, `${'a'.repeat(65)}.*`]) t.notOk(isPattern(pattern), pattern);
});

const FITS: readonly (readonly [pattern: string, fitting: readonly string[], others: readonly string[]])[] = [
  ['*', ['a.b', 'files.read'], []],
  ['files.*', ['files.read', 'files.a.b'], ['files2.read', 'afiles.read', 'web.files.read']],
  ['files.read', ['files.read'], ['files.read_file', 'files.rea', 'xfiles.read']],
  ['files.read_*', ['files.read_', 'files.read_file'], ['files.read', 'files.reread_file']],
];

for (const [pattern, fitting, others] of FITS) {
  t.test(`${pattern} stands for what fits it, and for nothing else`, async (t) => {
    for (const tool of fitting) t.ok(matches(pattern, tool), tool);
    for (const tool of others) t.notOk(matches(pattern, tool), tool);
  });
}
