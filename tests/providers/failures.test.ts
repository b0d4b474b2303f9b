/** What a person is told when a model gave no answer, and that no key is in it. */
import t, { type Test } from 'tap';
import { AgentFailure } from '../../desktop-agent/engine/agent-provider.ts';
import { failureText } from '../../desktop-agent/engine/providers/model-failures.ts';
import { keyFromCommand, keyFromVariable, withoutKey } from '../../desktop-agent/engine/providers/model-key.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { type Behaviour, chatAnswer, deadUrl, messagesAnswer, modelServer, provider } from './model-servers.ts';
import { failure, request } from './support.ts';

const SECRET = 'sk-ant-api03-Ab/Cd"ef+0123456789';
const KEY = keyFromVariable('SERVICE_KEY', { SERVICE_KEY: SECRET });

async function told(t: Test, behaviour: Behaviour, options: Parameters<typeof provider>[1] = {}): Promise<string> {
  const server = await modelServer(t, behaviour);
  const error = await failure(provider(server.url, options).ask(request()));
  t.type(error, AgentFailure);
  return error.message.replaceAll(server.url, 'URL');
}

t.test('nobody listens', async (t) => {
  const url = await deadUrl();
  const { message } = await failure(provider(url).ask(request()));
  t.equal(message, `agent "local" finds nobody at ${url} (connection refused). Is the server running there?`);
});

t.test('who listens on a known port is named; other ways to reach nobody have their next step', async (t) => {
  const call = { type: 'openai-compatible', model: 'm', keySource: null, tries: 1, now: 0 } as const;
  const text = (code: string, url: string) => failureText(Object.assign(new Error('x'), { code }), { ...call, url });
  t.match(text('ECONNREFUSED', 'http://127.0.0.1:11434/v1'), /Is Ollama running there\?$/);
  t.match(text('ECONNREFUSED', 'http://127.0.0.1:1234/v1'), /Is LM Studio running there\?$/);
  t.match(text('ENOTFOUND', 'http://models.example/v1'), /cannot find the host models.example .*Check the url/);
  t.match(text('SELF_SIGNED_CERT_IN_CHAIN', 'https://models.example/v1'), /does not trust the certificate .*--ca/);
  t.match(text('EHOSTUNREACH', 'http://models.example/v1'), /cannot reach .* \(EHOSTUNREACH\)$/);
});

t.test('a key that is refused or missing: which variable to set', async (t) => {
  const refused = { status: 401, body: { error: { message: 'invalid x-api-key' } } };
  t.equal(
    await told(t, refused, { key: KEY }),
    'agent "local" was refused by URL: it does not take the key in the variable SERVICE_KEY. Put a valid key there (HTTP 401): invalid x-api-key',
  );
  t.match(await told(t, refused), /it wants a key\. Name the variable that holds it with api_key_env/);
  const server = await modelServer(t, chatAnswer('x'));
  const nothing = { key: keyFromVariable('SERVICE_KEY', {}) };
  t.match(await failure(provider(server.url, nothing).ask(request())), {
    message: /^agent "local" has no key: set the variable SERVICE_KEY where the desktop is started/,
  });
  t.equal(server.asked.length, 0, 'nothing is asked without it');
});

t.test('an unknown model, with the ways that servers say it', async (t) => {
  const says = (body: object) => told(t, { status: 404, body });
  t.match(
    await says({ error: { message: 'model "llama3.2" not found' } }),
    /^agent "local" finds no model "llama3.2" at URL\. Check its name, and the url: most end with \/v1 \(HTTP 404\): model "llama3.2" not found$/,
  );
  t.match(await says({ error: 'no such model' }), /\(HTTP 404\): no such model$/, 'LM Studio');
  t.match(await says({ detail: 'Not Found' }), /\(HTTP 404\): Not Found$/, 'vLLM');
  t.match(await told(t, { status: 404, body: '<html>nginx</html>' }), /\(HTTP 404\)$/, 'pages are not shown');
});

t.test('a refusal, a cut answer, an empty answer: paid for, and said', async (t) => {
  const cases: readonly (readonly [Behaviour, RegExp])[] = [
    [
      chatAnswer(null, { message: { refusal: 'I cannot help with that.' } }),
      /declined to answer \(stop\): I cannot help with that\.$/,
    ],
    [chatAnswer('', { finish: 'content_filter' }), /declined to answer \(content_filter\)$/],
    [chatAnswer('half an ans', { finish: 'length' }), /was cut off after 5 tokens: .*Raise max_output_tokens/],
    [chatAnswer('  \n'), /gave an empty answer \(it ended with: stop\)$/],
    [chatAnswer('', { message: { reasoning_content: 'Hm.' } }), /gave an empty answer, though it reasoned/],
  ];
  for (const [behaviour, says] of cases) {
    const server = await modelServer(t, behaviour);
    const prices = { input: 1_000, output: 1_000 };
    const error = (await failure(provider(server.url, { prices }).ask(request()))) as AgentFailure;
    t.match(error.message, says);
    t.match(error, { tokens: 25, costUsd: 0.025 });
  }
  const server = await modelServer(t, messagesAnswer('', { stop: 'refusal' }));
  const endpoint = { type: 'anthropic', url: server.url, model: 'claude-sonnet-4-5' } as const;
  const error = await failure(provider(server.url, { endpoint, key: KEY }).ask(request()));
  t.match(error.message, /^agent "local" declined to answer \(refusal\)$/);
});

t.test('an answer that is none of such a service', async (t) => {
  const wrong = /got no answer of such a service from URL \(HTTP 200\)\. Check the url in agents\.json$/;
  t.match(await told(t, { body: '<html>Welcome</html>' }), wrong);
  t.match(await told(t, { body: { hello: 'world' } }), wrong);
  t.match(await told(t, { status: 302, headers: { location: 'http://other.example/' }, body: '' }), /\(HTTP 302\)/);
  t.match(await told(t, { body: { choices: [] } }), /got no answer that can be read: .*choices/);
});

t.test('an answer without end is ended', async (t) => {
  const chunk = 'x'.repeat(17 * 1024 * 1024);
  t.match(
    await told(t, { body: chunk }),
    /got no answer that can be read: .*the answer is longer than 16777216 bytes$/,
  );
});

t.test('a service that says the key back does not get it into a message', async (t) => {
  const echoes = [
    SECRET,
    JSON.stringify(SECRET),
    encodeURIComponent(SECRET),
    `Bearer ${SECRET}`,
    'sk-ant-api0***********89',
  ];
  for (const echo of echoes) {
    for (const status of [400, 401, 404, 429, 500]) {
      const headers = { 'retry-after': '3600' };
      const body = { error: { message: `Incorrect key provided: ${echo}` } };
      const server = await modelServer(t, { status: status === 500 ? 501 : status, headers, body });
      const error = await failure(provider(server.url, { key: KEY }).ask(request()));
      const shown = [
        error.message,
        error.stack,
        cleanText(error, 10_000),
        JSON.stringify(error),
        String(error.cause),
      ].join(' ');
      t.notMatch(shown, /sk-ant|Cd.?.?ef|0123456789/, `${status} ${echo}`);
      t.match(error.message, /Incorrect key provided: .*\[key\]/);
    }
  }
  t.equal(withoutKey('no ollama here', 'ollama'), 'no ollama here', 'a word is no secret');
});

t.test('a program that gives the key: asked once, again after a refusal, and never shown', async (t) => {
  const script = (...lines: string[]) => ['sh', '-c', lines.join('\n')];
  const { mkdtempSync, readFileSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const { join } = await import('node:path');
  const marks = join(mkdtempSync(join(tmpdir(), 'relay-')), 'marks');
  const key = keyFromCommand(script(`echo x >> ${marks}`, `echo ${'k'.repeat(20)}`), systemClock);
  const runs = () => readFileSync(marks, 'utf8').split('\n').length - 1;
  const server = await modelServer(t, chatAnswer('a'), chatAnswer('b'), { status: 401, body: {} }, chatAnswer('c'));
  const asked = provider(server.url, { key });
  await Promise.all([asked.ask(request()), asked.ask(request())]);
  t.equal(runs(), 1);
  t.equal(server.asked[0]?.headers.authorization, `Bearer ${'k'.repeat(20)}`);
  await failure(asked.ask(request()));
  await asked.ask(request());
  t.equal(runs(), 2);

  const failing = async (...lines: string[]) =>
    (await failure(provider(server.url, { key: keyFromCommand(script(...lines), systemClock) }).ask(request())))
      .message;
  t.equal(
    await failing(`echo ${SECRET.slice(0, 12)}`, 'echo no such item >&2', 'exit 3'),
    'agent "local" has no key: the command sh ended with exit code 3: no such item',
  );
  t.match(await failing(':'), /has no key: the command sh printed nothing$/);
  t.match(await failing('echo two words'), /has no usable key: the output of the command sh holds blanks/);
  const none = keyFromCommand(['/no/such/program'], systemClock);
  t.match(
    (await failure(provider(server.url, { key: none }).ask(request()))).message,
    /has no key: .*could not be started/,
  );
});
