/**
 * What can be named on the command line: the modes, workloads and faults of this folder, and files of one's own.
 *
 * Owns looking up, loading and checking. A file (`./mine.ts`, `.js` or `.json`) default-exports, or is, the same shape as
 * its neighbours here.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { BenchError, type BenchErrorCode } from './bench-error.ts';
import type { Fault } from './faults/fault.ts';
import { faultSchema } from './faults/fault.ts';
import loss from './faults/loss.ts';
import none from './faults/none.ts';
import proxyCut from './faults/proxy-cut-15s.ts';
import sleep from './faults/sleep.ts';
import auto from './modes/auto.ts';
import longPoll from './modes/long-poll.ts';
import { type BenchMode, modeSchema } from './modes/mode.ts';
import plain5s from './modes/plain-5s.ts';
import plain20s from './modes/plain-20s.ts';
import websocket from './modes/websocket.ts';
import cancel from './workloads/cancel.ts';
import clientPolling from './workloads/client-polling.ts';
import { fanout } from './workloads/fanout.ts';
import mixedDay from './workloads/mixed-day.ts';
import offline from './workloads/offline.ts';
import pickup from './workloads/pickup.ts';
import shortRuns from './workloads/short-runs.ts';
import stagger from './workloads/stagger.ts';
import { SLOTS_MAX, type Workload, workloadSchema } from './workloads/workload.ts';

export const MODES: readonly BenchMode[] = [plain20s, longPoll, websocket, plain5s, auto];
export const WORKLOADS: readonly Workload[] = [
  pickup,
  fanout(5),
  stagger,
  cancel,
  offline,
  clientPolling,
  mixedDay,
  shortRuns,
];
export const FAULTS: readonly Fault[] = [none, loss, proxyCut, sleep];

interface Kind<T> {
  readonly what: 'mode' | 'workload' | 'fault';
  readonly own: readonly T[];
  readonly schema: z.ZodType<T>;
  readonly unknown: BenchErrorCode;
  /** Names that stand for more than one. */
  readonly family?: (name: string) => T | null;
  readonly hint: string;
}

const FANOUT = /^fanout-([1-9]\d?)(?:-slots-([1-9]\d?))?$/;

const KINDS = {
  mode: { what: 'mode', own: MODES, schema: modeSchema, unknown: 'unknown-mode', hint: '' } as Kind<BenchMode>,
  workload: {
    what: 'workload',
    own: WORKLOADS,
    schema: workloadSchema,
    unknown: 'unknown-workload',
    family: (name) => {
      const [, count, slots = '1'] = FANOUT.exec(name) ?? [];
      return count === undefined || Number(slots) > SLOTS_MAX ? null : fanout(Number(count), Number(slots));
    },
    hint: ` (fanout-1 to fanout-99, also with -slots-1 to -slots-${SLOTS_MAX})`,
  } as Kind<Workload>,
  fault: { what: 'fault', own: FAULTS, schema: faultSchema, unknown: 'unknown-fault', hint: '' } as Kind<Fault>,
};

/** Each name is one of ours or a file. */
export const findModes = (names: readonly string[]) => findAll(KINDS.mode, names);
export const findWorkloads = (names: readonly string[]) => findAll(KINDS.workload, names);
export const findFaults = (names: readonly string[]) => findAll(KINDS.fault, names);

async function findAll<T extends { readonly name: string }>(kind: Kind<T>, names: readonly string[]): Promise<T[]> {
  const found: T[] = [];
  for (const name of names) {
    const each = await find(kind, name);
    if (found.some((other) => other.name === each.name)) {
      throw new BenchError('name-taken', `There are two ${kind.what}s called ${each.name}: give one another name.`);
    }
    found.push(each);
  }
  return found;
}

async function find<T extends { readonly name: string }>(kind: Kind<T>, name: string): Promise<T> {
  const own = kind.own.find((each) => each.name === name) ?? kind.family?.(name) ?? null;
  if (own !== null) return own;
  if (/[./\\]/.test(name)) return check(kind, name, await load(kind.what, name));
  const names = kind.own.map((each) => each.name).join(', ');
  throw new BenchError(
    kind.unknown,
    `There is no ${kind.what} called ${name}. There are ${names}${kind.hint}; a file of your own is named by its path, like ./my-${kind.what}.ts.`,
  );
}

async function load(what: string, path: string): Promise<unknown> {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new BenchError('file-unreadable', `There is no file ${path}, which was named as a ${what}.`);
  }
  try {
    if (extname(file) === '.json') return JSON.parse(await readFile(file, 'utf8'));
    return ((await import(pathToFileURL(file).href)) as { default?: unknown }).default;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BenchError('file-unreadable', `The ${what} in ${path} cannot be loaded: ${reason}`, { cause: error });
  }
}

/** So much of what is wrong is told at once. */
const PROBLEMS_SHOWN = 5;

function check<T>(kind: Kind<T>, path: string, value: unknown): T {
  const checked = kind.schema.safeParse(value);
  // Through JSON: what is compared is data, and goes to other threads.
  if (checked.success) return JSON.parse(JSON.stringify(checked.data)) as T;
  const problems = checked.error.issues.flatMap((issue) => problemsOf(issue)).slice(0, PROBLEMS_SHOWN);
  throw new BenchError(
    'file-invalid',
    `${path} does not default-export a ${kind.what}. ${problems.join('; ')}. Take a file of bench/${kind.what}s/ as an example.`,
  );
}

/** A value that may have several forms is told what is wrong with the form that it comes nearest to. */
function problemsOf(issue: z.core.$ZodIssue, at: readonly PropertyKey[] = []): string[] {
  const path = [...at, ...issue.path];
  if (issue.code === 'invalid_union') {
    const nearest = issue.errors.find((branch) => branch.some(isWithin)) ?? issue.errors.at(-1);
    if (nearest !== undefined) return nearest.flatMap((inner) => problemsOf(inner, path));
  }
  const where = path.map(String).join('.');
  return [`${where === '' ? 'the default export' : where}: ${issue.message}`];
}

/** Whether the value had this form on the outside, and something in it is wrong. */
function isWithin({ path, code }: z.core.$ZodIssue): boolean {
  return path.length > 0 || code === 'unrecognized_keys';
}
