/**
 * The law on size, style and arrows, as functions over one file's text. What they find is a list of sentences.
 *
 * Types are stripped in place, so positions stay those of the file, and what remains is read as JavaScript: words in
 * comments and strings are never taken for code. Knows no file system and no exceptions.
 */
import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { type Node, parse } from 'acorn';

export const FILE_LINES = 300;
export const FUNCTION_LINES = 60;
export const POSITIONAL_PARAMETERS = 3;

/** One finding; `name` tells it from others of the same rule in the same file. */
export interface Finding {
  readonly rule: Rule;
  readonly name: string;
  readonly line: number;
}

export type Rule = 'file-lines' | 'header' | 'function-lines' | 'parameters' | 'banned' | 'arrow' | 'text';

type AnyNode = Node & Record<string, unknown>;

interface Tree {
  readonly root: AnyNode;
  /** Visits each node with its parents, nearest last. */
  walk(visit: (node: AnyNode, parents: readonly AnyNode[]) => void): void;
}

/** The file as a syntax tree; type-only imports stay in it, since they are arrows too. */
export function treeOf(source: string): Tree {
  const kept = source.replaceAll(/^(import|export) type (?=[\w{*])(?!\w+\s*(?:[=<]|$))/gm, '$1      ');
  const text = stripTypeScriptTypes(kept, { mode: 'strip' });
  const root = parse(text, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true });
  const top = root as unknown as AnyNode;
  return { root: top, walk: (visit) => walk(top, [], visit) };
}

function walk(node: AnyNode, parents: AnyNode[], visit: (node: AnyNode, parents: readonly AnyNode[]) => void): void {
  visit(node, parents);
  parents.push(node);
  for (const child of Object.values(node)) {
    const children = Array.isArray(child) ? child : [child];
    for (const item of children) if (isNode(item)) walk(item, parents, visit);
  }
  parents.pop();
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

function lineOf(node: Node): number {
  return node.loc?.start.line ?? 0;
}

export function checkLength(source: string): Finding[] {
  const lines = source.replace(/\n$/, '').split('\n').length;
  return lines > FILE_LINES ? [{ rule: 'file-lines', name: `${lines} lines`, line: lines }] : [];
}

/** A file says first what it owns and what it must not do. */
export function checkHeader(source: string): Finding[] {
  const text = source.replace(/^#!.*\n/, '');
  return /^\/\*\*[\s*]*[^\s*/]/.test(text) ? [] : [{ rule: 'header', name: 'no header comment', line: 1 }];
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

export function checkFunctions(tree: Tree): Finding[] {
  const found: Finding[] = [];
  tree.walk((node, parents) => {
    if (!FUNCTIONS.has(node.type)) return;
    const name = nameOf(node, parents);
    const lines = node.loc!.end.line - node.loc!.start.line + 1;
    const line = lineOf(node);
    if (lines > FUNCTION_LINES) found.push({ rule: 'function-lines', name, line });
    if ((node.params as unknown[]).length > POSITIONAL_PARAMETERS) found.push({ rule: 'parameters', name, line });
  });
  return found;
}

function nameOf(node: AnyNode, parents: readonly AnyNode[]): string {
  const parent = parents.at(-1);
  const named = [node.id, parent?.key, parent?.id].filter(isNode).find((id) => typeof id.name === 'string');
  return typeof named?.name === 'string' ? named.name : 'a function without a name';
}

/** Bare names that reach for the machine's clock or chance, wherever they stand as a value. */
const BANNED_NAMES = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'randomUUID',
  'randomBytes',
  'randomInt',
  'getRandomValues',
]);
const BANNED_MEMBERS = new Set(['Date.now', 'Math.random', 'performance.now', 'process.hrtime', 'process.uptime']);
const BANNED_MODULES = new Set(['node:timers', 'node:timers/promises', 'timers', 'timers/promises']);

/** Clock, chance and console belong to the ports. Names in types are gone by now, and strings are no code. */
export function checkBanned(tree: Tree): Finding[] {
  const found: Finding[] = [];
  const add = (name: string, node: Node) => found.push({ rule: 'banned', name, line: lineOf(node) });
  tree.walk((node, parents) => {
    if (node.type === 'Identifier' && BANNED_NAMES.has(node.name as string)) {
      // `setTimeout: …` in an object literal names a member and calls nothing.
      const parent = parents.at(-1);
      const isKey = parent?.type === 'Property' && parent.key === node && !parent.shorthand && !parent.computed;
      if (!isKey) add(node.name as string, node);
    }
    if (node.type === 'MemberExpression') {
      const name = memberName(node);
      if (BANNED_MEMBERS.has(name)) add(name, node);
      if (name.startsWith('console.')) add('console', node);
    }
    const callee = node.callee as AnyNode | undefined;
    const makesDate = node.type === 'NewExpression' || node.type === 'CallExpression';
    if (makesDate && callee?.name === 'Date' && (node.arguments as unknown[]).length === 0) add('new Date()', node);
    if (node.type === 'ImportDeclaration' && BANNED_MODULES.has((node.source as AnyNode).value as string)) {
      add(String((node.source as AnyNode).value), node);
    }
  });
  return found;
}

/** `a.b` for the last two names of a member expression, so that `globalThis.Date.now` is `Date.now` too. */
function memberName(node: AnyNode): string {
  const object = node.object as AnyNode;
  const inner = object.type === 'MemberExpression' ? (object.property as AnyNode) : object;
  const property = node.property as AnyNode;
  return `${String(inner.name ?? inner.value ?? '')}.${String(property.name ?? property.value ?? '')}`;
}

/** Our own modules that a file imports, as paths from the root; types as well. */
export function importsOf(file: string, source: string): { readonly path: string; readonly line: number }[] {
  const found: { path: string; line: number }[] = [];
  const add = (specifier: unknown, line: number) => {
    if (typeof specifier !== 'string' || !/^\.{1,2}\//.test(specifier)) return;
    found.push({ path: posix.join(posix.dirname(file), specifier), line });
  };
  treeOf(source).walk((node) => {
    const { source: from } = node as { source?: AnyNode | null };
    if (isNode(from)) add(from.value, lineOf(node));
  });
  // Types that name a module in place are stripped, and are arrows all the same.
  for (const match of source.matchAll(/typeof import\(\s*['"]([^'"]+)['"]/g)) {
    add(match[1], source.slice(0, match.index).split('\n').length);
  }
  return found;
}

export interface Arrows {
  /** Modules of the server and the desktop that the bench may use: their composition roots and the ports. */
  readonly openToBench: ReadonlySet<string>;
  /** Modules of the server and the desktop that may use the real machine (`protocol/host`). */
  readonly usesHost: ReadonlySet<string>;
}

/** Why a file may not import another; null when it may. */
export function forbiddenArrow(from: string, to: string, arrows: Arrows): string | null {
  const [source, target] = [areaOf(from), areaOf(to)];
  if (target === 'tests') return source === 'tests' ? null : 'nothing but a test imports tests';
  if (source === 'tests' || source === 'root') return null;
  if (target === 'root') return 'nothing imports the command line';
  if (source === 'protocol' || source === 'host') {
    if (target !== 'protocol' && target !== 'host') return 'the protocol imports nothing of ours';
    return source === 'protocol' && target === 'host' ? 'the contract knows no machine' : null;
  }
  if (target === 'protocol') return null;
  if (source === 'bench') {
    if (target === 'bench' || target === 'host') return null;
    return arrows.openToBench.has(to) ? null : 'the bench uses composition roots only';
  }
  if (target === 'host') return arrows.usesHost.has(from) ? null : 'only composition roots touch the machine';
  return source === target ? null : `${source} and ${target} never import each other`;
}

type Area = 'protocol' | 'host' | 'server' | 'desktop-agent' | 'bench' | 'tests' | 'root';

function areaOf(path: string): Area {
  if (path.startsWith('protocol/host/')) return 'host';
  const [top] = path.split('/') as [string];
  const known: readonly string[] = ['protocol', 'server', 'desktop-agent', 'bench', 'tests'];
  return known.includes(top) ? (top as Area) : 'root';
}

export function checkArrows(file: string, source: string, arrows: Arrows): Finding[] {
  return importsOf(file, source).flatMap(({ path, line }) => {
    const why = forbiddenArrow(file, path, arrows);
    return why === null ? [] : [{ rule: 'arrow', name: `${path}: ${why}`, line } as const];
  });
}

/** Put together here, so that this file does not hold what it looks for. */
const TEXTS: readonly (readonly [string, RegExp])[] = [
  ['a registry host', new RegExp(['https?:', '//', 'registry\\.'].join(''))],
  ['a package mirror', new RegExp(['https?://[\\w.-]*', '(?:artifactory|nexus|verdaccio|proxy\\.golang)'].join(''))],
  ['a home folder', new RegExp(['(?<![\\w.-])/(?:', 'home|Users', ')/\\w'].join(''))],
  ['a path of this machine', new RegExp(['(?<![\\w./-])/(?:', 'root|work', ')/\\w'].join(''))],
  ['a Windows home folder', new RegExp(['[A-Z]:\\\\+', 'Users'].join(''))],
];

/** Host names of registries and paths of somebody's machine have no place in what is published. */
export function checkText(source: string): Finding[] {
  return source
    .split('\n')
    .flatMap((text, index) =>
      TEXTS.filter(([, pattern]) => pattern.test(text)).map(
        ([name]) => ({ rule: 'text', name, line: index + 1 }) as const,
      ),
    );
}
