/** Graphs in a real folder: a session's identity survives edits, renames and restarts, and no file can take another's. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { FolderLibrary } from '../../desktop-agent/folder-library.ts';
import { sharedPart } from '../../desktop-agent/graph-library.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { sharedSessionSchema } from '../../protocol/schemas.ts';

const ports = {
  clock: new VirtualClock(),
  random: seededRandom(1),
  ids: seededIds(seededRandom(2)),
  log: { debug() {}, info() {}, warn() {}, error() {} },
};

function graph(name: string, body = 'return 1;', more = ''): string {
  return `export const meta = { name: '${name}'${more} };\n${body}\n`;
}

async function setUp(t: Test, files: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'graphs-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const put = (name: string, text: string) => writeFile(join(folder, name), text);
  for (const [name, text] of Object.entries(files)) await put(name, text);
  const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES });
  const library = new FolderLibrary({ folder, store, ports });
  await library.scan();
  const only = () => {
    const [session, ...others] = library.list();
    if (session === undefined || others.length > 0) throw new Error(`${library.list().length} sessions`);
    return session;
  };
  return { folder, store, library, put, only, path: (name: string) => join(folder, name) };
}

t.test('each file is a session, named by itself', async (t) => {
  const { library } = await setUp(t, {
    'b.js': graph('Bee', 'return 2;', ", description: 'buzzes', slug: 'the-bee'"),
    'a.js': graph('Ay'),
  });
  t.match(library.list(), [
    { name: 'Ay', slug: 'a', description: '', version: 1, status: 'ready', file_name: 'a.js', problem: null },
    { name: 'Bee', slug: 'the-bee', description: 'buzzes' },
  ]);
  t.match(library.list()[0]?.graph_session_id, /^gs_[0-9a-f]{32}$/);
});

t.test('an edit counts a version up and keeps the identity; a look without an edit changes nothing', async (t) => {
  const { library, put, only } = await setUp(t, { 'a.js': graph('Ay') });
  const before = only();
  t.equal(await library.scan(), false);
  await put('a.js', graph('Ay again', 'return 2;'));
  t.equal(await library.scan(), true);
  t.match(only(), { graph_session_id: before.graph_session_id, version: 2, name: 'Ay again' });
  t.equal(await library.scan(), false);
});

t.test('identity and version survive a restart', async (t) => {
  const { folder, store, put, only, library } = await setUp(t, { 'a.js': graph('Ay') });
  await put('a.js', graph('Ay', 'return 2;'));
  await library.scan();
  const restored = createMemoryState<DesktopTables>({ restore: store.crash() });
  const reborn = new FolderLibrary({ folder, store: restored, ports });
  await reborn.scan();
  t.same(reborn.list(), [only()]);
});

t.test('a rename keeps the identity and is no new version', async (t) => {
  const { library, path, only } = await setUp(t, { 'a.js': graph('Ay', 'return 1;', ", slug: 'ay'") });
  const before = only();
  await rename(path('a.js'), path('b.js'));
  await library.scan();
  t.same(only(), { ...before, file_name: 'b.js' });
});

t.test('a file that is gone for a moment is the same session when it is back, edited or not', async (t) => {
  const { library, path, put, only } = await setUp(t, { 'a.js': graph('Ay') });
  const before = only();
  await rm(path('a.js'));
  await library.scan();
  t.same(library.list(), []);
  t.equal(await library.load(before.graph_session_id), null);
  await put('a.js', graph('Ay', 'return 2;'));
  await library.scan();
  t.match(only(), { graph_session_id: before.graph_session_id, version: 2 });
});

t.test('two files with the same content are two sessions', async (t) => {
  const { library, path } = await setUp(t, { 'a.js': graph('Same'), 'b.js': graph('Same') });
  const idOf = (file: string) => library.list().find(({ file_name }) => file_name === file)?.graph_session_id;
  const [a, b] = [idOf('a.js'), idOf('b.js')];
  t.not(a, b);
  await rename(path('a.js'), path('c.js'));
  await library.scan();
  t.equal(idOf('c.js'), a);
  t.equal(idOf('b.js'), b, 'the copy keeps its own');
});

t.test('of two new files with the content of one that is gone, one takes its identity and not both', async (t) => {
  const { library, path, put, only } = await setUp(t, { 'a.js': graph('Same') });
  const before = only().graph_session_id;
  await rm(path('a.js'));
  await put('b.js', graph('Same'));
  await put('c.js', graph('Same'));
  await library.scan();
  const ids = library.list().map(({ graph_session_id }) => graph_session_id);
  t.equal(ids.length, 2);
  t.equal(new Set(ids).size, 2, 'no identity twice');
  t.ok(ids.includes(before));
});

t.test('two looks at once give each new file one identity, which stays', async (t) => {
  const { library, store, put } = await setUp(t);
  for (const name of ['a', 'b', 'c']) await put(`${name}.js`, graph(name));
  await Promise.all([library.scan(), library.scan(), library.scan()]);
  t.equal(store.rows('session').size, 3);
  const before = library.list();
  await library.scan();
  t.same(library.list(), before);
});

t.test('a file that does not parse is listed as broken, under the name and slug that it had', async (t) => {
  const { library, put, only } = await setUp(t, { 'a.js': graph('Ay', 'return 1;', ", slug: 'ay'") });
  const before = only();
  await put('a.js', 'export const meta = { name: ');
  await library.scan();
  t.match(only(), { ...before, version: 2, status: 'broken', problem: String });
  await put('a.js', graph('Ay', 'return 2;', ", slug: 'ay'"));
  await library.scan();
  t.match(only(), { graph_session_id: before.graph_session_id, version: 3, status: 'ready', problem: null });
});

t.test('a file that never parsed is listed under its file name', async (t) => {
  const { only } = await setUp(t, { 'My Graph!.js': 'not a graph' });
  t.match(only(), { name: 'My Graph!', slug: 'my-graph', status: 'broken' });
});

t.test('a huge file and an empty one are listed as broken, and neither takes the identity of the other', async (t) => {
  const { library, path, put, only } = await setUp(t, { 'huge.js': `${graph('Huge')}//${'x'.repeat(1024 * 1024)}` });
  const huge = only();
  t.match(huge, { status: 'broken', problem: /larger than 1048576 bytes/ });
  await rm(path('huge.js'));
  await put('empty.js', '');
  await library.scan();
  t.match(only(), { status: 'broken', file_name: 'empty.js' });
  t.not(only().graph_session_id, huge.graph_session_id);
});

t.test('whatever is no Graph file is not listed', async (t) => {
  const { library, path } = await setUp(t, {
    'a.mjs': graph('M'),
    'b.ts': graph('T'),
    'c.txt': graph('X'),
    '.hidden.js': graph('H'),
    noext: graph('N'),
    'e.JS': graph('E'),
  });
  await mkdir(path('folder.js'));
  await symlink('/nowhere/at/all.js', path('dangling.js'));
  await library.scan();
  t.same(
    library.list().map(({ file_name }) => file_name),
    [],
  );
});

t.test('names of the language are names like any other (C121)', async (t) => {
  const names = ['__proto__.js', 'constructor.js', 'toString.js', 'hasOwnProperty.js', ' .js'];
  const { library } = await setUp(t, Object.fromEntries(names.map((name) => [name, graph(`Graph ${name}`)])));
  const files = library.list().map(({ file_name }) => file_name);
  t.same([...files].sort(), [...names].sort());
  for (const session of library.list()) {
    t.ok((await library.load(session.graph_session_id))?.source.includes(session.file_name));
    t.equal(library.find(session.file_name)?.graph_session_id, session.graph_session_id);
  }
  for (const name of ['__proto__', 'constructor', 'toString', '']) t.equal(await library.load(name), null);
  t.equal(library.find('valueOf'), null);
});

t.test('whatever a file is called or says, what goes to the relay fits its schema (C118)', async (t) => {
  const { library } = await setUp(t, {
    [`${'long'.repeat(62)}.js`]: 'broken',
    [`${'ok'.repeat(120)}.js`]: graph('Fine'),
    'wide.js': graph('W'.repeat(200), 'return 1;', `, description: '${'d'.repeat(2_000)}'`),
    'nul.js': graph('a\\0b', 'return 1;', ", description: '\\0'"),
    'only-nul.js': graph('\\0'),
    'lone.js': graph('\\ud800', 'return 1;', ", description: '\\udc00'"),
    '漢字.js': 'broken',
    'tab\tline\n.js': 'broken',
  });
  t.equal(library.list().length, 8);
  for (const session of library.list()) {
    const parsed = sharedSessionSchema.safeParse(sharedPart(session));
    t.ok(parsed.success, `${JSON.stringify(session.file_name.slice(0, 20))} ${parsed.error?.message ?? ''}`);
  }
});

t.test('a session is found by id in any case, by slug, by file name, and never by half of one', async (t) => {
  const { library } = await setUp(t, {
    'a.js': graph('Ay', 'return 1;', ", slug: 'twin'"),
    'b.js': graph('Bee', 'return 1;', ", slug: 'twin'"),
    'c.js': graph('Sea', 'return 1;', ", slug: 'alone'"),
  });
  const c = library.list()[2]!;
  for (const reference of [c.graph_session_id, c.graph_session_id.toUpperCase(), 'alone', 'c.js', './graphs/c.js']) {
    t.equal(library.find(reference)?.file_name, 'c.js', reference);
  }
  t.equal(library.find('twin'), null, 'two of one slug are none');
  for (const reference of ['', 'alo', c.graph_session_id.slice(0, 20), 'c', '.js'])
    t.equal(library.find(reference), null);
});

t.test('what is loaded is what the file says at that moment', async (t) => {
  const { library, put, only } = await setUp(t, { 'a.js': graph('Ay') });
  const id = only().graph_session_id;
  const edited = graph('Ay', 'return 42;', ", slug: 'renamed'");
  await put('a.js', edited);
  t.same(await library.load(id), { name: 'a.js', source: edited });
  t.match(only(), { version: 2, slug: 'renamed' }, 'and the list knows, so that consent is checked against it');
});

t.test(
  'the schema of the arguments is shared, kept while the file is broken, and gone when the Graph has none',
  async (t) => {
    const schema = "{ type: 'object', properties: { to: { type: 'string' } } }";
    const { put, only, library } = await setUp(t, { 'a.js': graph('Ay', 'return 1;', `, arguments: ${schema}`) });
    const expected = { type: 'object', properties: { to: { type: 'string' } } };
    t.same(only().arguments_schema, expected);
    await put('a.js', 'no Graph');
    await library.scan();
    t.match(only(), { status: 'broken', arguments_schema: expected });
    await put('a.js', graph('Ay'));
    await library.scan();
    t.notOk('arguments_schema' in only());
  },
);
