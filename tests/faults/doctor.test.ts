/** The doctor on real paths: what it measures, what it would choose, and what it advises. The paths are looked at side by side. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type DoctorReport, examine } from '../../desktop-agent/doctor.ts';
import { doctorText } from '../../desktop-agent/doctor-text.ts';
import { judgePath } from '../../desktop-agent/doctor-verdict.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Clock } from '../../protocol/ports.ts';
import { type Faults, startFaultProxy } from './fault-proxy.ts';
import { missing, startNginx } from './proxy-programs.ts';
import { startRelay } from './rig.ts';

const COMMAND = fileURLToPath(new URL('../../graph-relay.ts', import.meta.url));
const SECOND = 1_000;

const relay = await startRelay(t);
const token = await relay.desktopToken();

async function through(faults: Faults): Promise<DoctorReport> {
  const proxy = await startFaultProxy({ target: relay.port, faults });
  const report = await examine({ relay: proxy.url, token, environment: {}, clock: systemClock });
  await proxy.close();
  return report;
}

async function throughNginx(): Promise<DoctorReport | null> {
  if (missing('nginx')) return null;
  const options = { target: relay.port, readTimeout: '5s', upgrade: false };
  const { url } = await startNginx(t, join(folder, 'nginx'), options);
  return examine({ relay: url, token, environment: {}, clock: systemClock });
}

/** As a person runs it. */
function command(args: readonly string[], env: Record<string, string>) {
  return new Promise<{ code: number; out: string; err: string }>((done) => {
    const options = { env: { ...process.env, ...env }, timeout: 60 * SECOND };
    execFile(process.execPath, [COMMAND, 'desktop', ...args], options, (error, out, err) =>
      done({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

const folder = t.testdir({});
const byHand = { GRAPH_RELAY_TOKEN: token, GRAPH_RELAY_DATA: folder };

const [good, cut, narrow, silent, nginx, asText, asJson] = await Promise.all([
  through({ delayMs: 20 }),
  through({ answerMs: 12 * SECOND, cutBy: 'html-504' }),
  through({ answerMs: 2 * SECOND, stripUpgrade: true }),
  through({ idleMs: 4 * SECOND, cutBy: 'end' }),
  throughNginx(),
  command(['doctor', '--relay', relay.url], byHand),
  command(['--relay', relay.url, 'doctor', '--json'], byHand),
]);

t.test('on a good path it chooses long-poll with the whole hold, and has no advice', async (t) => {
  t.match(good.verdict, { transport: 'long-poll', hold_ms: 20_000, why: 'the first choice' });
  t.same(good.verdict.advice, []);
  t.ok(good.path.trips!.min_ms >= 40 && good.path.trips!.min_ms < 200, 'two ways of 20 ms');
  t.same(
    good.path.holds.map(({ failure }) => failure),
    [null, null, null, null],
  );
  t.ok(good.path.short_while_held_ms! < SECOND);
  t.match(good.path.socket, { failure: null, silence: 'lives' });
  const { offset_ms, uncertainty_ms } = good.path.clock!;
  t.ok(Math.abs(offset_ms) <= uncertainty_ms + 1, `one machine has one clock: ${offset_ms} ± ${uncertainty_ms} ms`);
});

t.test('where holds get a 504 at 12 s it would hold for less, and names the settings to change', async (t) => {
  t.equal(cut.verdict.transport, 'long-poll');
  t.ok(cut.verdict.hold_ms > 9_000 && cut.verdict.hold_ms < 10_000, `${cut.verdict.hold_ms} ms`);
  t.match(cut.verdict.why, /cut 2 times in a row, after 12\.\d s \(.* status 504 .*held for 9\.\d s/);
  t.match(cut.verdict.advice, [/proxy_read_timeout 30s in nginx, timeout server 30s in haproxy/]);
  t.same(
    cut.path.holds.map(({ failure }) => failure === null),
    [false, false, true, true],
  );
});

t.test('where nothing can be held and nothing upgraded it would poll, and says so', async (t) => {
  t.match(narrow.verdict, { transport: 'plain', hold_ms: 0 });
  t.match(narrow.verdict.why, /the WebSocket failed \(.*status 404/);
  t.match(narrow.verdict.advice, [/proxy_read_timeout/, /Upgrade \$http_upgrade/]);
});

t.test('where silence is cut it would keep a WebSocket open with signs of life', async (t) => {
  t.match(silent.verdict, { transport: 'websocket' });
  t.match(silent.path.socket, { silence: 'needs signs of life' });
});

t.test('nginx with 5 s and without Upgrade is seen as what it is', { skip: missing('nginx') }, async (t) => {
  t.match(nginx!.verdict, { transport: 'plain' });
  t.match(nginx!.path.holds[0]?.failure, { code: 'not-a-relay', reason: /status 504/ });
});

t.test('the command prints a page for a person and exits with 0 when a transport works', async (t) => {
  t.equal(asText.code, 0, asText.err);
  t.match(asText.out, /^Relay +http:/m);
  t.match(asText.out, /^Verdict +long-poll, requests are held for 20\.0 s$/m);
  t.match(asText.err, /takes about 25 seconds/);
  for (const line of asText.out.split('\n')) t.ok(line.length <= 80, line);
  t.comment(`\n${asText.out}`);
});

t.test('with --json it prints one report for programs, and nothing else', async (t) => {
  t.equal(asJson.code, 0, asJson.err);
  t.equal(asJson.err, '');
  const report = JSON.parse(asJson.out) as DoctorReport;
  t.match(report, { relay: relay.url, proxy: null, verdict: { transport: 'long-poll' } });
});

t.test('every page fits into 80 columns, whatever was found', async (t) => {
  for (const report of [good, cut, narrow, silent, ...(nginx ? [nginx] : [])]) {
    const text = doctorText(report);
    for (const line of text.split('\n')) t.ok(line.length <= 80, line);
    t.comment(`\n${text}`);
  }
});

t.test('a relay that is away, a wrong token and a foreign page are told apart', async (t) => {
  const page = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<html>Please log in</html>');
  });
  await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
  t.teardown(() => page.close());
  const at = (url: string, secret = token) =>
    examine({ relay: url, token: secret, environment: {}, clock: systemClock });
  const away = await at('http://127.0.0.1:9');
  t.match(away.verdict, { transport: null, why: /ECONNREFUSED/, advice: [/Check that the relay runs/] });
  const stranger = await at(relay.url, 'grd_wrong');
  t.match(stranger.path.failure, { code: 'unauthorized' });
  t.match(stranger.verdict.advice, [/graph-relay token create --desktop NAME/]);
  const foreign = await at(`http://127.0.0.1:${(page.address() as AddressInfo).port}`);
  t.match(foreign.verdict, {
    transport: null,
    why: /answered with status 200 in its place/,
    advice: [/a proxy that wants a login/],
  });
});

t.test('the exit code tells a wrong token from a path that does not work', async (t) => {
  const wrong = await command(['doctor', '--relay', relay.url], { ...byHand, GRAPH_RELAY_TOKEN: 'grd_wrong' });
  t.equal(wrong.code, 21);
  t.match(wrong.out, /^Verdict +no transport works$/m);
  const away = await command(['doctor', '--relay', 'http://127.0.0.1:9', '--json'], byHand);
  t.equal(away.code, 1);
  t.match(JSON.parse(away.out), { verdict: { transport: null } });
  t.equal((await command(['doctor', '--relay', 'nonsense'], byHand)).code, 2);
});

t.test('a clock that is an hour off is found, whatever the round trip', async (t) => {
  const wrong: Clock = { ...systemClock, now: () => systemClock.now() - 3_600 * SECOND };
  const { path } = await examine({ relay: 'http://127.0.0.1:9', token, environment: {}, clock: wrong });
  t.equal(path.clock, null, 'nothing is known of a relay that is away');
  const verdict = judgePath({ ...good.path, clock: { offset_ms: 3_600 * SECOND, uncertainty_ms: 40 } });
  t.match(verdict.advice, [/Set the clock of this machine/]);
});
