import t from 'tap';
import { completionOf } from '../../desktop-agent/completion.ts';
import type { RunOutcome } from '../../desktop-agent/ports.ts';
import { JSON_DEPTH } from '../../protocol/limits.ts';
import { createTestRelay, PROJECT, readRun, session, startRun, syncInput, type TestRelay, uuid } from './support.ts';

const EXECUTION = uuid(77);

/** A relay, and a run that its desktop of version 2 has started. */
async function started(): Promise<TestRelay & { command_id: string }> {
  const world = await createTestRelay();
  await world.settle(world.trpc('sync', syncInput()));
  const { command_id } = await startRun(world);
  await world.settle(world.trpc('sync', syncInput()));
  const control = { command_id, execution_id: EXECUTION, phase: 'starting', hold_ms: 0 };
  t.equal((await world.settle(world.trpc('control', control))).body.result.data.cancel, false);
  return { ...world, command_id };
}

async function report(world: TestRelay & { command_id: string }, completion: object) {
  const input = { command_id: world.command_id, execution_id: EXECUTION, status: 'completed', ...completion };
  return world.settle(world.trpc('complete', input));
}

/**
 * The published figure, 99,899 characters, is for an envelope of 101 characters around the text: an execution id of 8
 * characters, total_tokens of 4 digits, and no reported cost.
 */
const PUBLISHED = { execution_id: 'a1b2c3d4', status: 'completed', total_tokens: 1200, reported_cost: null } as const;

for (const [name, character, utf8Bytes] of [
  ['ASCII', 'a', 99_899],
  ['Japanese', '報', 299_697],
] as const) {
  t.test(`99,899 characters of ${name} fit the published envelope, and one more does not (C115)`, async (t) => {
    for (const [chars, fits] of [
      [99_899, true],
      [99_900, false],
      [100_001, false],
      [200_000, false],
    ] as const) {
      const text = character.repeat(chars);
      const envelope = { ...PUBLISHED, result: text };
      t.equal(JSON.stringify(envelope).length <= 100_000, fits, 'as the published relay counts');
      if (fits) t.equal(Buffer.byteLength(text), utf8Bytes, 'characters are counted, not bytes');
      const world = await createTestRelay();
      const share = { project_id: PROJECT, sessions: [session(1)] };
      await world.settle(world.plain('sync', share));
      const { command_id } = await startRun(world);
      await world.settle(world.plain('sync', share));
      await world.settle(world.plain('complete', { command_id, ...envelope }));
      const run = await readRun(world, command_id);
      t.equal(run.status, 'completed');
      if (fits) t.equal(run.result, text, 'untouched');
      else {
        t.match(run, { result_truncated: true, result_chars: chars + 101, result_limit_chars: 100_000 });
        t.notOk('result' in run, 'all or nothing');
      }
    }
  });
}

t.test('the desktop bounds by the same count, and says how long it would have been', (t) => {
  const ids = { commandId: uuid(1), executionId: EXECUTION };
  const outcome = (chars: number): RunOutcome => {
    const resultJson = JSON.stringify('x'.repeat(chars));
    return { status: 'completed', resultJson, error: null, totalTokens: 1200, reportedCost: null };
  };
  // An execution id of ours is a UUID: 28 characters more than the published one.
  t.type(completionOf(ids, outcome(99_899 - 28)).result, 'string');
  const over = completionOf(ids, outcome(99_900 - 28));
  t.strictSame(over, {
    command_id: ids.commandId,
    execution_id: EXECUTION,
    status: 'completed',
    result_truncated: true,
    result_chars: 100_001,
  });
  t.end();
});

t.test('size figures of the desktop are shown to the caller', async (t) => {
  const world = await started();
  await report(world, { result_truncated: true, result_chars: 60_000_000 });
  t.match(await readRun(world, world.command_id), {
    status: 'completed',
    result_truncated: true,
    result_chars: 60_000_000,
    result_limit_chars: 100_000,
  });
});

const ODD = ['a\ud83d', '\ude00b', '\ude00\ud83d', 'c\0d', '\\ud83d', '\\\ud83d', '👨‍👩‍👧🇯🇵🚀'];
const REPAIRED = ['a\ufffd', '\ufffdb', '\ufffd\ufffd', 'c\ufffdd', '\\ud83d', '\\\ufffd', '👨‍👩‍👧🇯🇵🚀'];

t.test(
  'lone surrogates and NUL in results are repaired at both borders, in values and in keys (C112, C113, C118)',
  async (t) => {
    const result = { odd: ODD, 'key\ud83d': { '\0': 1 } };
    const repaired = { odd: REPAIRED, 'key\ufffd': { '\ufffd': 1 } };
    const outcome = { status: 'completed', error: null, totalTokens: 0, reportedCost: null } as const;
    const ids = { commandId: uuid(1), executionId: EXECUTION };
    t.strictSame(completionOf(ids, { ...outcome, resultJson: JSON.stringify(result) }).result, repaired);
    const world = await started();
    t.equal((await report(world, { result })).status, 200);
    t.strictSame((await readRun(world, world.command_id)).result, repaired);
  },
);

t.test('keys like __proto__ come back as sent, in arguments and in results (C121)', async (t) => {
  const odd = JSON.parse(
    '{"__proto__":{"x":1},"constructor":2,"toString":{"__proto__":3},"hasOwnProperty":4,"":5," ":6}',
  );
  const world = await createTestRelay();
  await world.settle(world.trpc('sync', syncInput()));
  const { command_id } = await startRun(world, { arguments: odd });
  const offered = await world.settle(world.trpc('sync', syncInput()));
  t.equal(JSON.stringify(offered.body.result.data.commands[0].arguments), JSON.stringify(odd));
  await report({ ...world, command_id }, { result: odd });
  t.equal(JSON.stringify((await readRun(world, command_id)).result), JSON.stringify(odd));
  t.equal(({} as { x?: number }).x, undefined);
});

const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

t.test('a result is taken as deep as the limit', async (t) => {
  const world = await started();
  t.equal((await report(world, { result: nested(JSON_DEPTH) })).status, 200);
  t.equal((await readRun(world, world.command_id)).status, 'completed');
});

const UNREADABLE: readonly (readonly [string, object, RegExp])[] = [
  ['a result that is too deep (C119)', { result: nested(JSON_DEPTH + 1) }, /nested deeper than 64 levels/],
  ['a status from another version (C39)', { status: 'exploded' }, /status/],
  ['a missing status (C39)', { status: undefined }, /status/],
  ['a negative cost', { reported_cost: -1 }, /reported_cost/],
  ['an error that is not a text', { status: 'failed', error: { a: 1 } }, /error/],
  ['no execution', { execution_id: undefined }, /execution_id/],
];

for (const [name, completion, problem] of UNREADABLE) {
  t.test(`${name} is refused for good, and ends the run as failed with the reason`, async (t) => {
    const world = await started();
    const answer = await report(world, completion);
    t.equal(answer.status, 400);
    t.match(answer.body.error, { message: problem, data: { relayCode: 'invalid-input' } });
    const run = await readRun(world, world.command_id);
    t.match(run, { status: 'failed', error: problem });
    t.match(run.error, /^The desktop's report of this run could not be taken\./);
    t.match((await report(world, { result: 1 })).body.result.data, { already: true }, 'and stays so');
    t.equal((await readRun(world, world.command_id)).status, 'failed');
  });
}

t.test('a result 50,000 levels deep ends its run, and others go on (C119)', async (t) => {
  const world = await started();
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const body = `{"command_id":"${world.command_id}","execution_id":"${EXECUTION}","status":"completed","result":${deep}}`;
  const answer = await world.settle(world.plain('complete', body));
  t.equal(answer.status, 400);
  t.equal(answer.body.error.code, 'invalid-input');
  t.equal((await readRun(world, world.command_id)).status, 'failed');
  t.equal((await world.settle(world.trpc('sync', syncInput()))).status, 200);
});

t.test("another execution's unreadable report says nothing of the run", async (t) => {
  const world = await started();
  await report(world, { execution_id: uuid(5), status: 'exploded' });
  t.equal((await readRun(world, world.command_id)).status, 'running');
  const other = await createTestRelay({ desktops: 2 });
  await other.settle(other.trpc('sync', syncInput()));
  const { command_id } = await startRun(other);
  await other.settle(other.trpc('complete', { command_id, status: 'x' }, { desktop: 1 }));
  t.equal((await readRun(other, command_id)).status, 'queued', "nor does another desktop's");
});

t.test(
  'an error is cut to 2,000 characters with the mark inside, never within a pair, and is never refused (C112, C116)',
  async (t) => {
    for (const [error, expected] of [
      ['x'.repeat(2_000), 'x'.repeat(2_000)],
      ['x'.repeat(2_001), `${'x'.repeat(1_999)}…`],
      [`${'x'.repeat(1_998)}🚀🚀`, `${'x'.repeat(1_998)}…`],
      [`${'x'.repeat(1_997)}🚀🚀`, `${'x'.repeat(1_997)}🚀…`],
      ['a\0b\ud83d', 'ab\ufffd'],
      ['y'.repeat(5_000_000), `${'y'.repeat(1_999)}…`],
    ] as const) {
      const world = await started();
      t.equal((await report(world, { status: 'failed', error })).status, 200);
      const run = await readRun(world, world.command_id);
      t.equal(run.status, 'failed');
      t.equal(run.error, expected);
      const outcome = { status: 'failed', resultJson: null, error, totalTokens: 0, reportedCost: null } as const;
      t.equal(
        completionOf({ commandId: uuid(1), executionId: EXECUTION }, outcome).error,
        expected,
        'on the desktop too',
      );
    }
  },
);
