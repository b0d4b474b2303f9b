/**
 * A Graph that is about to run: its file, read and checked, with its arguments.
 *
 * Owns what is made of a file's text before a sandbox gets it. It executes nothing.
 */
import { cleanText } from '../../protocol/text.ts';
import type { AllowanceLimits } from './allowance.ts';
import type { EngineLimits } from './engine-limits.ts';
import { slugOf } from './graph-meta.ts';
import { type ParsedGraph, parseGraph } from './graph-source.ts';

const NAME_CHARS = 200;

export interface Program {
  /** How its file is called in messages. */
  readonly fileName: string;
  readonly slug: string;
  readonly graph: ParsedGraph;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ProgramFile {
  readonly name: string;
  readonly source: string;
  /** When the shelf knows it; otherwise it is the one of `meta`, or made from the name. */
  readonly slug?: string;
}

/**
 * The files of one run. Each text is parsed once: that happens on the host thread, and a Graph that called a long one a
 * hundred times would hold it up.
 */
export class Programs {
  readonly #sourceChars: number;
  readonly #read = new Map<string, ParsedGraph | Error>();

  constructor(sourceChars: number) {
    this.#sourceChars = sourceChars;
  }

  /** Throws with a message for a person when this file cannot run. */
  read(file: ProgramFile, args: Program['args']): Program {
    const fileName = cleanText(file.name, NAME_CHARS) || 'graph.js';
    const { source } = file;
    if (source.length > this.#sourceChars) {
      throw new Error(`the Graph's file is longer than ${this.#sourceChars} characters`);
    }
    const key = `${fileName}\0${source}`;
    const read = this.#read.get(key) ?? parsedOrProblem(source, fileName);
    this.#read.set(key, read);
    if (read instanceof Error) throw read;
    return { fileName, slug: file.slug ?? read.meta.slug ?? slugOf(fileName.replace(/\.js$/, '')), graph: read, args };
  }
}

function parsedOrProblem(source: string, fileName: string): ParsedGraph | Error {
  try {
    return parseGraph(source, fileName);
  } catch (error) {
    return error instanceof Error ? error : new Error(cleanText(error, NAME_CHARS));
  }
}

/** The smaller of what the Graph wants and what the owner allows. */
function lower(wanted: number | undefined, allowed: number): number {
  return Math.min(wanted ?? allowed, allowed);
}

/** What this Graph may take, before its caller's allowance lowers it. */
export function limitsOf({ graph }: Program, owner: EngineLimits, isCalled: boolean): AllowanceLimits {
  const wanted = graph.meta.limits ?? {};
  const concurrency = isCalled ? owner.maxConcurrency : owner.defaultConcurrency;
  return {
    totalTokens: wanted.total_tokens ? lower(owner.totalTokens ?? undefined, wanted.total_tokens) : owner.totalTokens,
    concurrency: lower(wanted.max_concurrency ?? concurrency, owner.maxConcurrency),
    agents: lower(wanted.agents, owner.agentsPerRun),
    toolCalls: lower(wanted.tool_calls, owner.toolCallsPerRun),
    graphCalls: lower(wanted.graph_calls, owner.graphCallsPerRun),
    retries: owner.retriesPerRun,
  };
}
