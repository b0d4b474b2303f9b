/** The owner's agents with real processes: the command that shows and tries them, and a run from an MCP client to a service. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { chatAnswer, deadUrl, modelServer } from '../providers/model-servers.ts';
import { graphSource, shareOnline, startDesktop, startWorld, writeGraph } from './relay-world.ts';
import { expectProcesses, run, tempFolder, until } from './support.ts';

expectProcesses(t);

const KEY = 'key-0123456789-of-the-service';

async function writeAgents(
  data: string,
  agents: Record<string, object>,
  usual = Object.keys(agents)[0],
): Promise<void> {
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'agents.json'), JSON.stringify({ default: usual, agents }));
}

const local = (url: string, more: object = {}) => ({ type: 'openai-compatible', url, model: 'llama3.2', ...more });

/** What every file below the folder holds. */
async function everything(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map((file) => readFile(join(file.parentPath, file.name), 'utf8').catch(() => '')),
  );
  return texts.join('\n');
}

function agentsCommand(t: Test, args: readonly string[], env: Record<string, string> = {}) {
  return run(t, ['desktop', 'agents', ...args], { env });
}

t.test('the agents are listed: which is the default, where they are, and whether a key is there', async (t) => {
  const data = await tempFolder(t);
  const nothing = await agentsCommand(t, ['--data', data]);
  t.match(nothing, { code: 0, stdout: /^\* demo {2}scripted +only echoes\n$/, stderr: /There is no .*agents\.json/ });
  const agents = {
    local: local('http://127.0.0.1:11434/v1'),
    claude: { type: 'anthropic', model: 'claude-sonnet-4-5' },
    gpt: { type: 'openai', model: 'gpt-5-mini', api_key_env: 'MY_KEY' },
    secret: { type: 'openai', model: 'gpt-5-mini', key_command: ['secret-tool', 'lookup', 'service', 'openai'] },
    cc: { type: 'command', command: ['claude', '-p'] },
  };
  await writeAgents(data, agents, 'claude');
  const { code, stdout } = await agentsCommand(t, ['--data', data], { MY_KEY: KEY, ANTHROPIC_API_KEY: '' });
  t.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.match(lines[0], /^ {2}local {3}openai-compatible {2}llama3\.2 at http:\/\/127\.0\.0\.1:11434\/v1$/);
  t.match(
    lines[1],
    /^\* claude .* at https:\/\/api\.anthropic\.com\/v1 {2}key: the variable ANTHROPIC_API_KEY is NOT SET$/,
  );
  t.match(lines[2], /^ {2}gpt .*key: the variable MY_KEY$/);
  t.match(lines[3], /key: the command secret-tool$/);
  t.match(lines[4], /^ {2}cc .*claude -p$/);
  const json = JSON.parse(
    (await agentsCommand(t, ['--data', data, '--json'], { MY_KEY: KEY, ANTHROPIC_API_KEY: '' })).stdout,
  );
  t.match(json, [
    { name: 'local', default: false, type: 'openai-compatible', model: 'llama3.2', key: null },
    { name: 'claude', default: true, url: 'https://api.anthropic.com/v1', key: { there: false } },
    { name: 'gpt', key: { from: 'the variable MY_KEY', there: true } },
    { name: 'secret', key: { there: null } },
    { name: 'cc', command: ['claude', '-p'], url: null, key: null },
  ]);
  t.notMatch(stdout + JSON.stringify(json), KEY);
});

t.test('agents are tried: time, tokens, cost and the answer, or why there is none', async (t) => {
  const data = await tempFolder(t);
  const server = await modelServer(t, chatAnswer('ready', { usage: { prompt_tokens: 15, completion_tokens: 2 } }));
  await writeAgents(data, {
    local: local(server.url, { prices: { input: 1_000, output: 10_000 } }),
    gone: local(await deadUrl()),
    echo: { type: 'command', command: ['cat'] },
  });
  const all = await agentsCommand(t, ['--data', data, '--test']);
  t.equal(all.code, 1, 'one of them failed');
  t.match(all.stdout, /^local: ok, .+s, 17 tokens, \$0\.0350: ready$/m);
  t.match(all.stdout, /^gone: FAILED after .+s: agent "gone" finds nobody at .* \(connection refused\)/m);
  t.match(all.stdout, /^echo: ok, .+s, \d+ tokens: Answer with/m);
  const one = await agentsCommand(t, ['--data', data, '--test', 'local:other', '--json']);
  t.equal(one.code, 0);
  t.match(JSON.parse(one.stdout), [
    { name: 'local:other', ok: true, tokens: 17, cost_usd: 0.035, answer: 'ready', error: null },
  ]);
  t.equal(server.asked.at(-1)?.body.model, 'other');
  const none = await agentsCommand(t, ['--data', data, '--test', 'gpt']);
  t.match(none, { code: 1, stdout: /^gpt: FAILED .*there is no agent "gpt"\. This desktop has local, gone, echo/ });
});

t.test('a Graph that is run here, without the relay, has the same agents', async (t) => {
  const data = await tempFolder(t);
  const server = await modelServer(t, chatAnswer('from the service'));
  await writeAgents(data, { local: local(server.url) });
  const file = await writeGraph(data, 'here.js', graphSource('here', "return await agent('hi');"));
  const here = (...args: string[]) => run(t, ['desktop', 'run', file, '--data', data, '--quiet', ...args]);
  t.match(await here(), { code: 0, stdout: 'from the service\n' });
  t.match(await here('--agent-command', 'cat'), { code: 0, stdout: 'hi\n' }, 'a command wins');
  t.equal(server.asked.length, 1);
});

t.test('a file that cannot be used: no start, a clear line, and no key in it', async (t) => {
  const data = await tempFolder(t);
  await writeAgents(data, { claude: { type: 'anthropic', model: 'm', api_key: KEY } });
  const desktop = run(t, ['desktop', '--data', data, '--relay', 'http://127.0.0.1:9'], {
    env: { GRAPH_RELAY_TOKEN: 'grd_x' },
  });
  for (const ended of [await desktop, await agentsCommand(t, ['--data', data])]) {
    t.equal(ended.code, 2, ended.stderr);
    t.match(ended.stderr, /desktop\/agents\.json cannot be used: agents\.claude\.api_key looks like a key/);
    t.notMatch(ended.stderr + ended.stdout, KEY);
    t.notMatch(ended.stderr, /^\s+at /m, 'no stack');
  }
  const command = ['--agent-command', 'cat', '--relay', 'http://127.0.0.1:9'];
  const started = await startDesktop(t, { data, url: 'http://127.0.0.1:9', token: 'grd_x', args: command });
  t.notOk(started.isOver, 'with --agent-command the file is not looked at');
});

t.test(
  'an MCP client’s run is answered by a service, a change of the file counts, and the key is nowhere',
  async (t) => {
    const world = await startWorld(t);
    const { data, url, desktopToken, agent } = world;
    const refusal = { status: 400, body: { error: { message: `bad request for ${KEY}` } } };
    const first = await modelServer(t, chatAnswer('of the first'), refusal);
    const second = await modelServer(t, chatAnswer('of the second'));
    await writeAgents(data, { local: local(first.url, { api_key_env: 'SERVICE_KEY' }) });
    await writeGraph(data, 'ask.js', graphSource('ask', 'return await agent(args.prompt, { model: args.model });'));
    const args = ['--log-level', 'debug'];
    const desktop = await startDesktop(t, { data, url, token: desktopToken, env: { SERVICE_KEY: KEY }, args });
    const session = await shareOnline(data, 'ask.js');
    await agent.onlySession();
    const ask = async (model?: string) => agent.end((await agent.start(session, { prompt: 'hi', model })).command_id);

    t.match(await ask('local:qwen3:8b'), { status: 'completed', result: 'of the first', total_tokens: 25 });
    t.equal(first.asked[0]?.headers.authorization, `Bearer ${KEY}`);
    t.equal(first.asked[0]?.body.model, 'qwen3:8b');
    t.match(await ask(), {
      status: 'failed',
      error: /agent "local" was refused by .*\(HTTP 400\): bad request for \[key\]/,
    });
    t.match(await ask('gpt'), { status: 'failed', error: /there is no agent "gpt"\. This desktop has local/ });

    await writeAgents(data, { other: local(second.url) });
    t.match(await ask(), { status: 'completed', result: 'of the second' });
    await until('the log of both files', () => desktop.log.filter(({ event }) => event === 'agents.read').length === 2);
    t.notMatch(
      desktop.stdout + desktop.stderr + (await everything(data)),
      KEY,
      'no log, state, history or result has it',
    );
    t.same(await desktop.end(), { code: 0, signal: null });
  },
);
