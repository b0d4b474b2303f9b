import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { addToken } from './add-token.ts';
import { APPLYING, NOT_APPLYING } from './conformance-scope.ts';
import { ClientCommand, commandOf, finished, newSeat } from './programs.ts';
import { allowAsOwner, testClient } from './shared-graph.ts';
import { TRIED } from './tried.ts';

const VERSIONS = ['2025-06-18', '2025-11-25', '2026-07-28'];

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** The checks of each scenario that was run. */
type Results = ReadonlyMap<string, readonly Check[]>;

async function conformance(t: Test): Promise<ClientCommand> {
  return new ClientCommand(await newSeat(t), [commandOf(TRIED.conformance, 'conformance')]);
}

async function resultsIn(folder: string, prefix: string): Promise<Results> {
  const results = new Map<string, readonly Check[]>();
  for (const name of await readdir(folder)) {
    const scenario = name.slice(prefix.length).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    results.set(scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')));
  }
  return results;
}

/** What did not succeed. An INFO is no check. */
function shortfalls(checks: readonly Check[]): readonly Check[] {
  return checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
}

function idsOf(checks: readonly Check[]): string[] {
  return checks.map(({ id }) => id).sort();
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((done) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}

async function register(relayUrl: string, redirect: string): Promise<string> {
  const response = await fetch(`${relayUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Conformance', redirect_uris: [redirect] }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

testClient(t, TRIED.conformance, (t, shared) => {
  t.test('each scenario of the conformance suite applies, or has a reason why it does not', async (t) => {
    const { stdout } = await (await conformance(t)).run(['list', '--server']);
    const known = [...stdout.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name).sort();
    t.same(known, [...Object.keys(APPLYING), ...Object.keys(NOT_APPLYING)].sort());
  });

  for (const version of VERSIONS) {
    t.test(`the scenarios that apply pass, as of ${version}`, async (t) => {
      const command = await conformance(t);
      const out = join(command.seat.home, 'results');
      const url = `${await addToken(t, shared.relayUrl, shared.token)}/mcp`;
      // It ends with 1, since it runs what does not apply as well.
      await command.run([
        'server',
        '--url',
        url,
        '--suite',
        'all',
        '--spec-version',
        version,
        '--timeout',
        '60000',
        '--output-dir',
        out,
      ]);
      const results = await resultsIn(out, 'server-');
      const applying = [...results].filter(([scenario]) => scenario in APPLYING);
      const succeeded = applying.filter(([, checks]) => checks.some(({ status }) => status === 'SUCCESS'));
      t.ok(succeeded.length >= 3, `${succeeded.length} scenarios checked something`);
      for (const [scenario, checks] of applying) {
        const short = shortfalls(checks);
        const { except = {} } = APPLYING[scenario]!;
        const excepted = checks.filter(({ id }) => id in except);
        t.same(idsOf(short), idsOf(excepted), `${scenario}: ${JSON.stringify(short)}`.slice(0, 2_000));
      }
      t.same(command.seat.wantedOutside, []);
    });
  }

  t.test('the scenarios for an authorization server pass, with the owner who allows it', async (t) => {
    const command = await conformance(t);
    const out = join(command.seat.home, 'results');
    const port = String(await freePort());
    const id = await register(shared.relayUrl, `http://127.0.0.1:${port}/callback`);
    const client = ['--client-id', id, '--port', port, '--resource', shared.mcp];
    const suite = command.start(['authorization', '--url', shared.relayUrl, ...client, '--output-dir', out]);
    await allowAsOwner(shared, suite);
    t.match(await finished(suite, 'the suite'), { code: 0 });
    const results = await resultsIn(out, 'authorization-server-');
    t.same([...results.keys()].sort(), ['authorization-code-grant', 'authorization-server-metadata-endpoint']);
    for (const [scenario, checks] of results) t.same(shortfalls(checks), [], scenario);
    t.same(command.seat.wantedOutside, []);
  });
});
