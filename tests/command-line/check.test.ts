/** `desktop check`: which files it looks at, how it says what it found, and its code. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { graphSource, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, LIGHT, run, tempFolder } from '../process/support.ts';
import { oddServer } from '../tools/support.ts';

expectProcesses(t);

function check(t: Test, data: string, ...args: string[]) {
  return run(t, ['desktop', 'check', ...args, '--data', data]);
}

t.test(
  'all Graphs of the folder are checked, each problem is one line with its place, and errors end with 1',
  async (t) => {
    const data = await tempFolder(t);
    const good = await writeGraph(data, 'good.js', graphSource('good', 'return 1;'));
    t.match(await check(t, data), { code: 0, stdout: '', stderr: '1 Graph checked, nothing found.\n' });
    const bad = await writeGraph(data, 'bad.js', graphSource('bad', 'agent("x");\nreturn Date.now();'));
    const { code, stdout, stderr } = await check(t, data);
    t.equal(code, 1);
    t.same(stdout.split('\n'), [
      `${bad}:2:1: warning: nobody waits for this: write \`await agent(…)\`, or the run may end before it does [not-awaited]`,
      `${bad}:3:8: error: \`Date\`: a Graph has no clock: pass the time in \`args\`, or ask an agent [forbidden]`,
      '',
    ]);
    t.equal(stderr, '2 Graphs checked: 1 error, 1 warning.\n');
    const json = JSON.parse((await check(t, data, '--json')).stdout);
    t.match(json, {
      ok: false,
      files: [
        { file: bad, ok: false, problems: [{ rule: 'not-awaited', line: 2, column: 1, severity: 'warning' }, {}] },
        { file: good, ok: true, problems: [] },
      ],
    });
  },
);

t.test(
  'Graphs are named by slug or path; warnings count when asked; a file that is missing says what there is',
  async (t) => {
    const data = await tempFolder(t);
    await writeGraph(data, 'a-file.js', graphSource('ask', 'agent("x");\nreturn 1;'));
    await writeGraph(data, 'bad.js', 'nothing');
    t.match(await check(t, data, 'ask'), { code: 0, stdout: /a-file\.js:2:1: warning/ });
    t.match(await check(t, data, 'ask', '--strict'), { code: 1 });
    await mkdir(join(data, 'drafts'));
    const draft = join(data, 'drafts', 'draft.js');
    await writeFile(draft, graphSource('draft', "return await graph('ask');"));
    t.match(await check(t, data, draft), { code: 0, stdout: '' }, 'a draft may call the Graphs of the desktop');
    t.match(await check(t, data, 'nobody'), {
      code: 1,
      stdout: '',
      stderr: /nobody cannot be read \(ENOENT\).*: ask, bad\./,
    });
  },
);

t.test('tools are looked up in the servers that are named, and asked of those of a desktop that runs', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken } = world;
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: { odd: oddServer() } }));
  const file = await writeGraph(
    data,
    'tools.js',
    `export const meta = { name: 'Tools', slug: 'tools',
  tools: ['odd.pid', 'odd.none', 'mail.send'] };
return await tool('odd.pid', {});\n`,
  );
  const noServer = `${file}:2:34: error: \`mail.send\`: there is no tool server \`mail\`; there is: odd [tool]`;
  t.match(
    await check(t, data),
    { code: 1, stdout: `${noServer}\n` },
    'what a server offers is not known while none runs',
  );

  await run(t, ['desktop', 'tools', 'deny', 'odd.pid', '--data', data]);
  await startDesktop(t, { data, url, token: desktopToken, env: LIGHT });
  t.same((await check(t, data)).stdout.split('\n'), [
    `${file}:2:11: warning: \`odd.pid\`: you let no Graph call it, so the call would be refused [tool]`,
    `${file}:2:22: error: no server offers \`odd.none\`; \`graph-relay desktop tools\` lists what there is [tool]`,
    noServer,
    '',
  ]);
});
