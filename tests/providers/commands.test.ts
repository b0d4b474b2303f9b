/**
 * Programs that report their tokens, and programs that take a model. Stand-ins print what the real ones print; those
 * themselves are not run here.
 */
import t from 'tap';
import { AgentFailure } from '../../desktop-agent/engine/agent-provider.ts';
import { type CommandProviderOptions, createCommandProvider } from '../../desktop-agent/engine/providers/command.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { failure, request } from './support.ts';

const ESTIMATE = Math.ceil('What is a graph?'.length / 4);

/** A program that prints these texts and ends with this code. */
function printing(stdout: string, more: Partial<CommandProviderOptions> & { code?: number; stderr?: string } = {}) {
  const { code = 0, stderr = '', ...options } = more;
  const script = `process.stderr.write(${JSON.stringify(stderr)}); process.stdout.write(${JSON.stringify(stdout)}); process.exitCode = ${code}`;
  const command = [process.execPath, '-e', script];
  return createCommandProvider({ command, timeoutMs: 600_000, clock: systemClock, ...options });
}

const lines = (...events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');

const CLAUDE = {
  type: 'result',
  subtype: 'success',
  is_error: false,
  duration_ms: 1_998,
  num_turns: 1,
  result: 'A set of nodes.\n',
  session_id: '0e639165-79b1-4bd4-bb0f-4cb4c15115d4',
  total_cost_usd: 0.0079825,
  usage: { input_tokens: 3, cache_creation_input_tokens: 100, cache_read_input_tokens: 15_635, output_tokens: 6 },
};

const CODEX = [
  { type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' },
  { type: 'turn.started' },
  { type: 'item.completed', item: { id: 'item_0', type: 'reasoning', text: '**Thinking**' } },
  { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: 'First I look.' } },
  { type: 'item.completed', item: { id: 'item_2', type: 'command_execution', command: 'ls', exit_code: 0 } },
  { type: 'item.completed', item: { id: 'item_3', type: 'agent_message', text: 'A set of nodes.' } },
  {
    type: 'turn.completed',
    usage: { input_tokens: 14_268, cached_input_tokens: 4_480, output_tokens: 5, reasoning_output_tokens: 0 },
  },
];

t.test('claude-json: the answer, all its tokens, and the cost that it names', async (t) => {
  const wanted = { text: 'A set of nodes.\n', tokens: 15_744, costUsd: 0.0079825 };
  t.same(await printing(JSON.stringify(CLAUDE), { output: 'claude-json' }).ask(request()), wanted);
  const verbose = JSON.stringify([{ type: 'system', subtype: 'init' }, CLAUDE]);
  t.same(await printing(verbose, { output: 'claude-json' }).ask(request()), wanted, 'with --verbose');
  const { total_cost_usd: _cost, ...free } = CLAUDE;
  const prices = { input: 100, output: 1_000, cachedInput: 10 };
  const { costUsd } = await printing(JSON.stringify(free), { output: 'claude-json', prices }).ask(request());
  t.equal(costUsd, (103 * 100 + 15_635 * 10 + 6 * 1_000) / 1_000_000, 'without one, the owner’s prices');
});

t.test('claude-json: a failure that was paid for', async (t) => {
  const failed = { ...CLAUDE, subtype: 'success', is_error: true, result: 'Invalid API key · Please run /login' };
  const error = await failure(printing(JSON.stringify(failed), { output: 'claude-json', code: 1 }).ask(request()));
  t.type(error, AgentFailure);
  t.match(error, {
    message: /ended with exit code 1: Invalid API key · Please run \/login$/,
    tokens: 15_744,
    costUsd: 0.0079825,
  });
  const { result: _none, ...turns } = { ...CLAUDE, subtype: 'error_max_turns', is_error: true };
  const limit = await failure(printing(JSON.stringify(turns), { output: 'claude-json' }).ask(request()));
  t.match(limit, { message: /^the command .* gave no answer: error_max_turns$/, tokens: 15_744 });
});

t.test('codex-json: the last message, the tokens of all turns, and the owner’s prices', async (t) => {
  const one = printing(lines(...CODEX), { output: 'codex-json' });
  t.same(await one.ask(request()), { text: 'A set of nodes.', tokens: 14_273 });
  const prices = { input: 1, output: 10, cachedInput: 0.1 };
  const two = printing(`not a line of JSON\n${lines(...CODEX, ...CODEX)}`, { output: 'codex-json', prices });
  const reply = await two.ask(request());
  t.equal(reply.tokens, 28_546);
  t.equal(reply.costUsd, (2 * (9_788 + 448 + 50)) / 1_000_000);
});

t.test('codex-json: a turn that failed, and an error that it got over', async (t) => {
  const error = { type: 'error', message: 'Reconnecting... 1/5' };
  t.equal((await printing(lines(error, ...CODEX), { output: 'codex-json' }).ask(request())).text, 'A set of nodes.');
  const failed = { type: 'turn.failed', error: { message: 'usage limit reached' } };
  const said = printing(lines(...CODEX.slice(0, 4), error, failed), { output: 'codex-json', code: 1 });
  t.match((await failure(said.ask(request()))).message, /ended with exit code 1: usage limit reached$/);
});

t.test('output that is not what was announced is no answer', async (t) => {
  for (const output of ['claude-json', 'codex-json'] as const) {
    for (const stdout of ['', 'A set of nodes.', '{"type":"result"', '[]', 'null', '{"type":"other"}']) {
      const error = await failure(printing(stdout, { output, stderr: 'a hint' }).ask(request()));
      t.match(error.message, new RegExp(`wrote no answer as ${output}: a hint$`), `${output} ${stdout}`);
    }
  }
});

t.test('a program that says why it failed on its standard output is heard too', async (t) => {
  const quiet = await failure(printing('Not logged in. Run: tool login\n', { code: 1 }).ask(request()));
  t.match(quiet.message, /ended with exit code 1: Not logged in\. Run: tool login$/);
  const both = await failure(printing('half an answer', { code: 1, stderr: 'no memory' }).ask(request()));
  t.match(both.message, /ended with exit code 1: no memory$/);
});

t.test('text has no figures: tokens are estimated and have no price', async (t) => {
  const reply = await printing('12345678\n', { prices: { input: 1_000, output: 1_000 } }).ask(request());
  t.same(reply, { text: '12345678', tokens: ESTIMATE + 2 });
});

t.test('the model goes where the command has a place for it, as one argument', async (t) => {
  const command = [
    process.execPath,
    '-e',
    'process.stdout.write(JSON.stringify(process.argv.slice(1)))',
    'run',
    '{model}',
  ];
  const asked = createCommandProvider({ command, model: 'llama3.2', timeoutMs: 600_000, clock: systemClock });
  t.equal((await asked.ask(request())).text, '["run","llama3.2"]');
  t.equal((await asked.ask(request({ model: 'qwen3:8b' }))).text, '["run","qwen3:8b"]');
});
