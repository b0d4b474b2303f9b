/**
 * How a process of ours ends, for service wrappers and scripts: the number says whether starting it again can help.
 */
export const EXIT_CODES = {
  ok: 0,
  /** A fault of ours, or anything that is not in this table. */
  failure: 1,
  /** The command line was not understood. */
  usage: 2,
  /** Another process of this kind runs on the same data folder. */
  locked: 10,
  /** A file of the data folder is damaged and could not be restored. Starting again does not help. */
  damaged: 11,
  /** The port is taken. */
  'port-busy': 12,
  /** The path of the data folder is too long for a socket, and the short place for it is not to be had. */
  'no-local-socket': 13,
  /** A newer instance of this desktop has taken over. Do not start it again. */
  'session-replaced': 20,
  /** The relay does not know this desktop (any more). A new token is needed. */
  unauthorized: 21,
  /** The relay knows this token and refuses it here, for example an agent's token on a desktop. */
  forbidden: 22,
  /** Relay and desktop have no version of the protocol in common. One of them has to be updated first. */
  'unsupported-protocol': 23,
  /** A Graph was run by hand, and failed. */
  'run-failed': 30,
  /** It was stopped with Ctrl-C: 128 and the number of the signal, as shells have it. */
  interrupted: 130,
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** Ends after which another start would end the same way, until somebody has done something. */
export const FINAL_EXITS: readonly ExitName[] = [
  'usage',
  'locked',
  'damaged',
  'session-replaced',
  'unauthorized',
  'forbidden',
  'unsupported-protocol',
];

/** For a service manager that starts again whatever does not end with 0: with `ok` here, final ends do. */
export const FINAL_EXITS_VARIABLE = 'GRAPH_RELAY_FINAL_EXITS';

export function heedFinalExits(): void {
  if (process.env[FINAL_EXITS_VARIABLE] !== 'ok') return;
  // It is for this process; programs that it starts have codes of their own.
  delete process.env[FINAL_EXITS_VARIABLE];
  process.once('exit', (code) => {
    if (FINAL_EXITS.some((name) => EXIT_CODES[name] === code)) process.exitCode = EXIT_CODES.ok;
  });
}

/** Ends a command with a message for a person and an exit code for a script. */
export class ExitError extends Error {
  readonly exit: ExitName;
  constructor(exit: ExitName, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ExitError';
    this.exit = exit;
  }
}
