/** Results that grow in JSON, and results of characters that a cut would break: whole and as they were, or not at all. */
import t from 'tap';
import { RESULT_ENVELOPE_CHARS } from '../../protocol/limits.ts';
import { callTool } from './mcp-caller.ts';
import { createTestRelay, session, startRun, syncInput, type TestRelay, uuid } from './support.ts';

const EXECUTION = uuid(77);
const AROUND = JSON.stringify({ execution_id: EXECUTION, status: 'completed', result: '' }).length;
const ROOM = RESULT_ENVELOPE_CHARS - AROUND;

async function sharing(): Promise<TestRelay> {
  const world = await createTestRelay({ limits: { queuedPerDesktop: 1_000 } });
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  return world;
}

/** A run with this result, as its desktop reports it. */
async function completed(world: TestRelay, result: unknown): Promise<string> {
  const { command_id } = await startRun(world);
  const report = { command_id, execution_id: EXECUTION, status: 'completed', result };
  t.match((await world.settle(world.trpc('complete', report))).body.result.data, { stored: true });
  return command_id;
}

/** The character, and how long it is in JSON. */
const GROWING: readonly (readonly [name: string, character: string, escaped: number])[] = [
  ['quotes', '"', 2],
  ['backslashes', '\\', 2],
  ['control characters', '\u0001', 6],
  ['line separators', '\u2028', 1],
];

for (const [name, character, escaped] of GROWING) {
  t.test(`100,000 ${name} are bounded by their JSON, and what fits comes back as it was (C81)`, async (t) => {
    const world = await sharing();
    const most = Math.floor(ROOM / escaped);
    for (const [count, fits] of [
      [most, true],
      [most + 1, false],
      [100_000, false],
    ] as const) {
      const command_id = await completed(world, character.repeat(count));
      for (const wait_seconds of [0, 1]) {
        const { isError, data, resultText, body } = await callTool(world, 'get_graph_run', {
          command_id,
          wait_seconds,
        });
        t.equal(isError, false);
        t.equal(resultText, fits ? JSON.stringify(data.result) : undefined, 'twice the same');
        if (fits) t.equal(data.result, character.repeat(count), 'as it was sent');
        else {
          const result_chars = AROUND + count * escaped;
          t.match(data, { result_truncated: true, result_chars, result_limit_chars: RESULT_ENVELOPE_CHARS });
          t.notOk('result' in data);
        }
        // As data and as text, in a stream that escapes what some clients take for the end of a line: six for one.
        t.ok(body.length < 2 * 6 * RESULT_ENVELOPE_CHARS + 2_000, `${body.length} characters`);
      }
    }
  });
}

t.test('a list beside a hundred such results carries none of them (C81)', async (t) => {
  const world = await sharing();
  const { body: before } = await callTool(world, 'list_graph_sessions', {});
  for (let n = 0; n < 100; n++) {
    const [, character, escaped] = GROWING[n % GROWING.length]!;
    await completed(world, character.repeat(Math.floor(ROOM / escaped)));
  }
  const { body, data } = await callTool(world, 'list_graph_sessions', {});
  t.equal(body, before);
  t.match(data.sessions, [{ graph_session_id: session(1).graph_session_id }]);
  const after = await createTestRelay({ after: { image: world.crash(), of: world } });
  t.equal((await callTool(after, 'list_graph_sessions', {})).data.sessions.length, 1, 'nor does it after a restart');
});

const WIDE: Readonly<Record<string, string>> = { emoji: '🚀', family: '👨‍👩‍👧', flag: '🇯🇵' };

for (const [name, character] of Object.entries(WIDE)) {
  t.test(
    `a result that ends around the bound in a ${name} is whole and well-formed, or told as too long (C112)`,
    async (t) => {
      const world = await sharing();
      for (let chars = ROOM - 3; chars <= ROOM + character.length; chars++) {
        const text = 'x'.repeat(chars - character.length) + character;
        const { data } = await callTool(world, 'get_graph_run', { command_id: await completed(world, text) });
        if (chars <= ROOM) t.equal(data.result, text, `${chars - ROOM} characters from the bound`);
        else t.match(data, { result_truncated: true, result_chars: AROUND + chars });
        t.ok(JSON.stringify(data).isWellFormed());
      }
    },
  );
}

t.test('65,000 tiny parts are bounded before they are stored, and one request tells it (C82)', async (t) => {
  const world = await sharing();
  const parts = Array.from({ length: 65_000 }, (_, n) => ({ type: 'text', n }));
  const command_id = await completed(world, parts);
  const { data, body } = await callTool(world, 'get_graph_run', { command_id });
  const result_chars = AROUND - '""'.length + JSON.stringify(parts).length;
  t.match(data, { status: 'completed', result_truncated: true, result_chars });
  t.ok(body.length < 3_000);
  t.ok(JSON.stringify(world.crash()).length < 10_000, 'nothing of it is on the disk');
});
