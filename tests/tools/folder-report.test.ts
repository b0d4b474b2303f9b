/** The sample that reads a folder: in the real engine, with the filesystem server from npm and a real program as its agent. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createCommandProvider } from '../../desktop-agent/engine/providers/command.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { runGraph, testEngine } from '../engine/support.ts';
import { expectProcesses, tempFolder } from '../process/support.ts';
import { areInstalled, entryOf } from './programs.ts';
import { createBench } from './support.ts';

expectProcesses(t);

const SAMPLE = new URL('../../desktop-agent/samples/folder-report.js', import.meta.url);
/** The last line of each prompt, in capitals. */
const PROGRAM = ['sh', '-c', 'tail -n 1 | tr a-z A-Z'];

t.test('the text files of a folder become a report, each read by a tool and summed up by an agent', async (t) => {
  if (!areInstalled(t)) return;
  const folder = join(await tempFolder(t), 'files');
  await mkdir(folder);
  await writeFile(join(folder, 'a.md'), '# Roof\nit leaks');
  await writeFile(join(folder, 'b.txt'), 'milk and bread');
  await writeFile(join(folder, 'c.png'), 'no text');
  const { tools } = await createBench(t, { servers: { files: entryOf('server-filesystem', folder) } });
  const provider = createCommandProvider({ command: PROGRAM, timeoutMs: 60_000, clock: systemClock });
  const outcome = await runGraph(testEngine(t, { provider, tools }), await readFile(SAMPLE, 'utf8'), {
    args: { folder },
  });
  t.match(outcome, { status: 'completed', error: null });
  t.same(JSON.parse(outcome.resultJson ?? ''), {
    report: 'B.TXT: MILK AND BREAD',
    files: [
      { name: 'a.md', note: 'IT LEAKS' },
      { name: 'b.txt', note: 'MILK AND BREAD' },
    ],
    tokens: outcome.totalTokens,
  });
  t.same(
    outcome.events.flatMap((event) => (event.type === 'tool_finished' ? [[event.tool, event.ok]] : [])),
    [
      ['files.list_directory', true],
      ['files.read_text_file', true],
      ['files.read_text_file', true],
    ],
  );
  const empty = await runGraph(testEngine(t, { provider, tools }), await readFile(SAMPLE, 'utf8'), { args: {} });
  t.match(empty, { status: 'failed', error: /folder/ }, 'a folder has to be named');
});
