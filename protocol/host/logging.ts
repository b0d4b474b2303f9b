/**
 * The log of a process: one JSON line per event through pino, pretty only on a terminal.
 *
 * Owns the redaction and the flush. No transport threads: the last line before an exit must not be lost with a thread.
 */
import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { Log, LogFields } from '../ports.ts';
import type { LogLevel } from './log-levels.ts';
import { LogSink } from './log-sink.ts';

/** Fields whose values never go into a log, wherever they stand in the first levels of an event. */
const SECRET_FIELDS = ['token', 'authorization', 'arguments', 'args', 'result', 'prompt'];

export interface ProcessLog extends Log {
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
  const destination = terminal
    ? pretty({
        destination: fd,
        sync: true,
        messageKey: 'event',
        ignore: 'pid,hostname,component',
        translateTime: 'HH:MM:ss.l',
      })
    : new LogSink(fd);
  const logger = pino(
    {
      level,
      base: { component },
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
    },
    destination,
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
