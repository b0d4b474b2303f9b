import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { TRIED, triedTable } from './tried.ts';

t.test('the README has the table of the clients that were tried, with the versions that were', async (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const from = readme.indexOf('### Clients that were tried');
  t.not(from, -1);
  const written = readme
    .slice(from)
    .split('\n')
    .filter((line) => line.startsWith('|'));
  const table = triedTable().split('\n');
  t.same(written.slice(0, table.length), table);
});

t.test('each client of the table has a test', async (t) => {
  for (const { test } of Object.values(TRIED)) t.ok(existsSync(new URL(test, import.meta.url)), test);
});
