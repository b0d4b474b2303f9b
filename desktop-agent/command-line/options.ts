/** Options that more than one command of `graph-relay desktop` has, and what they mean. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { ExitError } from '../../protocol/host/exit-codes.ts';
import { countOption, durationOption, durationText } from '../../protocol/host/limit-options.ts';
import { LOG_LEVELS, type LogLevel } from '../../protocol/host/log-levels.ts';
import { CAPACITY_MAX, HOLD_MAX_MS } from '../../protocol/limits.ts';
import type { DesktopOptions } from '../main.ts';
import { MODE_NAMES, type ModeName } from '../modes.ts';
import { type RunLimitWords, runLimitArguments, runLimitOptions, runLimitsIn } from './run-limits.ts';

/** Shorter than a second is polling. */
const HOLD = { name: 'hold', min: 1_000, max: HOLD_MAX_MS, usual: HOLD_MAX_MS };

export function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}

export function dataOption(): Option {
  return new Option('--data <folder>', 'where the state is kept (or GRAPH_RELAY_DATA; default .graph-relay)');
}

export function relayOption(): Option {
  const usual = process.env.GRAPH_RELAY_URL ?? 'http://127.0.0.1:7420';
  return new Option('--relay <url>', 'address of the relay').default(usual);
}

export function caOption(): Option {
  return new Option('--ca <file>', 'certificates (PEM) to trust beside the usual ones (or GRAPH_RELAY_CA)');
}

/** The options of a desktop that runs. Its commands take them too, before or after their name. */
export function addDesktopOptions(desktop: Command): Command {
  desktop
    .addOption(dataOption())
    .option('--graphs <folder>', 'the folder with the *.js Graphs (default: graphs in the data folder)')
    .addOption(relayOption())
    .addOption(new Option('--mode <mode>', 'how to ask for work').choices(MODE_NAMES).default('auto'))
    .addOption(caOption())
    .addOption(countOption({ name: 'slots', unit: 'runs', what: 'runs at once', min: 1, max: CAPACITY_MAX, usual: 1 }))
    .addOption(durationOption({ ...HOLD, what: 'longest hold to ask for; shorter ones cost more requests' }))
    .option(
      '--agent-command <command>',
      'program that answers all agents, whatever agents.json says: prompt on standard input (split at blanks, no shell)',
    )
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('info'));
  for (const option of runLimitOptions()) desktop.addOption(option);
  return desktop;
}

/** As commander gives them. */
export interface DesktopWords extends RunLimitWords {
  readonly data?: string;
  readonly graphs?: string;
  readonly relay: string;
  readonly mode: ModeName;
  readonly slots: number;
  readonly hold: number;
  readonly ca?: string;
  readonly agentCommand?: string;
  readonly logLevel: LogLevel;
}

export function desktopOptionsIn(words: DesktopWords): DesktopOptions {
  return {
    ...withRelay(words),
    data: words.data,
    graphs: words.graphs,
    ca: words.ca,
    holdMs: words.hold,
    limits: runLimitsIn(words),
    agentCommand: words.agentCommand?.split(/\s+/).filter(Boolean) ?? [],
  };
}

/** The same options as words of a command line: what another process is started with. Its paths are whole ones. */
export function desktopArguments(words: DesktopWords): string[] {
  const options: [flag: string, value: string | undefined][] = [
    ['--data', wholePath(words.data)],
    ['--graphs', wholePath(words.graphs)],
    ['--relay', withRelay(words).relay],
    ['--mode', words.mode],
    ['--ca', wholePath(words.ca)],
    ['--slots', String(words.slots)],
    ['--hold', durationText(words.hold)],
    ['--agent-command', words.agentCommand],
    ['--log-level', words.logLevel],
    ...runLimitArguments(words),
  ];
  return options.flatMap(([flag, value]) => (value ? [flag, value] : []));
}

export function withRelay<O extends { relay: string }>(options: O): O {
  return { ...options, relay: parseRelay(options.relay) };
}

function wholePath(path: string | undefined): string | undefined {
  return path ? resolve(path) : undefined;
}

/** `localhost:7420` is a URL too, of the scheme `localhost`. */
function parseRelay(relay: string): string {
  if (URL.canParse(relay) && ['http:', 'https:'].includes(new URL(relay).protocol)) return relay;
  throw new ExitError(
    'usage',
    `"${relay}" is not the address of a relay. Give it with --relay, for example https://relay.example or http://127.0.0.1:7420.`,
  );
}
