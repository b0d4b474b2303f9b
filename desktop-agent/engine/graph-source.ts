/**
 * A Graph's file: what is checked before anything of it runs.
 *
 * Owns the file format: `export const meta = {…}` first, then a body with top-level `await` and `return`. It executes
 * nothing and touches no file; the text comes in, a parsed Graph or one error with a place goes out.
 */
import { type ExportNamedDeclaration, getLineInfo, type Node, type Program, parse } from 'acorn';
import { cleanText } from '../../protocol/text.ts';
import { type GraphMeta, metaSchema } from './graph-meta.ts';
import { literalAt, literalValue, NotLiteralError } from './meta-literal.ts';

export interface ParsedGraph {
  readonly meta: GraphMeta;
  /**
   * The file as the body of an async function. Only the word `export` is blanked out, so each line and column is that
   * of the file, and the body can read `meta` like any constant.
   */
  readonly body: string;
}

/** What is wrong with a Graph's file, and where. `line` and `column` count from 1. */
export class GraphSourceError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, place: { readonly fileName: string; readonly line: number; readonly column: number }) {
    super(`${place.fileName}:${place.line}:${place.column}: ${message}`);
    this.name = 'GraphSourceError';
    this.line = place.line;
    this.column = place.column;
  }
}

/** Throws a {@link GraphSourceError} and nothing else. */
export function parseGraph(source: string, fileName: string): ParsedGraph {
  const failAt = (message: string, offset: number): never => {
    const { line, column } = getLineInfo(source, offset);
    throw new GraphSourceError(message, { fileName, line, column: column + 1 });
  };
  const program = parseProgram(source, failAt);
  const declaration = metaDeclaration(program, failAt);
  for (const statement of program.body.slice(1)) refuseNode(statement, failAt);
  // Looking at each node takes longer than parsing, and `import` in a deeper place must be written out.
  if (/\bimport\b/.test(source)) refuseImports(program, failAt);
  const meta = readMeta(declaration, failAt);
  return { meta, body: asFunctionBody(source, declaration.start) };
}

type FailAt = (message: string, offset: number) => never;

function parseProgram(source: string, failAt: FailAt): Program {
  try {
    return parse(source, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: true,
    });
  } catch (error) {
    const offset = error instanceof SyntaxError && 'pos' in error ? Number(error.pos) : 0;
    // The parser puts `(line:column)` behind its message; the place is told in front here.
    return failAt(messageOf(error).replace(/ \(\d+:\d+\)$/, ''), offset);
  }
}

function messageOf(error: unknown): string {
  return cleanText(error instanceof Error ? error.message : error, 500);
}

function metaDeclaration(program: Program, failAt: FailAt): ExportNamedDeclaration {
  const first = program.body[0];
  const declared = first?.type === 'ExportNamedDeclaration' ? first.declaration : null;
  const isMeta =
    declared?.type === 'VariableDeclaration' &&
    declared.kind === 'const' &&
    declared.declarations.length === 1 &&
    declared.declarations[0]?.id.type === 'Identifier' &&
    declared.declarations[0].id.name === 'meta';
  if (first?.type === 'ExportNamedDeclaration' && isMeta) return first;
  return failAt(
    "a Graph starts with `export const meta = { name: '…' }`, before any other statement",
    first?.start ?? 0,
  );
}

const WHY_REFUSED: Readonly<Record<string, string>> = {
  ImportDeclaration: 'a Graph is one file and cannot import: pass what it needs in `args`, or ask an agent',
  ImportExpression: 'a Graph is one file and cannot import: pass what it needs in `args`, or ask an agent',
  ExportNamedDeclaration: 'a Graph exports nothing but `meta`: give its result with `return`',
  ExportDefaultDeclaration: 'a Graph exports nothing but `meta`: give its result with `return`',
  ExportAllDeclaration: 'a Graph exports nothing but `meta`: give its result with `return`',
};

/** Looks at each node of the tree, without recursion: the tree may be as deep as the parser could go. */
function refuseImports(program: Program, failAt: FailAt): void {
  const open: unknown[] = [...program.body.slice(1)];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (!Array.isArray(node)) refuseNode(node as Node, failAt);
    for (const child of Object.values(node)) if (typeof child === 'object' && child !== null) open.push(child);
  }
}

function refuseNode(node: Node, failAt: FailAt): void {
  const why = WHY_REFUSED[node.type];
  if (why !== undefined) failAt(why, node.start);
  if (node.type === 'MetaProperty' && 'meta' in node && (node.meta as { name?: string }).name === 'import') {
    failAt('a Graph has no `import.meta`: it is a program without a place of its own', node.start);
  }
}

function readMeta(declaration: ExportNamedDeclaration, failAt: FailAt): GraphMeta {
  const declarator = declaration.declaration?.type === 'VariableDeclaration' && declaration.declaration.declarations[0];
  const expression = declarator ? declarator.init : null;
  if (expression?.type !== 'ObjectExpression')
    return failAt('`meta` must be an object literal: `{ name: … }`', declaration.start);
  const parsed = metaSchema.safeParse(literalOrFail(() => literalValue(expression), failAt));
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${['meta', ...issue.path].join('.')}: ${issue.message}`);
  return failAt(issues.join('; '), literalAt(expression, parsed.error.issues[0]?.path ?? []).start);
}

function literalOrFail(read: () => unknown, failAt: FailAt): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotLiteralError) return failAt(error.message, error.offset);
    return failAt(messageOf(error), 0);
  }
}

function asFunctionBody(source: string, exportStart: number): string {
  const withoutExport = `${source.slice(0, exportStart)}${' '.repeat('export'.length)}${source.slice(exportStart + 'export'.length)}`;
  // A `#!` line is legal at the start of a file only.
  return withoutExport.startsWith('#!') ? `//${withoutExport.slice(2)}` : withoutExport;
}
