/** Each kind of service gets what it understands, and its answer and figures are read. Real sockets on loopback. */
import t from 'tap';
import type { ModelEndpoint } from '../../desktop-agent/engine/providers/language-model.ts';
import { keyFromVariable } from '../../desktop-agent/engine/providers/model-key.ts';
import { withStructuredAnswers } from '../../desktop-agent/engine/structured-answers.ts';
import { chatAnswer, messagesAnswer, modelServer, provider, responsesAnswer } from './model-servers.ts';
import { request } from './support.ts';

const KEY = keyFromVariable('SERVICE_KEY', { SERVICE_KEY: ' k-0123456789 \n' });
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};

function endpoint(type: ModelEndpoint['type'], url: string, model = 'm'): { endpoint: ModelEndpoint } {
  return { endpoint: { type, url, model } };
}

t.test('an OpenAI-compatible service gets one message, no key and no limit that nobody set', async (t) => {
  const server = await modelServer(t, chatAnswer('A set of nodes and edges.'));
  const reply = await provider(server.url).ask(request());
  t.same(reply, { text: 'A set of nodes and edges.', tokens: 25 });
  const [asked] = server.asked;
  t.match(asked, { method: 'POST', path: '/v1/chat/completions' });
  t.same(asked?.body, { model: 'llama3.2', messages: [{ role: 'user', content: 'What is a graph?' }] });
  t.notOk(asked?.headers.authorization, 'no key is sent where there is none');
});

t.test('key and limit go where the service looks for them', async (t) => {
  const server = await modelServer(t, chatAnswer('yes'));
  await provider(server.url, { key: KEY, maxOutputTokens: 77 }).ask(request());
  t.equal(server.asked[0]?.headers.authorization, 'Bearer k-0123456789');
  t.equal(server.asked[0]?.body.max_tokens, 77);

  const anthropic = await modelServer(t, messagesAnswer('yes'));
  const options = { ...endpoint('anthropic', anthropic.url, 'claude-sonnet-4-5'), key: KEY, maxOutputTokens: 77 };
  t.same(await provider(anthropic.url, options).ask(request()), { text: 'yes', tokens: 25 });
  t.match(anthropic.asked[0], {
    path: '/v1/messages',
    headers: { 'x-api-key': 'k-0123456789', 'anthropic-version': '2023-06-01' },
    body: { model: 'claude-sonnet-4-5', max_tokens: 77, messages: [{ role: 'user' }] },
  });
  t.same(anthropic.asked[0]?.body.messages[0].content, [{ type: 'text', text: 'What is a graph?' }]);

  const openai = await modelServer(t, responsesAnswer('yes'));
  const more = { ...endpoint('openai', openai.url, 'gpt-5-mini'), key: KEY, maxOutputTokens: 77 };
  t.same(await provider(openai.url, more).ask(request()), { text: 'yes', tokens: 25 });
  t.match(openai.asked[0], {
    path: '/v1/responses',
    headers: { authorization: 'Bearer k-0123456789' },
    body: { model: 'gpt-5-mini', max_output_tokens: 77, store: false },
  });
});

t.test('a schema goes to each service in its own way', async (t) => {
  const json = '{"name":"Ada"}';
  const chat = await modelServer(t, chatAnswer(json));
  t.equal((await provider(chat.url).ask(request({ schema: PERSON }))).text, json);
  t.match(chat.asked[0]?.body.response_format, { type: 'json_schema', json_schema: { schema: PERSON, strict: false } });

  const anthropic = await modelServer(t, messagesAnswer(json));
  const native = provider(anthropic.url, { ...endpoint('anthropic', anthropic.url, 'claude-sonnet-4-5'), key: KEY });
  t.equal((await native.ask(request({ schema: PERSON }))).text, json);
  t.match(anthropic.asked[0]?.body.output_config, { format: { type: 'json_schema', schema: PERSON } });

  const tool = { type: 'tool_use', id: 'toolu_1', name: 'json', input: { name: 'Ada' } };
  const called = messagesAnswer('', { stop: 'tool_use' }).body as object;
  const older = await modelServer(t, { body: { ...called, content: [tool] } });
  const byTool = provider(older.url, { ...endpoint('anthropic', older.url, 'claude-3-haiku-20240307'), key: KEY });
  t.equal((await byTool.ask(request({ schema: PERSON }))).text, json, 'an older model answers by a tool call');

  const openai = await modelServer(t, responsesAnswer(json));
  const responses = provider(openai.url, { ...endpoint('openai', openai.url, 'gpt-5-mini'), key: KEY });
  t.equal((await responses.ask(request({ schema: PERSON }))).text, json);
  t.match(openai.asked[0]?.body.text.format, { type: 'json_schema', schema: PERSON, strict: false });
  t.equal(openai.asked[0]?.body.store, false);
});

t.test('a service that refuses the schema gets it in the prompt', async (t) => {
  const refused = { status: 400, body: { error: { message: 'response_format is not supported' } } };
  const server = await modelServer(t, refused, chatAnswer('{"name":"Ada"}'));
  t.equal((await provider(server.url).ask(request({ schema: PERSON }))).text, '{"name":"Ada"}');
  t.equal(server.asked.length, 2);
  t.notOk(server.asked[1]?.body.response_format);
  t.match(server.asked[1]?.body.messages[0].content, /^What is a graph\?[\s\S]*JSON Schema:\s+\{"type":"object"/);
});

t.test('a service whose answer does not fit its own schema mode is repaired too', async (t) => {
  const server = await modelServer(t, chatAnswer('{"name":"Ada"}'), chatAnswer('{"name":"Ada","age":36}'));
  const schema = { type: 'object', required: ['name', 'age'] };
  const structured = withStructuredAnswers(provider(server.url), { schemaInPrompt: false });
  t.same(await structured.ask(request({ schema })), { text: '{"name":"Ada","age":36}', tokens: 50 });
  t.equal(server.asked[0]?.body.messages[0].content, 'What is a graph?');
  t.match(server.asked[1]?.body.messages[0].content, /cannot be used: answer/);
});

t.test('tokens are the figures of the service, with what was cached and what was reasoned', async (t) => {
  const usage = {
    prompt_tokens: 1_000,
    completion_tokens: 300,
    total_tokens: 1_300,
    prompt_tokens_details: { cached_tokens: 600 },
    completion_tokens_details: { reasoning_tokens: 250 },
  };
  const chat = await modelServer(t, chatAnswer('x', { usage }));
  t.equal((await provider(chat.url).ask(request())).tokens, 1_300);

  const parts = {
    input_tokens: 10,
    cache_creation_input_tokens: 200,
    cache_read_input_tokens: 3_000,
    output_tokens: 40,
  };
  const anthropic = await modelServer(t, messagesAnswer('x', { usage: parts }));
  const options = { ...endpoint('anthropic', anthropic.url, 'claude-sonnet-4-5'), key: KEY };
  t.equal(
    (await provider(anthropic.url, options).ask(request())).tokens,
    3_250,
    'its three kinds of input do not overlap',
  );

  const details = { input_tokens_details: { cached_tokens: 5 }, output_tokens_details: { reasoning_tokens: 6 } };
  const openai = await modelServer(
    t,
    responsesAnswer('x', { usage: { input_tokens: 11, output_tokens: 9, ...details } }),
  );
  t.equal((await provider(openai.url, { ...endpoint('openai', openai.url), key: KEY }).ask(request())).tokens, 20);
});

t.test('what a service does not count is estimated, and has no price', async (t) => {
  const estimate = Math.ceil('What is a graph?'.length / 4) + Math.ceil('12345678'.length / 4);
  const prices = { input: 1_000_000, output: 1_000_000 };
  for (const usage of [null, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }]) {
    const server = await modelServer(t, chatAnswer('12345678', { usage }));
    t.same(await provider(server.url, { prices }).ask(request()), { text: '12345678', tokens: estimate });
  }
});

t.test('a cost is computed from the owner’s prices, or is what the service says', async (t) => {
  const usage = {
    prompt_tokens: 1_000_000,
    completion_tokens: 200_000,
    prompt_tokens_details: { cached_tokens: 400_000 },
  };
  const ask = async (more: object, prices?: { input: number; output: number; cachedInput?: number }) => {
    const server = await modelServer(t, chatAnswer('x', { usage: { ...usage, ...more } }));
    return (await provider(server.url, { prices }).ask(request())).costUsd;
  };
  t.equal(await ask({}), undefined, 'nobody said a price');
  t.equal(await ask({}, { input: 3, output: 15 }), 6);
  t.equal(await ask({}, { input: 3, output: 15, cachedInput: 0.3 }), 4.92);
  t.equal(await ask({ cost: 0.25 }), 0.25, 'as OpenRouter says it');
  t.equal(await ask({ cost: 0.25 }, { input: 3, output: 15 }), 6, 'the owner’s prices win');
});

t.test('a proxy of the environment is no way to a service on this machine', async (t) => {
  const { serviceFetch } = await import('../../desktop-agent/agents/service-fetch.ts');
  const { systemClock } = await import('../../protocol/host/system-ports.ts');
  const server = await modelServer(t, chatAnswer('direct'));
  const proxy = await modelServer(t, chatAnswer('by the proxy'));
  const environment = { http_proxy: new URL(proxy.url).origin };
  const fetch = serviceFetch({ clock: systemClock, environment });
  t.equal((await provider(server.url, { fetch }).ask(request())).text, 'direct');
  const far = provider('http://models.example/v1', { fetch });
  t.equal((await far.ask(request())).text, 'by the proxy', 'and it is the way to all others');
  t.equal(proxy.asked[0]?.path, 'http://models.example/v1/chat/completions');
});
