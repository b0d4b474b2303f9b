import t, { type Test } from 'tap';
import { ClientCommand, finished, folderOf, newSeat, type Seat, start } from './programs.ts';
import { allowAsOwner, linkOf, shareGraph, testClient } from './shared-graph.ts';
import { TRIED } from './tried.ts';

/** Where nothing is installed by scripts, this starts the program. */
const WRAPPER = `${folderOf(TRIED.claudeCode)}/cli-wrapper.cjs`;

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  DISABLE_AUTOUPDATER: '1',
  // Its own limit is for people who wait.
  MCP_TIMEOUT: '60000',
};

async function claude(t: Test): Promise<ClientCommand> {
  return new ClientCommand(await newSeat(t, QUIET), [WRAPPER]);
}

async function add(t: Test, command: ClientCommand, args: readonly string[]): Promise<void> {
  const { code, stderr } = await command.run(['mcp', 'add', '--scope', 'user', '--transport', 'http', ...args]);
  t.equal(code, 0, stderr);
}

/** What it says about each server. */
async function listed(command: ClientCommand): Promise<Record<string, string>> {
  const { stdout } = await command.run(['mcp', 'list']);
  return Object.fromEntries([...stdout.matchAll(/^(\w+): .* - (.*)$/gm)].map(([, name, state]) => [name, state]));
}

/** It logs in on a terminal only. */
function startLogin(seat: Seat, name: string) {
  const words = [process.execPath, WRAPPER, 'mcp', 'login', name].map((word) => `'${word}'`).join(' ');
  return start(seat, 'script', ['--quiet', '--return', '--command', words, '/dev/null']);
}

testClient(t, TRIED.claudeCode, (t, shared) => {
  t.test('Claude Code connects with a token, and says what is wrong with a bad one', async (t) => {
    const command = await claude(t);
    await add(t, command, ['good', shared.mcp, '--header', `Authorization: Bearer ${shared.token}`]);
    await add(t, command, ['bad', shared.mcp, '--header', 'Authorization: Bearer gra_unknown']);
    const states = await listed(command);
    t.match(states, { good: /Connected/, bad: /Failed to connect.*The access token is not valid.*Ask the owner/ });
    t.same(command.seat.wantedOutside, []);
  });

  t.test(
    'Claude Code sees no need for a login at the open address, and says that it needs one at the other',
    async (t) => {
      const command = await claude(t);
      await add(t, command, ['open', shared.mcp]);
      await add(t, command, ['closed', `${shared.mcp}?auth=required`]);
      t.match(await listed(command), { open: /Connected/, closed: /Needs authentication/ });
      const login = startLogin(command.seat, 'closed');
      const { searchParams } = new URL(await linkOf(login));
      t.match(searchParams.get('client_id'), /^https:\/\/claude\.ai\//, 'it is known by its document');
      t.equal(searchParams.get('resource'), `${shared.mcp}?auth=required`);
      await login.end('SIGKILL');
      t.same(command.seat.wantedOutside, []);
    },
  );

  t.test('Claude Code registers with a relay that takes no documents, logs in, and is connected', async (t) => {
    const secluded = await shareGraph(t, { env: { GRAPH_RELAY_CLIENT_DOCUMENTS: 'off' } });
    const command = await claude(t);
    await add(t, command, ['closed', `${secluded.mcp}?auth=required`]);
    const login = startLogin(command.seat, 'closed');
    t.match((await allowAsOwner(secluded, login)).text, /Claude Code/, 'the owner is told who asks');
    t.match(await finished(login, 'the login'), { code: 0 });
    t.match(await listed(command), { closed: /Connected/ });
    t.same(command.seat.wantedOutside, []);
  });
});
