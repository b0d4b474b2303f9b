import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createCommandProvider } from '../../desktop-agent/engine/providers/command.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { graph, realClock, startGraph, testEngine } from './support.ts';

const node = process.execPath;

function ask(
  command: readonly string[],
  options: { prompt?: string; signal?: AbortSignal; timeoutMs?: number; maxAnswerBytes?: number } = {},
) {
  const { prompt = 'the prompt', signal = new AbortController().signal, timeoutMs = 60_000, ...rest } = options;
  return createCommandProvider({ command, timeoutMs, clock: realClock, ...rest }).ask({
    prompt,
    label: 'a',
    signal,
    runId: 'r',
  });
}

/** Running, and not only an entry that its parent has not collected. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function goneSoon(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 500 && isAlive(pid); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  return !isAlive(pid);
}

async function pidIn(file: string): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const pid = Number(readOr(file, ''));
    if (pid > 0) return pid;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the program wrote no pid');
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}

t.test('a command gets the prompt on standard input, and its output is the answer', async (t) => {
  const prompt = 'ü😀 line\nsecond';
  t.same(await ask(['cat'], { prompt }), { text: prompt, tokens: Math.ceil((prompt.length * 2) / 4) });
  t.equal(
    (await ask(['sh', '-c', 'echo hi; echo there'])).text,
    'hi\nthere',
    'the last line break is no part of the answer',
  );
});

t.test('a command has the environment of the desktop, but for what lets the desktop in at the relay', async (t) => {
  const before = process.env;
  t.teardown(() => {
    process.env = before;
  });
  process.env = { ...before, GRAPH_RELAY_TOKEN: 'a-token', GRAPH_RELAY_OWNER_PASSWORD: 'a-word', MODEL_KEY: 'its-own' };
  const { text } = await ask(['sh', '-c', 'echo "$MODEL_KEY,$GRAPH_RELAY_TOKEN,$GRAPH_RELAY_OWNER_PASSWORD."']);
  t.equal(text, 'its-own,,.');
});

t.test('characters that are split across chunks arrive whole', async (t) => {
  const script =
    "const b = Buffer.from('a😀ü'); let i = 0; const next = () => { if (i < b.length) process.stdout.write(b.subarray(i, ++i), () => setTimeout(next, 5)) }; next()";
  t.equal((await ask([node, '-e', script])).text, 'a😀ü');
});

t.test('no shell reads the prompt or the arguments', async (t) => {
  const text = '$(echo hacked) `id` ; & | > * "\' \\';
  t.equal((await ask([node, '-e', 'process.stdout.write(process.argv[1])', text], { prompt: text })).text, text);
  t.equal((await ask(['cat'], { prompt: text })).text, text);
});

t.test('a command that does not read its input can still answer', async (t) => {
  const prompt = 'x'.repeat(5_000_000);
  t.equal((await ask(['sh', '-c', 'exec 0<&-; echo done'], { prompt })).text, 'done');
});

t.test('a command that fails gives its exit code and the end of its standard error', async (t) => {
  const script = "process.stderr.write('x'.repeat(100000) + '\\nkey is missing 😀\\n'); process.exitCode = 3";
  const error = await ask([node, '-e', script]).then(
    () => new Error('it worked'),
    (reason: Error) => reason,
  );
  t.match(error.message, /^the command .* ended with exit code 3: .*key is missing 😀$/s);
  t.ok(error.message.length < 1_500);
  await t.rejects(ask(['sh', '-c', 'kill -9 $$']), { message: /was ended by SIGKILL/ });
  await t.rejects(ask(['/no/such/program']), { message: /could not be started: .*ENOENT/ });
  t.throws(() => createCommandProvider({ command: [], timeoutMs: 1, clock: realClock }), /needs a program/);
});

t.test('a command that answers without end is stopped', async (t) => {
  await t.rejects(ask(['yes'], { maxAnswerBytes: 10_000 }), { message: /answered with more than 10000 bytes/ });
});

t.test('a command that takes too long is stopped with all it started', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'relay-')), 'pid');
  const asked = ask(['sh', '-c', `sleep 600 & echo $! > ${file}; wait`], { timeoutMs: 1_000 });
  await t.rejects(asked, { message: /gave no answer within 1000 ms/ });
  t.ok(await goneSoon(await pidIn(file)));
});

t.test('cancelling a run reaches the process group of its command', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'relay-')), 'pid');
  const provider = createCommandProvider({
    command: ['sh', '-c', `sleep 600 & echo $! > ${file}; wait`],
    timeoutMs: 600_000,
    clock: realClock,
  });
  const engine = testEngine(t, { provider });
  const run = startGraph(engine, graph("return await agent('x')"));
  const pid = await pidIn(file);
  t.ok(isAlive(pid), 'the grandchild runs');
  run.running.cancel('stop');
  t.match(await run.done, { status: 'cancelled' });
  t.ok(await goneSoon(pid), 'the grandchild is gone');
});

t.test('a command that ignores SIGTERM is killed', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'relay-')), 'pid');
  const abort = new AbortController();
  const script = `process.on('SIGTERM', () => {}); require('fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`;
  const asked = ask([node, '-e', script], { signal: abort.signal });
  asked.catch(() => undefined);
  const pid = await pidIn(file);
  abort.abort();
  await t.rejects(asked, { message: /was stopped: its answer is not wanted/ });
  t.ok(await goneSoon(pid));
});

t.test('a process that a command leaves behind does not hold up its answer, and goes with it', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'relay-')), 'pid');
  t.equal((await ask(['sh', '-c', `sleep 600 & echo $! > ${file}; echo answer`])).text, 'answer');
  t.ok(await goneSoon(await pidIn(file)));
});

t.test('nothing is started for a signal that is aborted already', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'relay-')), 'pid');
  await t.rejects(ask(['sh', '-c', `echo 1 > ${file}`], { signal: AbortSignal.abort(new Error('over')) }), {
    message: 'over',
  });
  t.equal(readOr(file, 'none'), 'none');
});

t.test('the scripted provider gives the same answer to the same prompt', async (t) => {
  const request = { prompt: 'What is a\n graph?', label: 'l', signal: new AbortController().signal, runId: 'r' };
  const first = await createScriptedProvider().ask(request);
  t.same(await createScriptedProvider().ask(request), first);
  t.match(first.text, /What is a graph\?/);
  t.equal(first.tokens, Math.ceil((request.prompt.length + first.text.length) / 4));
  const scripted = createScriptedProvider({
    script: (prompt, label) => (label === 'bad' ? new Error('no') : { text: prompt, tokens: 7, costUsd: 1 }),
  });
  t.same(await scripted.ask(request), { text: request.prompt, tokens: 7, costUsd: 1 });
  await t.rejects(scripted.ask({ ...request, label: 'bad' }), { message: 'no' });
});

t.test('the scripted provider takes its time on the given clock, and lets go when aborted', async (t) => {
  const armed: { delayMs: number; run: () => void; cancelled: boolean }[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    after(delayMs: number, run: () => void) {
      const timer = { delayMs, run, cancelled: false };
      armed.push(timer);
      return {
        cancel: () => {
          timer.cancelled = true;
        },
      };
    },
  };
  const provider = createScriptedProvider({ delayMs: 250, clock });
  const abort = new AbortController();
  const request = { prompt: 'p', label: 'l', signal: abort.signal, runId: 'r' };
  const answer = provider.ask(request);
  t.match(armed, [{ delayMs: 250, cancelled: false }]);
  armed[0]?.run();
  t.match(await answer, { text: /p/ });
  const second = provider.ask(request);
  abort.abort(new Error('over'));
  await t.rejects(second, { message: 'over' });
  t.equal(armed[1]?.cancelled, true);
  t.throws(() => createScriptedProvider({ delayMs: 1 }), /needs a clock/);
});
