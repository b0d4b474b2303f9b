import { join } from 'node:path';
import t, { type Test } from 'tap';
import { BenchError, type BenchErrorCode } from '../../bench/bench-error.ts';
import { FAULTS, findFaults, findModes, findWorkloads, MODES, WORKLOADS } from '../../bench/catalogue.ts';
import { faultSchema } from '../../bench/faults/fault.ts';
import { modeSchema } from '../../bench/modes/mode.ts';
import { runsOf, workloadSchema } from '../../bench/workloads/workload.ts';

async function refused(
  t: Test,
  promise: Promise<unknown>,
  told: { code: BenchErrorCode; words: string[] },
): Promise<void> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  t.type(error, BenchError);
  const { message, code } = error as BenchError;
  t.equal(code, told.code);
  for (const word of [...told.words, `[${code}]`]) t.ok(message.includes(word), `${message} / ${word}`);
}

t.test('everything of ours has the form that is asked of others', async (t) => {
  for (const mode of MODES) t.same(modeSchema.parse(mode), mode);
  for (const workload of WORKLOADS) t.same(workloadSchema.parse(workload), workload);
  for (const fault of FAULTS) t.same(faultSchema.parse(fault), fault);
});

t.test('names are found, and fanout-N for any N', async (t) => {
  t.same(
    (await findModes(['websocket', 'plain-5s'])).map(({ name }) => name),
    ['websocket', 'plain-5s'],
  );
  const [seven] = await findWorkloads(['fanout-7']);
  t.equal(runsOf(seven!), 7);
  t.equal((await findFaults(['none']))[0]!.sleep, null);
});

t.test('what is unknown is refused with what there is', async (t) => {
  await refused(t, findModes(['plain-2s']), { code: 'unknown-mode', words: ['plain-2s', 'plain-20s', './my-mode.ts'] });
  await refused(t, findWorkloads(['fanout-0']), { code: 'unknown-workload', words: ['fanout-0', 'fanout-1'] });
  await refused(t, findFaults(['rain']), { code: 'unknown-fault', words: ['rain', 'proxy-cut-15s'] });
  await refused(t, findModes(['long-poll', 'long-poll']), { code: 'name-taken', words: ['long-poll'] });
});

const MINE = `
  interface Unused { readonly why: 'types are fine' }
  export default {
    name: 'mine',
    about: 'ten seconds between polls',
    relay: { name: 'plain', holdMs: 0, controlHoldMs: 0, controlPauseMs: 3_000, tickMs: 10_000, takesAll: true },
  };
`;

t.test("a file of one's own is loaded, as TypeScript or as JSON", async (t) => {
  const folder = t.testdir({
    'mine.ts': MINE,
    'rain.json': JSON.stringify({ name: 'rain', about: 'wet', weather: { loseRequest: 0.5 }, sleep: null }),
  });
  const [mode] = await findModes([join(folder, 'mine.ts')]);
  t.equal(mode!.name, 'mine');
  t.match(mode!.relay, { tickMs: 10_000 });
  const [fault] = await findFaults([join(folder, 'rain.json')]);
  t.same(fault!.weather, { loseRequest: 0.5 });
});

t.test('a file that does not fit is refused with the member that is wrong', async (t) => {
  const folder = t.testdir({
    'typo.ts': MINE.replace('tickMs', 'tickMillis'),
    'huge.ts': MINE.replace('tickMs: 10_000', 'tickMs: 1'),
    'nothing.ts': 'export const mode = 1;',
    'broken.ts': 'export default {',
    'spaces.ts': MINE.replace("'mine'", "'my own mode'"),
  });
  const file = (name: string) => findModes([join(folder, name)]);
  await refused(t, file('typo.ts'), { code: 'file-invalid', words: ['relay.tickMs', 'tickMillis', 'bench/modes/'] });
  await refused(t, file('huge.ts'), { code: 'file-invalid', words: ['relay.tickMs', '100'] });
  await refused(t, file('nothing.ts'), { code: 'file-invalid', words: ['the default export'] });
  await refused(t, file('spaces.ts'), { code: 'file-invalid', words: ['name', 'small letters'] });
  await refused(t, file('broken.ts'), { code: 'file-unreadable', words: ['broken.ts'] });
  await refused(t, file('missing.ts'), { code: 'file-unreadable', words: ['missing.ts'] });
});
