import t from 'tap';
import { RelayError } from '../../protocol/errors.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { createAccess } from '../../server/access.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';

function createOwner(store = createMemoryState<RelayTables>({ tables: RELAY_TABLES })) {
  let made = 0;
  const next = () => {
    made += 1;
    return String(made).padStart(12, '0');
  };
  const ids = {
    uuid: () => `00000000-0000-4000-8000-${next()}`,
    hex: (bytes: number) => next().padStart(bytes * 2, 'f'),
  };
  const clock = { now: () => 1_000 + made, monotonic: () => 0, after: () => ({ cancel() {} }) };
  return { store, access: createAccess({ store, ports: { ids, clock } }) };
}

const AGENT = { kind: 'agent', name: 'Claude', projects: ['home'] } as const;
const DESKTOP = { kind: 'desktop', name: 'Mac mini' } as const;

t.test('an agent token opens what it was made for, and its text is not kept', async (t) => {
  const { access, store } = createOwner();
  const { token, row } = await access.createToken({ ...AGENT, projects: ['home', 'work', 'home'] });
  t.match(token, /^gra_[0-9a-f]{64}$/);
  t.strictSame(access.agentOf(token), {
    agentId: row.subjectId,
    name: 'Claude',
    projects: ['home', 'work'],
    scopes: ['osfoundry:read', 'osfoundry:run'],
  });
  t.match(row.hash, /^[0-9a-f]{64}$/);
  const kept = JSON.stringify(RELAY_TABLES.map((table) => [...store.rows(table).values()]));
  t.notMatch(kept, token.slice('gra_'.length));
});

t.test('a desktop token opens the desktop side only, and an agent token the other only', async (t) => {
  const { access } = createOwner();
  const agent = await access.createToken(AGENT);
  const desktop = await access.createToken(DESKTOP);
  t.match(desktop.token, /^grd_[0-9a-f]{64}$/);
  t.strictSame(access.desktopOf(desktop.token), { desktopId: desktop.row.subjectId, name: 'Mac mini' });
  t.equal(access.agentOf(desktop.token), null);
  t.equal(access.desktopOf(agent.token), null);
  const disguised = `gra_${desktop.token.slice('grd_'.length)}`;
  t.equal(access.agentOf(disguised), null);
});

t.test('nothing else opens anything', async (t) => {
  const { access } = createOwner();
  const { token, row } = await access.createToken(AGENT);
  for (const wrong of ['', 'gra_', token.slice(0, -1), `${token}0`, token.toUpperCase(), row.hash, `gra_${row.hash}`]) {
    t.equal(access.agentOf(wrong), null, wrong);
    t.equal(access.desktopOf(wrong), null, wrong);
  }
});

t.test('tokens work after a restart, and missing projects were made with them', async (t) => {
  const { access, store } = createOwner();
  const first = await access.createToken(AGENT);
  const home = store.rows('project').get('home');
  await access.createToken({ ...AGENT, name: 'Cursor', projects: ['home', 'work'] });
  t.strictSame([...store.rows('project').keys()], ['home', 'work']);
  t.equal(store.rows('project').get('home'), home, 'a project that is there is left alone');
  const restarted = createOwner(store).access;
  t.match(restarted.agentOf(first.token), { name: 'Claude' });
  t.strictSame(
    restarted.listTokens().map(({ name }) => name),
    ['Claude', 'Cursor'],
  );
});

t.test('a revoked token is refused at once, by its id or its name, before the disk knows', async (t) => {
  const { access, store } = createOwner();
  const agent = await access.createToken(AGENT);
  const desktop = await access.createToken(DESKTOP);
  const revoked = access.revokeToken(agent.row.tokenId.toUpperCase());
  t.equal(access.agentOf(agent.token), null);
  t.strictSame(await revoked, agent.row);
  store.failWrites('the disk is full');
  await t.rejects(access.revokeToken('Mac mini'), { code: 'store-unavailable' });
  t.equal(access.desktopOf(desktop.token), null, 'refused although the disk is full');
  store.failWrites(null);
  t.equal(await access.revokeToken('Mac mini'), null);
  t.strictSame(access.listTokens(), []);
});

t.test('a name that stands for two tokens revokes neither', async (t) => {
  const { access } = createOwner();
  const agent = await access.createToken({ ...AGENT, name: 'Studio' });
  const desktop = await access.createToken({ ...DESKTOP, name: 'Studio' });
  await t.rejects(access.revokeToken('Studio'), { code: 'invalid-input', message: /Give the id/ });
  await access.revokeToken(desktop.row.tokenId);
  t.strictSame(await access.revokeToken('Studio'), agent.row);
});

t.test('a name is unique among the live tokens of its kind', async (t) => {
  const { access } = createOwner();
  await access.createToken({ ...DESKTOP, name: 'Caf\u00e9' });
  await t.rejects(access.createToken({ ...DESKTOP, name: 'Cafe\u0301' }), {
    code: 'invalid-input',
    message: /already/,
  });
  const twice = [access.createToken(AGENT), access.createToken(AGENT)];
  t.strictSame(
    (await Promise.allSettled(twice)).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  await access.revokeToken('Claude');
  await access.createToken(AGENT);
});

t.test('a name is 1-64 visible characters', async (t) => {
  const { access } = createOwner();
  for (const name of ['x', 'Łukasz MacBook', '客厅电脑', '🚀'.repeat(64)]) {
    t.equal((await access.createToken({ ...DESKTOP, name })).row.name, name);
  }
  const invisible = [
    '',
    ' ',
    ' x',
    'x ',
    'a\nb',
    'a\u200bb',
    'a\u202eb',
    'a\u00a0b',
    'a\u2028b',
    '\ud83d',
    'y'.repeat(65),
  ];
  for (const [index, name] of invisible.entries()) {
    await t.rejects(access.createToken({ ...DESKTOP, name }), { code: 'invalid-input' }, `invisible name ${index}`);
  }
});

t.test('projects are checked: an agent has some, a desktop has none', async (t) => {
  const { access, store } = createOwner();
  const wrong = [
    { kind: 'agent', name: 'a' },
    { kind: 'agent', name: 'a', projects: [] },
    { kind: 'agent', name: 'a', projects: ['home', '../etc'] },
    { kind: 'desktop', name: 'd', projects: ['home'] },
  ] as const;
  for (const request of wrong) await t.rejects(access.createToken(request), RelayError);
  await t.rejects(access.createToken(wrong[2]), {
    message:
      '"../etc" is not a project id: expected 1-64 letters, digits, dots, dashes or underscores, a letter or digit first.',
  });
  t.equal(store.rows('project').size, 0);
});

t.test('a token that could not be stored is taken back, so its name stays free', async (t) => {
  const { access, store } = createOwner();
  store.failWrites('the disk is full');
  await t.rejects(access.createToken(AGENT), { code: 'store-unavailable' });
  store.failWrites(null);
  t.strictSame(access.listTokens(), []);
  const { token } = await access.createToken(AGENT);
  t.match(access.agentOf(token), { name: 'Claude' });
});
