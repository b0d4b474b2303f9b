/**
 * The law of this repository as a test: sizes, headers, arrows between its parts, clock and chance only in the ports.
 *
 * The rules are in support/tidy-rules.ts, and support/tidy-rules.test.ts shows that they bite. What may differ is named here with its reason; an exception that nothing
 * needs any more fails the test as well.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import {
  type Arrows,
  checkArrows,
  checkBanned,
  checkFunctions,
  checkHeader,
  checkLength,
  checkText,
  type Finding,
  importsOf,
  type Rule,
  treeOf,
} from './support/tidy-rules.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Exception {
  readonly file: string;
  readonly rule: Rule;
  /** The finding's name; all findings of this rule in this file when it is left out. */
  readonly name?: string;
  readonly reason: string;
}

const FACTORY = 'a factory: its lines are the short functions in it';

const EXCEPTIONS: readonly Exception[] = [
  { file: 'protocol/host/system-ports.ts', rule: 'banned', reason: 'the one file with the real clock and chance' },
  { file: 'protocol/host/state/node-disk.ts', rule: 'banned', reason: 'unique names of temporary files' },
  { file: 'desktop-agent/engine/sandbox/worker-clock.ts', rule: 'banned', reason: 'a worker thread gets no ports' },
  { file: 'bench/sim/virtual-clock.ts', rule: 'banned', reason: 'lets turns of the event loop pass between events' },
  { file: 'bench/pickup/stamp.ts', rule: 'banned', reason: 'instants that three processes compare' },
  { file: 'desktop-agent/agent.ts', rule: 'function-lines', name: 'createAgent', reason: FACTORY },
  {
    file: 'desktop-agent/dialer/tunnel.ts',
    rule: 'banned',
    reason: 'the time-out of a socket of node:net, which is no timer of ours',
  },
  { file: 'server/agent-calls.ts', rule: 'function-lines', name: 'createAgentCalls', reason: FACTORY },
  { file: 'server/relay.ts', rule: 'function-lines', name: 'createRelay', reason: FACTORY },
  { file: 'bench/start/start.ts', rule: 'function-lines', name: 'start', reason: 'one story, told in order' },
  { file: 'tests/state/store-contract.ts', rule: 'function-lines', name: 'testRefusal', reason: 'a suite of tests' },
  {
    file: 'desktop-agent/engine/sandbox/guest-vm.ts',
    rule: 'parameters',
    name: 'fd_write',
    reason: 'the signature is given by WASI',
  },
  { file: 'tests/contract/drain.test.ts', rule: 'parameters', name: 'bins', reason: 'arithmetic over one list' },
  { file: 'tests/contract/plain-json.test.ts', rule: 'parameters', name: 'sync', reason: 'a request in one line' },
  { file: 'server/rehearsal.ts', rule: 'parameters', name: 'post', reason: 'a request in one line, used in one place' },
];

const ROOTS = 'a composition root or a command of the owner';

/** Modules of the server and the desktop that use the real machine. */
const USES_HOST: Readonly<Record<string, string>> = {
  'server/main.ts': ROOTS,
  'server/cli.ts': ROOTS,
  'server/token-commands.ts': ROOTS,
  'server/owner-commands.ts': ROOTS,
  'server/http-server.ts': 'opens the socket and ends the process when it cannot',
  'server/auth/opening.ts': 'takes the environment and speaks to the terminal',
  'server/local-api.ts': 'is served on the local socket only',
  'server/owner-limits.ts': 'options of the command line',
  'server/status-command.ts': ROOTS,
  'server/rehearsal.ts': 'a throw-away relay on a store in memory',
  'desktop-agent/main.ts': ROOTS,
  'desktop-agent/agents/open-agents.ts': ROOTS,
  'desktop-agent/command-line/actions/agents.ts': ROOTS,
  'desktop-agent/command-line/options.ts': 'options of the command line',
  'desktop-agent/command-line/actions/admin.ts': ROOTS,
  'desktop-agent/command-line/actions/check.ts': ROOTS,
  'desktop-agent/command-line/actions/graph-files.ts': ROOTS,
  'desktop-agent/command-line/actions/graphs.ts': ROOTS,
  'desktop-agent/command-line/actions/logs.ts': ROOTS,
  'desktop-agent/command-line/actions/names.ts': ROOTS,
  'desktop-agent/command-line/names.ts': 'gives names to completion',
  'desktop-agent/command-line/actions/watch.ts': ROOTS,
  'desktop-agent/watch/fit.ts': 'words for a terminal',
  'desktop-agent/command-line/actions/run-here.ts': ROOTS,
  'desktop-agent/command-line/event-lines.ts': 'words for a terminal',
  'desktop-agent/command-line/tool-text.ts': 'words for a terminal',
  'desktop-agent/command-line/given-arguments.ts': 'reads the command line',
  'desktop-agent/command-line/actions/service.ts': ROOTS,
  'desktop-agent/command-line/actions/sharing.ts': ROOTS,
  'desktop-agent/command-line/actions/state.ts': ROOTS,
  'desktop-agent/desktop-log.ts': 'finds the log of the desktop',
  'desktop-agent/graph-folder.ts': 'finds the folder of the Graphs',
  'desktop-agent/local-api.ts': 'is served on the local socket only',
  'desktop-agent/command-line/run-limits.ts': 'options of the command line',
  'desktop-agent/command-line/run-text.ts': 'paints and cleans what a terminal gets',
  'desktop-agent/command-line/replay-text.ts': 'cleans what a terminal gets',
  'desktop-agent/command-line/actions/runs.ts': ROOTS,
  'desktop-agent/command-line/actions/replay.ts': ROOTS,
  'desktop-agent/command-line/actions/on-screen.ts': ROOTS,
  'desktop-agent/runs/open-runs.ts': ROOTS,
  'desktop-agent/runs/remote-desk.ts': 'asks over the local socket',
  'desktop-agent/runs/record-files.ts': 'keeps its files through the port of the disk',
  'desktop-agent/runs/runs-router.ts': 'is served on the local socket only',
  'desktop-agent/rehearsal.ts': 'a throw-away desktop on a store in memory',
  'desktop-agent/service/service-file.ts': 'names the codes that are final',
  'desktop-agent/tools/tools-api.ts': 'is served on the local socket only',
  'desktop-agent/command-line/actions/tools.ts': ROOTS,
  'desktop-agent/command-line/actions/tools-here.ts': ROOTS,
  'desktop-agent/engine/sandbox.ts': 'starts the worker thread',
  'desktop-agent/doctor.ts': ROOTS,
  'desktop-agent/login/desktop-access.ts': 'reads the token and ends the process without one',
  'desktop-agent/login/login-command.ts': ROOTS,
  'desktop-agent/login/login-file.ts': 'writes the login as durably as the state',
  'desktop-agent/dialer/trust.ts': 'reads certificates and ends the process when it cannot',
};

/** Modules of the server and the desktop that the bench may use. */
const OPEN_TO_BENCH: Readonly<Record<string, string>> = {
  'server/relay.ts': 'composition root of the relay',
  'server/rows.ts': 'the tables that its store is made for',
  'server/agent-api.ts': 'what callers of the relay get',
  'server/local-api.ts': 'what the owner may ask of a running relay',
  'server/mcp/tool-call.ts': 'what a tool call costs a model is counted on what goes out',
  'server/mcp/last-told.ts': 'each client that is simulated was told other things',
  'server/cli.ts': 'the command line mounts it',
  'desktop-agent/agent.ts': 'composition root of the desktop',
  'desktop-agent/rows.ts': 'the tables that its store is made for',
  'desktop-agent/engine/engine.ts': 'what a run costs is measured',
  'desktop-agent/modes.ts': 'the modes that are compared',
  'desktop-agent/ports.ts': 'the ports of the desktop',
  'desktop-agent/graph-library.ts': 'the ports of the desktop',
  'desktop-agent/local-api.ts': 'what the owner may ask of a running desktop',
  'desktop-agent/dialer/dialers.ts': 'the production transports',
  'desktop-agent/dialer/http-client.ts': 'a production transport',
  'desktop-agent/dialer/open-socket.ts': 'a production transport',
  'desktop-agent/dialer/socket-link.ts': 'the port of a socket, and the link that the quick path drives',
  'desktop-agent/transports.ts': 'the shape of the dialers',
  'server/desktop-sockets.ts': 'the port of a socket',
  'server/access.ts': 'the shape of tokens, and making many at once',
  'server/main.ts': 'the production process, for a bench that looks on from inside',
  'server/upgrades.ts': 'who is granted a WebSocket',
  'desktop-agent/rehearsal.ts': 'part of a production start',
};

const ARROWS: Arrows = {
  usesHost: new Set(Object.keys(USES_HOST)),
  openToBench: new Set(Object.keys(OPEN_TO_BENCH)),
};

/** What belongs to the repository: tracked, or new and not ignored. */
function repositoryFiles(): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return listed.split('\n').filter((file) => file !== '' && existsSync(ROOT + file));
}

function findingsIn(file: string): Finding[] {
  const source = readFileSync(ROOT + file, 'utf8');
  if (!file.endsWith('.ts')) return checkText(source);
  const tree = treeOf(source);
  const isTest = file.endsWith('.test.ts');
  return [
    ...checkText(source),
    ...checkLength(source),
    // A test's sentences say what it owns.
    ...(isTest ? [] : checkHeader(source)),
    ...checkFunctions(tree),
    ...(file.startsWith('tests/') ? [] : checkBanned(tree)),
    ...checkArrows(file, source, ARROWS),
  ];
}

const FILES = repositoryFiles();
const FOUND = FILES.map((file) => ({ file, findings: findingsIn(file) }));

function isExcepted(file: string, { rule, name }: Finding): boolean {
  return EXCEPTIONS.some((e) => e.file === file && e.rule === rule && (e.name ?? name) === name);
}

t.test('every file keeps the law, but for named exceptions', async (t) => {
  t.ok(FILES.length > 100, `${FILES.length} files were looked at`);
  const broken = FOUND.flatMap(({ file, findings }) =>
    findings.filter((finding) => !isExcepted(file, finding)).map((f) => `${file}:${f.line} ${f.rule}: ${f.name}`),
  );
  t.same(broken, []);
});

t.test('every exception is needed', async (t) => {
  for (const exception of EXCEPTIONS) {
    const findings = FOUND.find(({ file }) => file === exception.file)?.findings ?? [];
    const needed = findings.some(({ rule, name }) => rule === exception.rule && (exception.name ?? name) === name);
    t.ok(needed, `${exception.file} ${exception.rule} ${exception.name ?? ''}`);
  }
});

t.test('every open module is used from where it is open to', async (t) => {
  const arrows = FILES.filter((file) => file.endsWith('.ts')).flatMap((from) =>
    importsOf(from, readFileSync(ROOT + from, 'utf8')).map(({ path }) => ({ from, to: path })),
  );
  for (const file of Object.keys(USES_HOST)) {
    t.ok(
      arrows.some(({ from, to }) => from === file && to.startsWith('protocol/host/')),
      `${file} uses the machine`,
    );
  }
  for (const file of Object.keys(OPEN_TO_BENCH)) {
    t.ok(
      arrows.some(({ from, to }) => to === file && from.startsWith('bench/')),
      `the bench uses ${file}`,
    );
  }
});
