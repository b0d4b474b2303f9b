import t, { type Test } from 'tap';
import { ClientCommand, commandOf, finished, newSeat, type Seat } from './programs.ts';
import { allowAsOwner, type InUse, testClient, use } from './shared-graph.ts';
import { TRIED } from './tried.ts';

function mcpc(seat: Seat): ClientCommand {
  return new ClientCommand(seat, [commandOf(TRIED.mcpc, 'mcpc'), '--json']);
}

// mcpc gives the process that it starts for a session 5 s to be up (`lib/bridge-manager.js` of 0.2.6), which a loaded
// machine does not always keep. It says so with these words, and asking again is all that a user can do.
const STARTED_LATE = 'Bridge failed to start';
const STARTS = 8;

async function connectPatiently(command: ClientCommand, args: readonly string[]): Promise<void> {
  for (let start = 1; ; start += 1) {
    const { code, stdout, stderr } = await command.run(['connect', ...args, '@relay']);
    if (code === 0) return;
    const said = `${stderr}${stdout}`;
    if (start === STARTS || !said.includes(STARTED_LATE)) throw new Error(`connect ended with ${code}: ${said}`);
    await command.run(['close', '@relay']);
  }
}

/** A process of its own stays for a session; it goes with the test. */
async function connect(t: Test, command: ClientCommand, args: readonly string[]): Promise<InUse> {
  t.teardown(() => command.run(['close', '@relay']));
  await connectPatiently(command, args);
  return {
    async toolNames() {
      const tools = await command.json<{ name: string }[]>(['@relay', 'tools-list']);
      return tools.map(({ name }) => name);
    },
    async call<Answer>(tool: string, args: Record<string, unknown>) {
      const call = ['@relay', 'tools-call', tool, JSON.stringify(args)];
      return (await command.json<{ structuredContent: Answer }>(call)).structuredContent;
    },
  };
}

testClient(t, TRIED.mcpc, (t, shared) => {
  t.test('mcpc with a token lists, runs and reads', async (t) => {
    const seat = await newSeat(t);
    const header = ['--header', `Authorization: Bearer ${shared.token}`];
    await use(t, shared, await connect(t, mcpc(seat), [shared.mcp, ...header]));
    t.same(seat.wantedOutside, []);
  });

  t.test('mcpc logs in, then lists, runs and reads', async (t) => {
    const seat = await newSeat(t);
    const command = mcpc(seat);
    const login = command.start(['login', shared.mcp]);
    t.match((await allowAsOwner(shared, login)).text, /mcpc/i, 'the owner is told who asks');
    const { code, stdout } = await finished(login, 'the login');
    t.equal(code, 0);
    t.match(JSON.parse(stdout), { serverUrl: shared.mcp, scopes: ['osfoundry:read', 'osfoundry:run'] });
    await use(t, shared, await connect(t, command, [shared.mcp]));
    t.same(seat.wantedOutside, []);
  });
});
