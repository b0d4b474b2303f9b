/** The owner's file decides who answers: names, models, keys, prices, and what a change of the file does. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { agentsFile } from '../../desktop-agent/agents/agents-file.ts';
import { ConfiguredAgents } from '../../desktop-agent/agents/configured-agents.ts';
import { serviceFetch } from '../../desktop-agent/agents/service-fetch.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Log } from '../../protocol/ports.ts';
import { graph, runGraph, testEngine } from '../engine/support.ts';
import { chatAnswer, messagesAnswer, modelServer, responsesAnswer } from './model-servers.ts';
import { failure, middle, request } from './support.ts';

const KEYS = {
  ANTHROPIC_API_KEY: 'key-of-anthropic',
  OPENAI_API_KEY: 'key-of-openai',
  ROUTER_KEY: 'key-of-the-router',
};

async function configured(
  t: Test,
  agents: Record<string, object>,
  more: { default?: string; environment?: object } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'gr-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = agentsFile(folder);
  const lines: string[] = [];
  const write = (each: Record<string, object>) =>
    writeFile(file.path, JSON.stringify({ default: more.default ?? Object.keys(each)[0], agents: each }));
  const line = (event: string, fields: object = {}) => void lines.push(`${event} ${JSON.stringify(fields)}`);
  const log: Log = { debug: line, info: line, warn: line, error: line };
  await write(agents);
  const environment = { ...KEYS, ...more.environment };
  const fetch = serviceFetch({ clock: systemClock, environment: {} });
  const provider = new ConfiguredAgents(file, {
    ports: { clock: systemClock, random: middle },
    environment,
    fetch,
    log,
  });
  return { provider, file, lines, write };
}

const local = (url: string, more: object = {}) => ({ type: 'openai-compatible', url, model: 'llama3.2', ...more });

t.test('each agent is answered by its own service, with its own key and model', async (t) => {
  const chat = await modelServer(t, chatAnswer('from chat'));
  const anthropic = await modelServer(t, messagesAnswer('from anthropic'));
  const openai = await modelServer(t, responsesAnswer('from openai'));
  const router = await modelServer(t, chatAnswer('from the router'));
  const { provider } = await configured(t, {
    local: local(`${chat.url}/`),
    claude: { type: 'anthropic', url: anthropic.url, model: 'claude-sonnet-4-5' },
    gpt: { type: 'openai', url: openai.url, model: 'gpt-5-mini' },
    router: local(router.url, { api_key_env: 'ROUTER_KEY' }),
    cat: { type: 'command', command: ['cat'] },
    demo: { type: 'scripted' },
  });
  const text = async (model?: string) => (await provider.ask(request(model === undefined ? {} : { model }))).text;
  t.equal(await text(), 'from chat');
  t.equal(await text('local:qwen3:8b'), 'from chat');
  t.equal(await text('claude'), 'from anthropic');
  t.equal(await text('gpt'), 'from openai');
  t.equal(await text('router'), 'from the router');
  t.equal(await text('cat'), 'What is a graph?');
  t.match(await text('demo'), /scripted answer/);
  t.same(
    chat.asked.map(({ body, path }) => [path, body.model]),
    [
      ['/v1/chat/completions', 'llama3.2'],
      ['/v1/chat/completions', 'qwen3:8b'],
    ],
  );
  t.equal(anthropic.asked[0]?.headers['x-api-key'], 'key-of-anthropic');
  t.equal(openai.asked[0]?.headers.authorization, 'Bearer key-of-openai');
  t.equal(router.asked[0]?.headers.authorization, 'Bearer key-of-the-router');
  t.notOk(chat.asked[0]?.headers.authorization, 'no key goes where none was named');
});

t.test('an agent that is none is refused before anything is asked', async (t) => {
  const server = await modelServer(t, chatAnswer('x'));
  const { provider } = await configured(t, { local: local(server.url) });
  t.match(await failure(provider.ask(request({ model: 'gpt' }))), /there is no agent "gpt"\. This desktop has local/);
  t.equal(server.asked.length, 0);
});

t.test('limits and prices of the entry hold', async (t) => {
  const server = await modelServer(t, chatAnswer('x', { usage: { prompt_tokens: 2_000, completion_tokens: 1_000 } }));
  const entry = local(server.url, { max_output_tokens: 123, prices: { input: 3, output: 15 } });
  const { provider } = await configured(t, { local: entry });
  t.same(await provider.ask(request()), { text: 'x', tokens: 3_000, costUsd: 0.021 });
  t.equal(server.asked[0]?.body.max_tokens, 123);
});

t.test('a change of the file counts for the next agent; one that is asked meanwhile goes on', async (t) => {
  const first = await modelServer(t, 'silent');
  const second = await modelServer(t, chatAnswer('new'));
  const { provider, write, lines } = await configured(t, { local: local(first.url) });
  const abort = new AbortController();
  const old = failure(provider.ask(request({ signal: abort.signal })));
  await first.call(1);
  await write({ other: local(second.url) });
  t.equal((await provider.ask(request())).text, 'new');
  t.match(await failure(provider.ask(request({ model: 'local' }))), /there is no agent "local"/);
  abort.abort(new Error('enough'));
  t.match(await old, { message: 'enough' }, 'the first was asked all the time');
  t.same(
    lines.map((line) => line.split(' ')[0]),
    ['agents.read', 'agents.read'],
  );
});

t.test('a file that breaks fails the next agent without its path, and the log has it', async (t) => {
  const server = await modelServer(t, chatAnswer('x'));
  const { provider, file, lines } = await configured(t, { local: local(server.url) });
  await provider.ask(request());
  await writeFile(file.path, '{ "agents": ');
  const error = await failure(provider.ask(request()));
  t.match(error.message, /^this desktop's agents\.json cannot be used: it is not JSON from line 1, column 13 on$/);
  t.ok(lines.at(-1)?.includes(file.path));
  t.match(await failure(provider.check()), { name: 'AgentsFileError' });
  await rm(file.path);
  t.match(await provider.ask(request()), { text: /scripted answer/ });
  t.match(
    await failure(provider.ask(request({ model: 'local' }))),
    /there is no agent "local"\. This desktop has demo/,
  );
});

t.test('a key that a program prints is kept until the file changes', async (t) => {
  const server = await modelServer(t, chatAnswer('x'));
  const folder = await mkdtemp(join(tmpdir(), 'gr-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  const entry = (more: object = {}) => local(server.url, { key_command: ['cat', keyFile], ...more });
  const { provider, write, lines } = await configured(t, { local: entry() });
  await writeFile(keyFile, 'first-secret\n');
  await provider.ask(request());
  await writeFile(keyFile, 'second-secret\n');
  await provider.ask(request({ model: 'local:other' }));
  await write({ local: entry({ max_output_tokens: 5 }) });
  await provider.ask(request());
  t.same(
    server.asked.map(({ headers }) => headers.authorization),
    ['Bearer first-secret', 'Bearer first-secret', 'Bearer second-secret'],
  );
  t.notMatch(lines.join(), /-secret/);
});

t.test('a Graph gets a structured answer of the agent that it names, repaired and paid in full', async (t) => {
  const server = await modelServer(t, chatAnswer('Sure: {"n": "x"}'), chatAnswer('```json\n{"n": 3}\n```'));
  const { provider } = await configured(t, { demo: { type: 'scripted' }, local: local(server.url) });
  const engine = testEngine(t, { provider });
  const schema = "{ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }";
  const ask = (model: string) =>
    runGraph(
      engine,
      graph(`const { n } = await agent('hello', { model: '${model}', schema: ${schema} }); return n + 1`),
    );
  t.match(await ask('local'), { status: 'completed', resultJson: '4', totalTokens: 50 });
  t.equal(server.asked[0]?.body.response_format.type, 'json_schema');
  t.match(server.asked[1]?.body.messages[0].content, /cannot be used: .*n/);
  t.match(await ask('demo'), { status: 'completed', resultJson: '1' }, 'the script has a value that fits');
  const unknown = await ask('gpt');
  t.match(unknown, { status: 'failed', error: /there is no agent "gpt"\. This desktop has demo, local/ });
});

t.test('cancelling a run closes the connection to the service', async (t) => {
  const server = await modelServer(t, 'silent');
  const { provider } = await configured(t, { local: local(server.url) });
  const engine = testEngine(t, { provider });
  const { startGraph } = await import('../engine/support.ts');
  const run = startGraph(engine, graph("return await agent('x')"));
  const call = await server.call(1);
  run.running.cancel('stop');
  t.match(await run.done, { status: 'cancelled' });
  await call.gone;
});
