/**
 * Looks for mistakes in a Graph before it runs.
 *
 * Owns which rules there are, and their order. It executes nothing and touches no file: the text and what is known of
 * this desktop come in, problems with places go out. What it does not find may still be wrong: a Graph is a program.
 */
import { getLineInfo, type Program } from 'acorn';
import type { EngineLimits } from '../engine/engine-limits.ts';
import type { GraphMeta } from '../engine/graph-meta.ts';
import { GraphSourceError, parseGraph } from '../engine/graph-source.ts';
import type { Finding, GraphProblem, ProblemRule } from './problem.ts';
import { checkArguments } from './rules/arguments.ts';
import { checkCalls } from './rules/calls.ts';
import { checkLimits } from './rules/limits.ts';
import { checkNames, freeNames, freeReferences } from './rules/names.ts';
import { checkGraphCalls, checkSlug, type OtherGraph } from './rules/others.ts';
import { checkResult } from './rules/results.ts';
import { checkTools, type KnownTools } from './rules/tools.ts';
import { graphTree, metaLiteral, placedNodes } from './tree.ts';

/** What is known of the desktop that would run it. */
export interface CheckContext {
  readonly limits: EngineLimits;
  readonly tools: KnownTools;
  /** The other Graphs of its folder. */
  readonly others: readonly OtherGraph[];
}

export interface GraphFile {
  readonly name: string;
  readonly source: string;
}

export function checkGraph(file: GraphFile, context: CheckContext): GraphProblem[] {
  const { sourceChars } = context.limits;
  if (file.source.length > sourceChars) {
    const message = `the file is longer than ${sourceChars} characters: data belongs into arguments or tools`;
    return [{ rule: 'file', severity: 'error', line: 1, column: 1, message }];
  }
  const { meta, problem } = read(file);
  const program = parsed(file.source);
  if (program === null) return problem === null ? [] : [problem];
  const findings = allFindings(program, meta, context).map((finding) => placed(finding, file.source));
  return [...(problem === null ? [] : [problem]), ...findings].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** As the engine reads it: what is wrong here keeps the Graph from running at all. */
function read({ name, source }: GraphFile): { meta: GraphMeta | null; problem: GraphProblem | null } {
  try {
    return { meta: parseGraph(source, name).meta, problem: null };
  } catch (error) {
    if (!(error instanceof GraphSourceError)) throw error;
    const { line, column } = error;
    const rule = ruleOf(parsed(source), offsetOf(source, error));
    const message = error.message.slice(`${name}:${line}:${column}: `.length);
    return { meta: null, problem: { rule, severity: 'error', line, column, message } };
  }
}

function ruleOf(program: Program | null, offset: number): ProblemRule {
  if (program === null) return 'syntax';
  // Behind the meta, the engine refuses what would reach out of the file.
  return offset > (program.body[0]?.end ?? 0) ? 'forbidden' : 'meta';
}

function offsetOf(source: string, { line, column }: GraphSourceError): number {
  const before = source.split(/\r\n|[\n\r\u2028\u2029]/, line - 1);
  return before.reduce((sum, { length }) => sum + length + 1, column - 1);
}

/** Null when it does not parse; the engine's reading tells why. */
function parsed(source: string): Program | null {
  try {
    return graphTree(source);
  } catch {
    return null;
  }
}

function allFindings(program: Program, meta: GraphMeta | null, context: CheckContext): Finding[] {
  try {
    return [...findingsIn(program, meta, context)];
  } catch (error) {
    // The scopes are found by recursion.
    if (!(error instanceof RangeError)) throw error;
    const message = 'the Graph is nested too deeply to be looked at any further';
    return [{ rule: 'file', severity: 'warning', at: 0, message }];
  }
}

function* findingsIn(program: Program, meta: GraphMeta | null, context: CheckContext): Generator<Finding> {
  const nodes = [...placedNodes(program)];
  const literal = metaLiteral(program);
  const references = freeReferences(program);
  const free = freeNames(references);
  yield* checkNames(references, nodes);
  yield* checkCalls(nodes, free);
  yield* checkResult(nodes);
  if (meta === null || literal === null) return;
  yield* checkArguments(nodes, free, meta.arguments);
  yield* checkLimits(meta, literal, context.limits);
  yield* checkTools(nodes, free, { meta, literal, known: context.tools });
  yield* checkSlug(meta, literal, context.others);
  yield* checkGraphCalls(nodes, free, context.others);
}

function placed({ at, ...finding }: Finding, source: string): GraphProblem {
  const { line, column } = getLineInfo(source, at);
  const { rule, severity, message } = finding;
  return { rule, severity, line, column: column + 1, message };
}
