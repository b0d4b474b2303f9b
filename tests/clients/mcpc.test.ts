import t, { type Test } from 'tap';
import { ClientCommand, commandOf, finished, newSeat, type Seat } from './programs.ts';
import { allowAsOwner, type InUse, testClient, use } from './shared-graph.ts';
import { TRIED } from './tried.ts';

function mcpc(seat: Seat): ClientCommand {
  return new ClientCommand(seat, [commandOf(TRIED.mcpc, 'mcpc'), '--json']);
}

/** A process of its own stays for a session; it goes with the test. */
async function connect(t: Test, command: ClientCommand, args: readonly string[]): Promise<InUse> {
  t.teardown(() => command.run(['close', '@relay']));
  await command.json(['connect', ...args, '@relay']);
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
