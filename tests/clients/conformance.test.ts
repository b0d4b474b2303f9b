import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { addToken, type Onward } from './add-token.ts';
import { APPLYING, APPLYING_TASKS, type Applying, NOT_APPLYING } from './conformance-scope.ts';
import { playTools } from './played-tools.ts';
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

/** The suite against the relay, with a token and with its own tools played; what each scenario found. */
async function serverResults(t: Test, relay: Onward, runs: readonly (readonly string[])[]): Promise<Results> {
  const command = await conformance(t);
  const out = join(command.seat.home, 'results');
  const url = `${await addToken(t, relay)}/mcp`;
  const usual = ['--url', url, '--timeout', '60000', '--output-dir', out];
  // It ends with 1 where it ran what does not apply as well.
  for (const run of runs) await command.run(['server', ...run, ...usual]);
  t.same(command.seat.wantedOutside, []);
  return resultsIn(out, 'server-');
}

/** What did not succeed. An INFO is no check. */
function shortfalls(checks: readonly Check[]): readonly Check[] {
  return checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
}

/** Each scenario falls short of what is excepted, and of nothing else. */
function expectOnly(t: Test, results: Results, scope: Readonly<Record<string, Applying>>): void {
  for (const [scenario, checks] of results) {
    const short = shortfalls(checks);
    const { except = {} } = scope[scenario]!;
    const excepted = checks.filter(({ id }) => id in except);
    t.same(idsOf(short), idsOf(excepted), `${scenario}: ${JSON.stringify(short)}`.slice(0, 2_000));
  }
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
  const playing = playTools(shared);
  const relay = async () => ({ ...shared, play: await playing });

  t.test('each scenario of the conformance suite applies, or has a reason why it does not', async (t) => {
    const { stdout } = await (await conformance(t)).run(['list', '--server']);
    const known = [...stdout.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name).sort();
    t.same(known, Object.keys({ ...APPLYING, ...APPLYING_TASKS, ...NOT_APPLYING }).sort());
  });

  for (const version of VERSIONS) {
    t.test(
      `the scenarios that apply pass, and no answer breaks the schema of the protocol, as of ${version}`,
      async (t) => {
        const results = await serverResults(t, await relay(), [['--suite', 'all', '--spec-version', version]]);
        const applying = new Map([...results].filter(([scenario]) => scenario in APPLYING));
        const succeeded = [...applying.values()].filter((checks) => checks.some(({ status }) => status === 'SUCCESS'));
        t.ok(succeeded.length >= 5, `${succeeded.length} scenarios checked something`);
        expectOnly(t, applying, APPLYING);
        const onTheWire = [...results.values()].flat().filter(({ id }) => id === 'wire-schema-valid');
        t.ok(onTheWire.length >= 20, `${onTheWire.length} scenarios looked at each message`);
        t.same(shortfalls(onTheWire), []);
      },
    );
  }

  t.test('the scenarios of the Tasks extension that apply pass', async (t) => {
    const scenarios = Object.keys(APPLYING_TASKS);
    const results = await serverResults(
      t,
      await relay(),
      scenarios.map((scenario) => ['--scenario', scenario]),
    );
    t.same([...results.keys()].sort(), scenarios.sort());
    expectOnly(t, results, APPLYING_TASKS);
  });

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
