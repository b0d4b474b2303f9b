/** `desktop check`: which files it looks at, how it says what it found, and its code. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { graphSource, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, run, tempFolder } from '../process/support.ts';

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
