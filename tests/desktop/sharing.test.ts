/** What the owner shares, and a run's outcome as it goes to the relay. */
import t from 'tap';
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { completionOf } from '../../desktop-agent/completion.ts';
import type { RunOutcome } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { Sharing } from '../../desktop-agent/sharing.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { ERROR_CHARS, RESULT_ENVELOPE_CHARS } from '../../protocol/limits.ts';
import { completeInputSchema } from '../../protocol/schemas.ts';
import { command, FakeLibrary, localSession, SESSION } from './support.ts';

function setUp() {
  const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES });
  const library = new FakeLibrary();
  let changes = 0;
  const sharing = new Sharing({ store, library, onChange: () => changes++ });
  return { store, library, sharing, changes: () => changes };
}

t.test('nothing may run before it was shared, and then only that session for that project', async (t) => {
  const { sharing } = setUp();
  t.equal(sharing.allows(command({ project_id: 'home' })), false);
  await sharing.share('home', SESSION);
  t.equal(sharing.allows(command({ project_id: 'home' })), true);
  t.equal(sharing.allows(command({ project_id: 'work' })), false);
  t.equal(sharing.allows(command({ graph_session_id: `gs_${'0'.repeat(32)}` })), false);
  t.equal(sharing.allows(command({ slug: 'other' })), false);
  for (const name of ['__proto__', 'constructor', 'toString']) {
    t.equal(sharing.allows(command({ project_id: name })), false, name);
    t.equal(sharing.allows(command({ graph_session_id: name })), false, name);
  }
});

t.test('a tick that is taken away leaves the project enabled, and disabling it forgets the ticks', async (t) => {
  const { sharing, changes } = setUp();
  await sharing.share('home', SESSION);
  await sharing.unshare('home', SESSION);
  t.same(sharing.projectsForSync(), [{ project_id: 'home', sessions: [] }]);
  t.equal(await sharing.unshare('home', SESSION), null);
  await sharing.share('home', SESSION);
  t.equal(await sharing.disable('home'), true);
  t.equal(await sharing.disable('home'), false);
  t.same(sharing.projectsForSync(), []);
  t.equal(changes(), 4, 'each real change is told, and no other');
});

t.test('a shared session that has no file is not told to the relay, and is back with its file', async (t) => {
  const { sharing, library } = setUp();
  await sharing.share('home', SESSION);
  library.sessions = [];
  t.same(sharing.projectsForSync(), [{ project_id: 'home', sessions: [] }]);
  t.equal(sharing.allows(command()), false);
  library.sessions = [localSession({ version: 7, status: 'broken', problem: 'line 3' })];
  const [project] = sharing.projectsForSync();
  t.match(project?.sessions, [{ version: 7, status: 'broken' }]);
  t.notOk(JSON.stringify(project).includes('line 3'), 'the file name and the problem stay here');
  t.notOk(JSON.stringify(project).includes('hello.js'));
});

t.test('a project id is checked, and the bounds of a sync are kept', async (t) => {
  const { sharing } = setUp();
  for (const bad of ['', ' ', '__proto__', 'a b', 'a/b', 'x'.repeat(65)]) {
    await t.rejects(sharing.share(bad, SESSION), { code: 'invalid-input' }, JSON.stringify(bad));
  }
  const { hex } = seededIds(seededRandom(1));
  for (let index = 0; index < 100; index++) await sharing.share('home', `gs_${hex(16)}`);
  await t.rejects(sharing.share('home', SESSION), { message: /100 shared sessions/ });
  for (let index = 1; index < 50; index++) await sharing.share(`p${index}`, SESSION);
  await t.rejects(sharing.share('one-more', SESSION), { message: /50 projects/ });
});

t.test('consent is on disk when it is told, and withdrawn in memory at once', async (t) => {
  const { sharing, store } = setUp();
  await sharing.share('home', SESSION);
  store.failWrites('no space left on device');
  await t.rejects(sharing.unshare('home', SESSION), { code: 'store-unavailable' });
  t.equal(sharing.allows(command()), false, 'a withdrawal that is not on disk counts all the same');
});

const IDS = { commandId: '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22', executionId: '11111111-1111-4111-8111-111111111111' };

function outcome(changes: Partial<RunOutcome>): RunOutcome {
  return { status: 'completed', resultJson: null, error: null, totalTokens: 0, reportedCost: null, ...changes };
}

function envelope(resultJson: string, totalTokens = 0): string {
  const { executionId } = IDS;
  return `{"execution_id":"${executionId}","status":"completed","result":${resultJson},"total_tokens":${totalTokens},"reported_cost":null}`;
}

t.test(
  'a result fits up to the bound of its envelope, to the character, and is truncated as a whole beyond',
  async (t) => {
    const room = RESULT_ENVELOPE_CHARS - envelope('""').length;
    for (const [chars, fits] of [
      [room - 1, true],
      [room, true],
      [room + 1, false],
      [2 * room, false],
    ] as const) {
      const resultJson = JSON.stringify('x'.repeat(chars));
      t.equal(envelope(resultJson).length <= RESULT_ENVELOPE_CHARS, fits);
      const completion = completionOf(IDS, outcome({ resultJson }));
      if (fits) t.equal(completion.result, 'x'.repeat(chars));
      else
        t.same(completion, {
          command_id: IDS.commandId,
          execution_id: IDS.executionId,
          status: 'completed',
          result_truncated: true,
          result_chars: envelope(resultJson).length,
        });
      t.ok(completeInputSchema.safeParse(completion).success);
    }
  },
);

t.test('the bound counts characters and not bytes', async (t) => {
  const resultJson = JSON.stringify('漢'.repeat(RESULT_ENVELOPE_CHARS - envelope('""').length));
  t.equal(completionOf(IDS, outcome({ resultJson })).result_truncated, undefined);
});

t.test('a failure is told in a clean text of bounded length, whatever it was (C116)', async (t) => {
  const texts = ['a\0b', 'a\ud800', 'x'.repeat(5 * 1024 * 1024), '', `${'x'.repeat(1_998)}\u{1f469}\u{1f469}`];
  for (const error of texts) {
    const completion = completionOf(IDS, outcome({ status: 'failed', error }));
    t.ok(completeInputSchema.safeParse(completion).success);
    t.ok(completion.error!.length <= ERROR_CHARS);
    t.ok(completion.error!.isWellFormed());
  }
});

t.test('a result keeps its keys, and null is a result', async (t) => {
  const resultJson = '{"__proto__":{"a":1},"constructor":2}';
  t.equal(JSON.stringify(completionOf(IDS, outcome({ resultJson })).result), resultJson);
  t.ok(Object.hasOwn(completionOf(IDS, outcome({ resultJson: 'null' })), 'result'));
  t.notOk(Object.hasOwn(completionOf(IDS, outcome({ status: 'failed', error: 'x' })), 'result'));
});
