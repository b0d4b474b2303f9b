import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { type PermissionRule, Permissions } from '../../desktop-agent/tools/permissions.ts';
import { createMemoryState, type MemoryImage } from '../../protocol/host/state/memory-state.ts';

function open(restore?: MemoryImage) {
  const clock = new VirtualClock();
  const options = { tables: DESKTOP_TABLES, clock, syncDelayMs: 5, ...(restore && { restore }) };
  const store = createMemoryState<DesktopTables>(options);
  const permissions = new Permissions({ store, clock });
  const set = (pattern: string, rule: PermissionRule) => clock.settle(permissions.set(pattern, rule));
  return { clock, store, permissions, set };
}

type Entries = Readonly<Record<string, PermissionRule>>;

/** Each in every order in which its entries can be made. */
const MATRIX: readonly (readonly [why: string, entries: Entries, expected: PermissionRule, from: string | null])[] = [
  ['nothing was said', {}, 'ask', null],
  ['another tool was named', { 'files.write': 'deny', 'web.*': 'deny' }, 'ask', null],
  ['the tool is allowed', { 'files.read': 'allow' }, 'allow', 'files.read'],
  ['the tool is denied', { 'files.read': 'deny' }, 'deny', 'files.read'],
  ['the server is allowed', { 'files.*': 'allow' }, 'allow', 'files.*'],
  ['the server is denied', { 'files.*': 'deny' }, 'deny', 'files.*'],
  ['the tool is an exception to its server', { 'files.*': 'deny', 'files.read': 'allow' }, 'allow', 'files.read'],
  ['the tool is denied in an allowed server', { 'files.*': 'allow', 'files.read': 'deny' }, 'deny', 'files.read'],
  ['the tool is asked in an allowed server', { 'files.*': 'allow', 'files.read': 'ask' }, 'ask', 'files.read'],
  ['the server comes before all', { '*': 'allow', 'files.*': 'deny' }, 'deny', 'files.*'],
  ['the longer pattern comes first', { 'files.*': 'deny', 'files.re*': 'allow' }, 'allow', 'files.re*'],
  ['the longest one does, among many', { '*': 'allow', 'files.*': 'ask', 'files.r*': 'deny' }, 'deny', 'files.r*'],
  ['a name comes before every pattern', { 'files.rea*': 'deny', 'files.read': 'allow' }, 'allow', 'files.read'],
  ['also before one that is longer', { 'files.read*': 'deny', 'files.read': 'allow' }, 'allow', 'files.read'],
];

for (const [why, entries, rule, pattern] of MATRIX) {
  t.test(`files.read: ${rule}, when ${why}`, async (t) => {
    for (const order of [Object.entries(entries), Object.entries(entries).reverse()]) {
      const { permissions, set } = open();
      for (const [name, said] of order) await set(name, said);
      t.same(permissions.of('files.read'), { rule, pattern });
    }
  });
}

t.test('what was decided survives a kill, and what was taken back stays so', async (t) => {
  const first = open();
  await first.set('files.*', 'allow');
  t.equal(await first.set('files.write', 'deny'), true);
  t.equal(await first.set('files.write', 'deny'), false, 'it was that way before');
  const second = open(first.store.crash());
  t.same(second.permissions.of('files.write'), { rule: 'deny', pattern: 'files.write' });
  t.equal(await second.clock.settle(second.permissions.forget('files.write')), true);
  t.equal(await second.clock.settle(second.permissions.forget('files.write')), false);
  const third = open(second.store.crash());
  t.same(third.permissions.of('files.write'), { rule: 'allow', pattern: 'files.*' });
  t.same(
    third.permissions.list().map(({ pattern }) => pattern),
    ['files.*'],
  );
});

t.test('an entry is promised when it is on disk, and not before', async (t) => {
  const { clock, permissions } = open();
  let promised = false;
  void permissions.set('files.*', 'deny').then(() => {
    promised = true;
  });
  await clock.advance(4);
  t.notOk(promised);
  await clock.advance(1);
  t.ok(promised);
});
