/**
 * The peers: each one that is here does a tiny round, and each one that is not is named.
 *
 * Their packages and servers are no dependencies of the project. What is missing is skipped, except where CI is set:
 * there it fails.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { CANDIDATES, type Candidate, INSTALL, prepare, type Setting } from '../../bench/peers/candidates.ts';
import { MissingError } from '../../bench/peers/missing.ts';
import { findProgram, type ProgramName } from '../../bench/peers/programs.ts';
import { measureRounds } from '../../bench/peers/rounds.ts';
import type { Subject } from '../../bench/pickup/subject.ts';
import { peersResultSchema } from '../../bench/result-format.ts';
import { expectProcesses, launch, run, tempFolder, until, within } from '../process/support.ts';

expectProcesses(t);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const UNHURRIED = { signal: new AbortController().signal, onStep() {} };
const TINY = ['--rounds', '1', '--runs', '2', '--busy-ms', '20'];

/** The version of nats-server that Debian has is older than the setting. */
function mayBeTooOld({ name }: Candidate, { durable }: Setting): boolean {
  return name === 'jetstream' && durable;
}

async function startOrSkip(t: Test, candidate: Candidate, setting: Setting): Promise<Subject | null> {
  try {
    const subject = await prepare(candidate, setting, 32);
    t.teardown(() => subject.stop());
    return subject;
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    if (mayBeTooOld(candidate, setting) && /cannot sync/.test(error.message)) t.match(error.remedy, /2\.10/);
    else if (process.env.CI) t.fail(`${error.message}: ${error.remedy}`);
    else t.pass('skipped', { skip: `${error.message}: ${error.remedy}` });
    return null;
  }
}

for (const candidate of CANDIDATES) {
  for (const setting of candidate.settings) {
    t.test(`${candidate.name} (${setting.name}) is measured, and stops`, async (t) => {
      const subject = await startOrSkip(t, candidate, setting);
      if (subject === null) return;
      const plan = { rounds: 1, runs: 2, busyMs: 20, seed: 1 };
      const { measured } = await measureRounds([subject], plan, UNHURRIED);
      t.match(measured, [{ broken: null, rounds: [{ pickups: { length: 2 }, roundTripsUs: { length: 2 } }] }]);
      const [round] = measured[0]!.rounds;
      const figures = [...round!.roundTripsUs, ...Object.values(round!.runsPerSecond)];
      for (const { ackUs, pickupUs } of round!.pickups) figures.push(ackUs, pickupUs);
      t.ok(
        figures.every((figure) => figure > 0 && Number.isFinite(figure)),
        String(figures),
      );
      t.ok(
        Object.values(subject.versions).every((version) => /^\d+\./.test(version)),
        JSON.stringify(subject.versions),
      );
      await subject.stop();
      await t.rejects(subject.done('after the end'), 'nobody waits for a system that has ended');
    });
  }
}

t.test('a peer whose packages are absent is named with the command that installs them', async (t) => {
  const absent = { ...CANDIDATES[0]!, packages: ['no-such-package'] };
  await t.rejects(prepare(absent, absent.settings[0]!, 1), {
    name: 'MissingError',
    message: 'the packages no-such-package are not installed',
    remedy: INSTALL,
  });
});

t.test('without any peer the command names them, measures ours and the floor, and ends with 0', async (t) => {
  const folder = await tempFolder(t);
  const out = join(folder, 'report.json');
  const env = { PATH: folder, DATABASE_URL: 'postgres://127.0.0.1:1/nobody' };
  const only = ['--only', 'beanstalkd,pg-boss'];
  const { code, stdout, stderr } = await run(t, ['bench', 'peers', ...TINY, ...only, '--json', '--out', out], { env });
  t.equal(code, 0, stderr);
  const report = peersResultSchema.parse(JSON.parse(stdout));
  t.same(JSON.parse(await readFile(out, 'utf8')), report, 'the file has the same');
  t.match(report, {
    kind: 'peers',
    seed: 1,
    command: /^npm run bench -- peers --rounds 1 .* --only beanstalkd,pg-boss$/,
  });
  t.same(
    report.subjects.map(({ name, setting }) => `${name} ${setting}`),
    ['floor bare node:http, held answer', 'graph-relay long-poll', 'graph-relay websocket'],
  );
  for (const { ack_us, pickup_us, round_trip_us, pickup_to_floor, runs_per_s_at_once } of report.subjects) {
    for (const { p50, p99 } of [ack_us, pickup_us, round_trip_us]) {
      t.ok(p50.min > 0 && p50.min <= p50.median && p50.median <= p50.max && p50.median <= p99);
    }
    t.ok(pickup_to_floor.median > 0 && runs_per_s_at_once.median > 0);
  }
  t.match(
    report.missing.map(({ name, setting }) => `${name} ${setting}`),
    ['pg-boss synchronous_commit=on', 'pg-boss synchronous_commit=off', 'beanstalkd -b -f0', 'beanstalkd in memory'],
  );
  t.match(report.missing[0], { remedy: /DATABASE_URL|npm ci/ });
  t.match(report.missing[2], { reason: 'the program beanstalkd is not on PATH', remedy: /apt-get install beanstalkd/ });
  t.match(report.made, { machine: { cores: Number, cpu: String }, versions: { node: process.versions.node } });
  t.match(report.surroundings, { load_before: Number, temporary_files_in_memory: Boolean });
  t.same(report.order, [report.order[0]]);
  t.equal(report.order[0]?.length, 3);
});

t.test('a name that is no peer is a mistake on the command line', async (t) => {
  const { code, stderr } = await run(t, ['bench', 'peers', '--only', 'kafka']);
  t.equal(code, 2);
  t.match(stderr, /There is no kafka; there is bullmq, /);
});

/** Skips where the program is not there, except in CI. */
async function needs(t: Test, program: ProgramName): Promise<boolean> {
  try {
    await findProgram(program);
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    t.pass('skipped', { skip: (error as Error).message });
    return false;
  }
}

t.test('called off with SIGINT, it ends and leaves no folder behind', async (t) => {
  if (!(await needs(t, 'beanstalkd'))) return;
  const temporary = await tempFolder(t);
  const peers = ['bench', 'peers', '--rounds', '1000', '--only', 'beanstalkd'];
  const measuring = launch(t, peers, { env: { TMPDIR: temporary } });
  await until('both servers to be started', async () => {
    if (measuring.isOver) throw new Error(measuring.stderr);
    return (await readdir(temporary)).filter((name) => name.includes('beanstalkd')).length === 2;
  });
  const { code } = await measuring.end('SIGINT');
  t.equal(code, 1);
  t.match(measuring.stderr, /Stopped before the end/);
  t.same(
    (await readdir(temporary)).filter((name) => name.startsWith('graph-relay')),
    [],
  );
});

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
}

t.test('a server ends with whoever started it, also after kill -9', async (t) => {
  if (!(await needs(t, 'beanstalkd'))) return;
  const programs = JSON.stringify(new URL('../../bench/peers/programs.ts', import.meta.url).href);
  const starter = `
    const { startBroker } = await import(${programs});
    const { port } = await startBroker('beanstalkd', ({ port }) => ['-l', '127.0.0.1', '-p', String(port)]);
    process.send({ port });`;
  const env = { TMPDIR: await tempFolder(t) };
  const running = launch(t, [], { program: [process.execPath, '--input-type=module', '-e', starter], env });
  const { port } = (await within(running.ready, 'the server')) as unknown as { port: number };
  t.ok(await accepts(port), 'it runs');
  await running.end('SIGKILL');
  await until('the server to end', async () => !(await accepts(port)));
  t.pass('it has ended');
});

t.test('the modules of the peers type-check against their packages', async (t) => {
  const parts = await readdir(join(ROOT, 'bench/peers'));
  if (!parts.includes('node_modules')) {
    if (process.env.CI) t.fail(`the packages are not installed: ${INSTALL}`);
    else t.pass('skipped', { skip: `the packages are not installed: ${INSTALL}` });
    return;
  }
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const checked = await promisify(execFile)(process.execPath, [tsc, '-p', 'bench/peers'], { cwd: ROOT }).catch(
    (error: { stdout: string }) => error,
  );
  t.equal(checked.stdout, '');
});
