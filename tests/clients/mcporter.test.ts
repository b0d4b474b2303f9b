import t from 'tap';
import { ClientCommand, commandOf, finished, newSeat, type Seat } from './programs.ts';
import { allowAsOwner, type InUse, testClient, use } from './shared-graph.ts';
import { TRIED } from './tried.ts';

/** Its own limits are for people who wait. */
const UNHURRIED = { MCPORTER_LIST_TIMEOUT: '60000', MCPORTER_CALL_TIMEOUT: '60000' };

function mcporter(seat: Seat): ClientCommand {
  return new ClientCommand(seat, [commandOf(TRIED.mcporter, 'mcporter')]);
}

function inUse(command: ClientCommand, target: readonly string[]): InUse {
  return {
    async toolNames() {
      const { tools } = await command.json<{ tools: { name: string }[] }>(['list', ...target, '--json']);
      return tools.map(({ name }) => name);
    },
    call<Answer>(tool: string, args: Record<string, unknown>) {
      const call = ['--tool', tool, '--args', JSON.stringify(args), '--output', 'json'];
      return command.json<Answer>(['call', ...target, ...call]);
    },
  };
}

testClient(t, TRIED.mcporter, (t, shared) => {
  const loggingIn = ['--http-url', `${shared.mcp}?auth=required`, '--allow-http'];

  t.test('mcporter with a token lists, runs and reads', async (t) => {
    const seat = await newSeat(t, UNHURRIED);
    const target = ['--http-url', shared.mcp, '--allow-http', '--header', `Authorization=Bearer ${shared.token}`];
    await use(t, shared, inUse(mcporter(seat), target));
    t.same(seat.wantedOutside, []);
  });

  t.test('mcporter logs in at the address that asks for a login, then lists, runs and reads', async (t) => {
    const seat = await newSeat(t, UNHURRIED);
    const command = mcporter(seat);
    const login = command.start(['auth', ...loggingIn]);
    t.match((await allowAsOwner(shared, login)).text, /mcporter/i, 'the owner is told who asks');
    t.match(await finished(login, 'the login'), { code: 0 });
    await use(t, shared, inUse(command, loggingIn));
    t.same(seat.wantedOutside, []);
  });

  t.test('mcporter offers no login where the tools are listed without one', async (t) => {
    const command = mcporter(await newSeat(t, UNHURRIED));
    const open = ['--http-url', shared.mcp, '--allow-http'];
    const login = await command.run(['auth', ...open]);
    t.equal(login.code, 0);
    t.notMatch(login.stdout + login.stderr, /oauth\/authorize/);
    const { code, stderr } = await command.run(['call', ...open, '--tool', 'list_graph_sessions']);
    t.equal(code, 1);
    t.match(stderr, /Authorization required/);
  });
});
