/** What may stand in agents.json, what is refused, and with which words. No message repeats a key. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { chooseAgent } from '../../desktop-agent/agents/agent-names.ts';
import { AgentsFileError, agentsFile, parseAgents } from '../../desktop-agent/agents/agents-file.ts';
import { failure } from './support.ts';

const LOCAL = { type: 'openai-compatible', url: 'http://127.0.0.1:11434/v1', model: 'llama3.2' };

function parsed(value: unknown) {
  return parseAgents('/data/agents.json', typeof value === 'string' ? value : JSON.stringify(value));
}

/** The problem that is told, of the only agent `a` when it is one. */
function problem(value: unknown): string {
  try {
    parsed(value);
  } catch (error) {
    if (error instanceof AgentsFileError) return error.problem;
    throw error;
  }
  return 'none';
}

const problemOf = (entry: object) => problem({ agents: { a: entry } });

t.test('a file with each type of agent is read, with what is usual filled in', async (t) => {
  const { default: usual, agents } = parsed({
    default: 'local',
    agents: {
      local: LOCAL,
      claude: {
        type: 'anthropic',
        model: 'claude-sonnet-4-5',
        prices: { input: 3, output: 15 },
        max_output_tokens: 4_000,
      },
      gpt: { type: 'openai', model: 'gpt-5-mini', key_command: ['secret-tool', 'lookup', 'service', 'openai'] },
      router: { ...LOCAL, url: 'https://models.example/api/v1', api_key_env: 'ROUTER_KEY', timeout_ms: 5_000 },
      cc: { type: 'command', command: ['claude', '-p', '--model', '{model}'], model: 'sonnet' },
      demo: { type: 'scripted' },
    },
  });
  t.equal(usual, 'local');
  t.same([...agents.keys()], ['local', 'claude', 'gpt', 'router', 'cc', 'demo']);
  t.same(agents.get('local'), { ...LOCAL, timeout_ms: 600_000 });
  t.match(agents.get('cc'), { output: 'text', timeout_ms: 600_000 });
});

t.test('the only agent is the default; of several, one is named', async (t) => {
  t.equal(parsed({ agents: { a: LOCAL } }).default, 'a');
  t.equal(problem({ agents: { a: LOCAL, b: LOCAL } }), 'default: must name one of a, b');
  t.equal(problem({ default: 'c', agents: { a: LOCAL, b: LOCAL } }), 'default: names no agent of this file (a, b)');
  t.equal(problem({ agents: {} }), 'default: has nothing to name: there is no agent');
});

t.test('a mistake is told with its path and what would be right', async (t) => {
  t.match(
    problemOf({ type: 'ollama' }),
    /^agents\.a\.type: .*"openai-compatible"\|"anthropic"\|"openai"\|"command"\|"scripted"/,
  );
  t.match(problemOf({ ...LOCAL, modle: 'x' }), /^agents\.a: .*"modle"/);
  t.match(problemOf({ type: 'openai-compatible', model: 'm' }), /^agents\.a\.url: /);
  t.match(problemOf({ ...LOCAL, url: '127.0.0.1:11434' }), /^agents\.a\.url: must be an address such as http:/);
  t.match(problemOf({ ...LOCAL, timeout_ms: 5 }), /^agents\.a\.timeout_ms: .*>=1000/);
  t.match(problemOf({ ...LOCAL, prices: { input: 1 } }), /^agents\.a\.prices\.output: /);
  t.match(problemOf({ type: 'command', command: 'claude -p' }), /^agents\.a\.command: .*array/);
  t.match(problemOf({ type: 'command', command: ['x', '{model}'] }), /^agents\.a\.model: is needed for \{model\}/);
  t.match(problemOf({ type: 'command', command: ['x'], model: 'm' }), /^agents\.a\.model: has no place in the command/);
  t.match(
    problemOf({ type: 'command', command: ['x'], prices: { input: 1, output: 1 } }),
    /^agents\.a\.prices: need tokens/,
  );
  t.match(problemOf({ ...LOCAL, api_key_env: 'KEY', key_command: ['x'] }), /^agents\.a\.key_command: and api_key_env/);
  t.match(problem({ agents: { 'a:b': LOCAL } }), /^agents\.a:b: is no name for an agent/);
  t.match(problem([]), /^the file: /);
  t.match(problem('{\n  "agents": {\n    "a": }\n}'), /^it is not JSON from line 3, column 10 on$/);
  t.match(problem("{ 'agents': {} }"), /^it is not JSON from line 1, column 3 on$/);
  t.match(problem('{ "agents": {}, } // mine'), /^it is not JSON from line 1, column 17 on$/);
  t.match(problem(''), /^it is not JSON from line 1, column 1 on$/);
});

t.test('a key is refused, however it came there, and not repeated', async (t) => {
  const key = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz';
  const hex = '3f2a9c0d1e4b5f6a7c8d9e0f1a2b3c4d';
  const files: readonly (readonly [unknown, RegExp])[] = [
    [{ agents: { a: { ...LOCAL, api_key: hex } } }, /^agents\.a\.api_key looks like a key, .*api_key_env.*key_command/],
    [{ agents: { a: { ...LOCAL, apiKey: hex } } }, /^agents\.a\.apiKey looks like a key/],
    [{ agents: { a: { ...LOCAL, token: hex } } }, /^agents\.a\.token looks like a key/],
    [{ agents: { a: { ...LOCAL, headers: { Authorization: `Bearer ${hex}` } } } }, /Authorization looks like a key/],
    [{ agents: { a: { ...LOCAL, api_key_env: key } } }, /^agents\.a\.api_key_env looks like a key/],
    [
      { agents: { a: { ...LOCAL, api_key_env: hex } } },
      /^agents\.a\.api_key_env: must be the name of a variable, in capitals/,
    ],
    [{ agents: { a: { ...LOCAL, key_command: ['echo', key] } } }, /^agents\.a\.key_command\.1 looks like a key/],
    [
      { agents: { a: { type: 'command', command: ['tool', `--key=${key}`] } } },
      /^agents\.a\.command\.1 looks like a key/,
    ],
    [
      { agents: { a: { ...LOCAL, url: `https://user:${hex}@models.example/v1` } } },
      /url: must be .* without user, password/,
    ],
    [{ agents: { a: { ...LOCAL, url: `https://models.example/v1?key=${hex}` } } }, /url: must be .* or parameters/],
    [{ agents: { a: { ...LOCAL, [key]: 1 } } }, /^agents\.a\.… looks like a key/],
    [`{"agents": {"a": {"api_key": ${key}}}}`, /^it is not JSON, though nearly: texts need double quotes/],
  ];
  for (const [file, says] of files) {
    const told = problem(file);
    t.match(told, says);
    t.notMatch(told, /abcdefgh|3f2a9c/, 'without the key');
  }
});

t.test('the message of the file: path, what, what next; for a Graph, without the path', async (t) => {
  const error = new AgentsFileError('/data/desktop/agents.json', 'default: must name one of a, b');
  t.equal(
    error.message,
    '/data/desktop/agents.json cannot be used: default: must name one of a, b. Correct it; "graph-relay desktop agents" checks it.',
  );
  t.notMatch(error.problem, '/data');
});

t.test('the file is read again when it has changed, and only then', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gr-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = agentsFile(folder);
  const none = await file.read();
  t.equal(none.agents, null, 'no file is no error');
  t.equal((await file.read()).version, none.version);
  await writeFile(file.path, JSON.stringify({ agents: { a: LOCAL } }));
  const first = await file.read();
  t.same([...(first.agents?.agents.keys() ?? [])], ['a']);
  t.equal((await file.read()).version, first.version);
  await writeFile(file.path, JSON.stringify({ agents: { b: LOCAL } }));
  t.same([...((await file.read()).agents?.agents.keys() ?? [])], ['b']);
  await writeFile(file.path, '{');
  t.match(await failure(file.read()), {
    name: 'AgentsFileError',
    message: new RegExp(`^${file.path} cannot be used: `),
  });
  await rm(file.path);
  t.equal((await file.read()).agents, null);
  const unreadable = agentsFile(file.path.replace('agents.json', ''));
  await import('node:fs/promises').then(({ mkdir }) => mkdir(file.path));
  t.match(await failure(unreadable.read()), /it cannot be read \(EISDIR/);
});

t.test('a Graph names an agent, or an agent and another model', async (t) => {
  const agents = parsed({
    default: 'local',
    agents: {
      local: LOCAL,
      cc: { type: 'command', command: ['claude', '--model', '{model}'], model: 'sonnet' },
      plain: { type: 'command', command: ['cat'] },
      demo: { type: 'scripted' },
    },
  });
  const chosen = (wanted?: string) => {
    const { name, model } = chooseAgent(agents, wanted);
    return [name, model];
  };
  t.same(chosen(), ['local', undefined]);
  t.same(chosen('cc'), ['cc', undefined]);
  t.same(chosen('local:qwen3:8b'), ['local', 'qwen3:8b']);
  t.same(chosen('local:hf.co/some/model-GGUF'), ['local', 'hf.co/some/model-GGUF']);
  const refused = (wanted: string, says: RegExp) =>
    t.throws(() => chooseAgent(agents, wanted), { message: says }, wanted);
  refused(
    'gpt',
    /^there is no agent "gpt"\. This desktop has local, cc, plain, demo; "local:MODEL" is that agent with another model$/,
  );
  refused('llama3.2:3b', /^there is no agent "llama3\.2"\. This desktop has local/);
  refused('', /^there is no agent ""/);
  refused('constructor', /^there is no agent "constructor"/);
  refused('plain:m', /^the agent "plain" takes no other model: its command has no \{model\}$/);
  refused('demo:m', /^the agent "demo" takes no other model: it is a script$/);
  refused('cc:--dangerously-skip-permissions', /is no name of a model for the agent "cc"$/);
  refused('cc:a b', /is no name of a model/);
  refused('local:', /is no name of a model/);
});
