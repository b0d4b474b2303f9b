/** Nothing of the desktop listens on a TCP port: seen from outside, by what the system says of its sockets. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { graphSource, shareOnline, startDesktop, startWorld, writeGraph } from './relay-world.ts';
import { expectProcesses } from './support.ts';

expectProcesses(t);

const LISTEN = '0A';

/** Listening TCP ports of a process, from /proc: works for one's own processes without any rights. */
async function portsInProc(pid: number): Promise<number[]> {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  const inodes = new Set(targets.map((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1]).filter(Boolean));
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && inodes.has(inode))
    .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16));
}

/** The same from `ss -ltnp`; null when there is no `ss`. */
async function portsInSs(pid: number): Promise<number[] | null> {
  try {
    const { stdout } = await promisify(execFile)('ss', ['-ltnpH']);
    const lines = stdout.split('\n').filter((line) => line.includes(`pid=${pid},`));
    return lines.map((line) => Number(/:(\d+)$/.exec(line.trim().split(/\s+/)[3] ?? '')?.[1]));
  } catch {
    return null;
  }
}

const skip = process.platform === 'linux' ? false : 'sockets of a process are looked up in /proc';

t.test('the relay listens on its port, and a desktop that has worked listens on none', { skip }, async (t) => {
  const { data, url, desktopToken, agent, process: relay } = await startWorld(t);
  await writeGraph(data, 'quick.js', graphSource('quick', "return await agent('hi');"));
  const desktop = await startDesktop(t, { data, url, token: desktopToken });
  const session = await shareOnline(data, 'quick.js');
  await agent.onlySession();
  const { command_id } = await agent.start(session);
  t.equal((await agent.end(command_id)).status, 'completed');

  const port = Number(new URL(url).port);
  t.same(await portsInProc(relay.pid), [port]);
  t.same(await portsInProc(desktop.pid), []);
  const seen = await portsInSs(relay.pid);
  if (seen === null) return t.comment('ss is not there: only /proc was looked at');
  t.same(seen, [port]);
  t.same(await portsInSs(desktop.pid), []);
});
