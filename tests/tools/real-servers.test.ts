/** The tool servers that people have: from npm, unmodified, over standard input and output and over HTTP. */
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { expectProcesses, isAlive, Running, tempFolder, until } from '../process/support.ts';
import { areInstalled, entryOf, programOf } from './programs.ts';
import { createBench } from './support.ts';

expectProcesses(t);

async function folderWithFiles(t: Test): Promise<string> {
  const folder = join(await tempFolder(t), 'files');
  await mkdir(folder);
  await writeFile(join(folder, 'a.txt'), 'first\nsecond\n');
  return folder;
}

t.test('server-filesystem reads, writes and lists what it may, and says no to the rest', async (t) => {
  if (!areInstalled(t)) return;
  const folder = await folderWithFiles(t);
  const { call, admin } = await createBench(t, { servers: { files: entryOf('server-filesystem', folder) } });
  const path = join(folder, 'a.txt');
  t.strictSame(await call('files.read_text_file', { path }), { content: 'first\nsecond\n' });
  await call('files.write_file', { path: join(folder, 'b.txt'), content: 'written by a Graph' });
  t.equal(await readFile(join(folder, 'b.txt'), 'utf8'), 'written by a Graph');
  t.match(await call('files.list_directory', { path: folder }), { content: /\[FILE\] a\.txt\n\[FILE\] b\.txt/ });
  await t.rejects(
    call('files.read_text_file', { path: '/etc/hostname' }),
    /Access denied - path outside allowed directories/,
  );
  await t.rejects(call('files.read_text_file', {}), /Invalid arguments for tool read_text_file/);
  const [server] = (await admin.list()).servers;
  t.match(
    server?.tools?.find(({ name }) => name === 'files.read_text_file'),
    { description: /^Read the complete contents of a file/, permission: 'allow', set_by: '*', problem: null },
  );
});

t.test('a large file is refused with how large it was, and the next call works', async (t) => {
  if (!areInstalled(t)) return;
  const folder = await folderWithFiles(t);
  const { call } = await createBench(t, { servers: { files: entryOf('server-filesystem', folder) } });
  for (const [file, chars] of [
    ['large.txt', 3_000_000],
    ['huge.txt', 20_000_000],
  ] as const) {
    await writeFile(join(folder, file), 'x'.repeat(chars));
  }
  await t.rejects(
    call('files.read_text_file', { path: join(folder, 'large.txt') }),
    /gave 30000\d\d characters of JSON, and 1000000 are taken/,
  );
  await t.rejects(
    call('files.read_text_file', { path: join(folder, 'huge.txt') }),
    /sent a message of more than 16777216 bytes/,
  );
  t.strictSame(await call('files.read_text_file', { path: join(folder, 'a.txt'), head: 1 }), { content: 'first' });
});

/** server-everything over Streamable HTTP, as a process of its own. */
async function everythingOverHttp(t: Test): Promise<{ url: string; process: Running }> {
  const port = await freePort();
  const child = spawn(process.execPath, [programOf('server-everything'), 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const running = new Running(child);
  t.teardown(() => running.end('SIGKILL'));
  await until('the server to listen', () => /listening on port/.test(running.stderr + running.stdout));
  return { url: `http://127.0.0.1:${port}/mcp`, process: running };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

for (const kind of ['stdio', 'http'] as const) {
  t.test(
    `server-everything gives texts, structures, pictures, resources, and works for long, over ${kind}`,
    async (t) => {
      if (!areInstalled(t)) return;
      const entry =
        kind === 'stdio' ? entryOf('server-everything', 'stdio') : { url: (await everythingOverHttp(t)).url };
      const { call } = await createBench(t, { servers: { every: entry } });
      t.equal(await call('every.echo', { message: 'hi' }), 'Echo: hi');
      t.equal(await call('every.get-sum', { a: 40, b: 2 }), 'The sum of 40 and 2 is 42.');
      t.match(await call('every.get-structured-content', { location: 'New York' }), {
        temperature: Number,
        conditions: String,
      });
      t.match(await call('every.get-tiny-image'), [
        /image/,
        { type: 'image', mime_type: 'image/png', bytes: Number },
        /MCP logo/,
      ]);
      t.match(await call('every.get-resource-reference', { resourceType: 'Text', resourceId: 1 }), [
        /resource/i,
        { type: 'resource', text: /plaintext resource/ },
        /URI/,
      ]);
      t.match(
        await call('every.trigger-long-running-operation', { duration: 1, steps: 4 }),
        /completed. Duration: 1 seconds/,
      );
    },
  );
}

t.test('server-everything over HTTP is found again after it was started anew', async (t) => {
  if (!areInstalled(t)) return;
  const first = await everythingOverHttp(t);
  const { call, configure } = await createBench(t, { servers: { every: { url: first.url } } });
  t.equal(await call('every.echo', { message: 'one' }), 'Echo: one');
  await first.process.end('SIGKILL');
  await t.rejects(call('every.echo', { message: 'two' }), /"every" could not be asked: .*ECONNREFUSED/);
  await configure({ every: { url: (await everythingOverHttp(t)).url } });
  t.equal(await call('every.echo', { message: 'three' }), 'Echo: three');
});

t.test('a shell that starts the server, as npx does, ends with it', async (t) => {
  if (!areInstalled(t)) return;
  const folder = await folderWithFiles(t);
  const pids = join(folder, 'pids');
  const { command, args } = entryOf('server-filesystem', folder);
  // With its own input: a program in the background would have none.
  const script = `echo $$ > ${pids}; exec 3<&0; "$@" <&3 & echo $! >> ${pids}; wait`;
  const entry = { command: 'sh', args: ['-c', script, 'sh', command, ...args] };
  const { call, tools } = await createBench(t, { servers: { files: entry }, limits: { stopGraceMs: 100 } });
  await call('files.read_text_file', { path: join(folder, 'a.txt') });
  const [shell, server] = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
  t.ok(isAlive(shell!) && isAlive(server!));
  await tools.close();
  await until('both to be gone', () => !isAlive(shell!) && !isAlive(server!));
});
