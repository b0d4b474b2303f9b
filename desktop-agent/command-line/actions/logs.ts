/** What `graph-relay desktop logs` does: reads the log file, and goes on reading when asked to. */
import { mkdirSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { prettyFactory } from 'pino-pretty';
import { LogTail } from '../../../protocol/host/log-tail.ts';
import { PRETTY } from '../../../protocol/host/logging.ts';
import { systemClock } from '../../../protocol/host/system-ports.ts';
import { note, plain, print } from '../../../protocol/host/terminal.ts';
import { Wakeable } from '../../../protocol/waiting.ts';
import { desktopLogFile } from '../../desktop-log.ts';
import type { OwnerOptions } from './admin.ts';

export interface LogOptions extends OwnerOptions {
  readonly lines: number;
  readonly follow?: boolean;
}

/** Where the system does not tell of changes, they are seen this late. */
const LOOK_MS = 1_000;

export async function showLogs(options: LogOptions): Promise<void> {
  const path = desktopLogFile(options.data);
  const tail = new LogTail(path);
  const show = options.json ? print : prettyPrint();
  const lines = tail.last(options.lines);
  for (const line of lines) show(line);
  if (lines.length === 0 && options.lines > 0)
    note(`There is nothing in ${path} yet. The desktop writes it when it runs.`);
  if (options.follow) await follow(path, () => tail.news().forEach(show));
  tail.close();
}

function prettyPrint(): (line: string) => void {
  const hasColors = process.stdout.isTTY && process.stdout.hasColors();
  const pretty = prettyFactory({ ...PRETTY, translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l', colorize: hasColors });
  return (line) => print(pretty(plain(line)).trimEnd());
}

/** Until nobody reads any more; Ctrl-C ends the process as it ends others. */
async function follow(path: string, look: () => void): Promise<void> {
  const wakeable = new Wakeable(systemClock);
  let read = true;
  process.stdout.once('error', () => {
    read = false;
    wakeable.wake();
  });
  mkdirSync(dirname(path), { recursive: true });
  const watcher = watch(dirname(path), () => wakeable.wake());
  while (read) {
    look();
    await wakeable.pause(LOOK_MS);
  }
  watcher.close();
}
