/** `desktop tools`, `approvals`, `approve` and `deny`: what an owner is shown, and what is kept. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { approvalLines, serverLines } from '../../desktop-agent/command-line/tool-text.ts';
import type { OpenApproval } from '../../desktop-agent/tools/approvals.ts';
import type { ShownTools } from '../../desktop-agent/tools/tools-api.ts';
import { startDesktop, startWorld } from '../process/relay-world.ts';
import { expectProcesses, LIGHT, run, tempFolder } from '../process/support.ts';
import { oddServer } from '../tools/support.ts';

expectProcesses(t);

async function configure(data: string, servers: unknown): Promise<void> {
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: servers }));
}

function owner(t: Test, data: string) {
  return (...args: readonly string[]) => run(t, ['desktop', ...args, '--data', data]);
}

const SECRET = 'odd-secret-0123';

t.test('without a desktop that runs, servers are named and not started, and entries are kept', async (t) => {
  const data = await tempFolder(t);
  const desktop = owner(t, data);
  t.match(await desktop('tools'), {
    code: 0,
    stdout: '',
    stderr: /There are no tool servers yet: name them in .*desktop\/tools\.json\. `graph-relay/,
  });
  await configure(data, {
    odd: oddServer({ env: { ODD_SECRET: SECRET } }),
    web: { url: `http://127.0.0.1:9/mcp?key=${SECRET}` },
    bad: {},
  });
  t.match(await desktop('tools', 'deny', 'odd.*'), { code: 0, stdout: '', stderr: 'odd.*: deny from now on.\n' });
  t.match(await desktop('tools', 'allow', 'odd.pid', '--json'), {
    stdout: /^\{"pattern":"odd\.pid","rule":"allow","changed":true,"tools":null/,
  });
  t.match(await desktop('tools', 'allow', 'odd.pid'), { stderr: 'odd.pid: allow, as before.\n' });
  const shown = await desktop('tools');
  t.match(shown.stderr, /tools\.json, server "bad": give either "command"/);
  const lines = shown.stdout.split('\n');
  t.match(lines[0], /^odd \(stdio, .*node\) not started$/);
  t.match(lines.slice(1), [
    'web (http, http://127.0.0.1:9) not started',
    'Entries, the more specific ones first; a tool that none fits is asked about:',
    '  allow  odd.pid',
    '  deny   odd.*',
  ]);
  t.notMatch(shown.stdout + shown.stderr, SECRET);
  t.match(await desktop('tools', 'forget', 'odd.*'), { stderr: 'There is no entry for odd.* any more.\n' });
  t.match(await desktop('tools', 'forget', 'odd.*'), { stderr: 'There was no entry for odd.*.\n' });
  const { permissions } = JSON.parse((await desktop('tools', '--json')).stdout) as ShownTools;
  t.same(permissions, [{ pattern: 'odd.pid', rule: 'allow' }]);
});

t.test('a desktop that runs starts its servers to show their tools, each with what it may do', async (t) => {
  const world = await startWorld(t);
  await configure(world.data, { odd: oddServer({}, 'odd-names'), dies: oddServer({}, 'dies') });
  await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken, env: LIGHT });
  const desktop = owner(t, world.data);
  const first = JSON.parse((await desktop('tools', '--json')).stdout) as ShownTools;
  t.match(first.servers, [
    { name: 'odd', state: 'running', problem: null },
    { name: 'dies', state: 'failed', problem: /did not start: ended with exit code 7/, tools: null },
  ]);
  t.match(await desktop('tools', 'allow', 'odd.*'), {
    stderr: /^odd\.\*: allow from now on\. It stands for 6 tools now: odd\.has space, /,
  });
  t.match(await desktop('tools', 'deny', 'odd.nothing'), {
    stderr: /^odd\.nothing: deny from now on\. No tool of a server that runs now is called so\.\n$/,
  });
  const { stdout } = await desktop('tools');
  t.match(stdout, /^ {2}allow {2}odd\.fine\.name\/with-all_0$/m);
  t.match(stdout, /^ {2}unusable: odd\.has space: its name does not fit: 1-128 letters/m);
  t.match(stdout, /^dies \(stdio, .*\) FAILED: the tool server "dies" did not start: ended with exit code 7$/m);
});

t.test('what is no tool, and what does not wait, is refused with what to do', async (t) => {
  const data = await tempFolder(t);
  const desktop = owner(t, data);
  const refused = await desktop('tools', 'allow', 'files');
  t.match(refused, {
    code: 1,
    stderr: /"files" is no tool's name: expected server\.tool .* server\.\*, server\.read_\*, \*\. \[invalid-input\]/,
  });
  t.match(await desktop('tools', 'allow'), { code: 2, stderr: /missing required argument 'name'/ });
  t.match(await desktop('approvals'), {
    code: 0,
    stderr: 'The desktop does not run, so nothing waits for a decision.\n',
  });
  t.equal((await desktop('approvals', '--json')).stdout, '[]\n');
  t.match(await desktop('approve'), {
    code: 1,
    stderr: /The desktop does not run, so nothing waits\. \[invalid-input\]/,
  });
  t.match(await desktop('deny', '1a2b3c', '--for', 'ever'), {
    code: 2,
    stderr: /Allowed choices are call, run, always/,
  });
  const help = await desktop('approve', '--help');
  t.match(help.stdout, /graph-relay desktop approve 1a2b3c --for run/);
});

const QUESTION: OpenApproval = {
  approval: '1a2b3c',
  command_id: '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22',
  run_id: '11111111-1111-4111-8111-111111111111',
  tool: 'files.write_file',
  input: { path: 'a.txt' },
  asked_at_ms: 1_000,
};

t.test('a question shows its input as it is: nothing in it can hide, move the cursor or turn around', async (t) => {
  const lines = approvalLines(
    { ...QUESTION, input: { path: 'a\u001b[2K\u009b1A\u202etxt.exe\u200b', text: 'one\ntwo' } },
    73_000,
  );
  t.same(lines, [
    '1a2b3c  files.write_file  waits 1 min 12 s, for run 0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22',
    '  {',
    '    "path": "a\\u001b[2K\\u{9b}1A\\u{202e}txt.exe\\u{200b}",',
    '    "text": "one\\ntwo"',
    '  }',
  ]);
});

t.test('a long input says what is left out', async (t) => {
  const wide = approvalLines({ ...QUESTION, input: { text: 'x'.repeat(10_000) } }, 1_000);
  t.match(wide.at(-1), /^ {2}… 6,0\d\d more characters: --json shows them$/);
  const long = approvalLines({ ...QUESTION, input: { list: Array(100).fill(1) } }, 1_000);
  t.equal(long.length, 42);
  t.match(long.at(-1), /more characters/);
});

t.test('tools and their descriptions fit into 80 columns', async (t) => {
  const tool = (name: string, description: string) =>
    ({ name, description, permission: 'ask', set_by: null, problem: null }) as const;
  const tools = [
    tool('files.read_file', `Reads a file. ${'And more. '.repeat(30)}\nSecond line`),
    tool('files.write_file', ''),
    tool('files.odd', 'turns \u202earound'),
  ];
  const lines = serverLines({ name: 'files', kind: 'stdio', place: 'npx', state: 'running', problem: null, tools });
  t.same(
    lines.map((line) => line.length <= 80),
    [true, true, true, true],
  );
  t.match(lines[1], /^ {2}ask {2}files\.read_file {3}Reads a file\. And more\..*…$/);
  t.equal(lines[2], '  ask  files.write_file');
  t.match(lines[3], 'turns \\u{202e}around');
});
