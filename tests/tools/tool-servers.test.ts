/** Which servers there are: what a change of `tools.json` does to those that run, and what the end of the desktop does. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openScripted as open } from './scripted-servers.ts';

t.test('a change of tools.json counts at the next call, and touches only the servers that it changes', async (t) => {
  const { made, begin, rest, configure, admin, folder, lines } = await open(t, {
    servers: { files: { command: 'x' }, web: { command: 'y' } },
  });
  begin('files.read');
  begin('web.read');
  await rest(() => made.length === 2 && made.every(({ calls }) => calls.length === 1));
  const [files, web] = ['files', 'web'].map((name) => made.find(({ options }) => options.config.name === name)!);
  await configure({ files: { command: 'x' }, web: { command: 'y', args: ['--other'] }, more: { command: 'z' } });
  t.same(
    (await admin.list()).servers.map(({ name, state }) => [name, state]),
    [
      ['files', 'running'],
      ['web', 'running'],
      ['more', 'running'],
    ],
  );
  t.same([files!.closed, web!.closed], [false, true]);
  const state = begin('web.read');
  await rest(() =>
    made.some(
      ({ options, calls }) =>
        options.config.kind === 'stdio' && options.config.args[0] === '--other' && calls.length === 1,
    ),
  );
  t.equal(state.is, 'waiting');
  await writeFile(join(folder, 'tools.json'), '{"mcpServers": {"files"');
  const shown = await admin.list();
  t.match(shown.problems, [{ server: null, problem: /it is not JSON/ }]);
  t.equal(shown.servers.length, 3, 'half a file changes nothing');
  t.match(lines.at(-1), { event: 'tools.config-problem', fields: { problem: /it is not JSON/ } });
  await rm(join(folder, 'tools.json'));
  t.same((await admin.list()).servers, []);
  t.ok(made.every(({ closed }) => closed));
});

t.test('a call of a server that tools.json describes wrongly says what is wrong with it', async (t) => {
  const { call, configure } = await open(t, { servers: { files: { command: 'x', args: 'y' } } });
  await t.rejects(call('files.read'), { name: 'ToolRefused', message: /"files" is not usable: args: / });
  await configure('nonsense');
  await t.rejects(call('files.read'), { message: /"files" is not usable: it has no "mcpServers"/ });
});

t.test(
  'when the desktop ends, its servers do, also one that is just starting, and nothing is started any more',
  async (t) => {
    const gate = Promise.withResolvers<void>();
    const { made, begin, rest, tools, starts } = await open(t, {
      servers: { files: { command: 'x' }, web: { command: 'y' } },
      starts: (n) => (n === 2 ? gate.promise : Promise.resolve()),
    });
    const first = begin('files.read');
    await rest(() => made[0]?.calls.length === 1);
    const second = begin('web.read');
    await rest(() => starts() === 2);
    const closed = tools.close();
    gate.resolve();
    await closed;
    await rest(() => second.is !== 'waiting' && first.is !== 'waiting');
    t.ok(made.every((each) => each.closed));
    t.match(first.is, /"files" was ended by the desktop during the call/);
    const late = begin('files.read');
    await rest(() => late.is !== 'waiting');
    t.match(late.is, /was ended by the desktop/);
    t.equal(starts(), 2);
  },
);

t.test('a tool whose own name does not fit is listed as unusable', async (t) => {
  const { made, admin, begin, rest } = await open(t);
  begin();
  await rest(() => made[0]?.calls.length === 1);
  made[0]!.listed = ['read', 'has space', 'x'.repeat(129)];
  t.match((await admin.list()).servers[0]?.tools, [
    { name: 'files.read', problem: null },
    { name: 'files.has space', problem: /^its name does not fit: 1-128 letters/ },
    { problem: /does not fit/ },
  ]);
});
