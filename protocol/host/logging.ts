/**
 * The log of a process: one JSON line per event through pino, pretty only on a terminal.
 *
 * Owns the redaction and the flush. No transport threads: the last line before an exit must not be lost with a thread.
 */
import { pino } from 'pino';
import pretty, { type PrettyOptions } from 'pino-pretty';
import type { Log, LogFields } from '../ports.ts';
import { LogFile } from './log-file.ts';
import type { LogLevel } from './log-levels.ts';
import { LogSink } from './log-sink.ts';

/** Fields whose values never go into a log, wherever they stand in the first levels of an event. */
const SECRET_FIELDS = ['token', 'authorization', 'arguments', 'args', 'result', 'prompt'];

/** How a line is shown to a person. */
export const PRETTY: PrettyOptions = {
  messageKey: 'event',
  ignore: 'pid,hostname,component',
  translateTime: 'HH:MM:ss.l',
};

/** Lines that are kept for a file that is named later. More are written before only when something is wrong. */
const EARLY_LINES = 100;

export interface ProcessLog extends Log {
  /** Writes all lines, also those so far, into the file at this path too. */
  keepIn(path: string): void;
  /** Writes out what is buffered. For the end of the process. */
  flush(): void;
}

/** `component` names the process; lines go to the file descriptor (1: standard output) . */
export function createProcessLog(options: {
  component: string;
  level: LogLevel;
  terminal: boolean;
  fd?: number;
}): ProcessLog {
  const { component, level, terminal, fd = 1 } = options;
  const destination = terminal ? pretty({ ...PRETTY, destination: fd, sync: true }) : new LogSink(fd);
  const early: string[] = [];
  let file: LogFile | null = null;
  const both = {
    write(line: string): void {
      destination.write(line);
      if (file !== null) file.write(line);
      else if (early.length < EARLY_LINES) early.push(line);
    },
  };
  const logger = pino(
    {
      level,
      base: { component },
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
    },
    both,
  );
  const at =
    (name: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}) =>
      logger[name](fields, event);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    keepIn(path) {
      file = new LogFile(path);
      for (const line of early.splice(0)) file.write(line);
    },
    flush() {
      if ('flushSync' in destination && typeof destination.flushSync === 'function') {
        try {
          destination.flushSync();
        } catch {
          // The reader has gone or the descriptor is not open yet: there is nobody to write to.
        }
      }
    },
  };
}
