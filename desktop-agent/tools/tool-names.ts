/**
 * What tools are called: `server.tool`, and the patterns that stand for several of them.
 *
 * Owns which names there are. A server's name has no dot, so the first dot always parts the two. A tool whose own name
 * does not fit is not offered to Graphs: it could not be told from another one, or not be typed.
 */

/** Beside letters and digits. */
const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** As the Model Context Protocol has it, and `/`, which it had before. */
const OWN_NAME = /^[A-Za-z0-9_./-]{1,128}$/;
const PREFIX = /^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_./-]{0,128}$/;

export const SERVER_NAME_RULE = '1-64 letters, digits, dashes or underscores';
export const TOOL_NAME_RULE = '1-128 letters, digits, dashes, underscores, dots or slashes';

export interface ToolName {
  readonly server: string;
  /** What the server calls it. */
  readonly own: string;
}

export function isServerName(name: string): boolean {
  return SERVER_NAME.test(name);
}

export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name);
}

/** Null for what is no tool's name. */
export function parseToolName(text: string): ToolName | null {
  const dot = text.indexOf('.');
  const [server, own] = [text.slice(0, dot), text.slice(dot + 1)];
  return dot > 0 && isServerName(server) && isOwnName(own) ? { server, own } : null;
}

/**
 * A tool's name, or what it begins with and a star: `files.*`, `files.read_*`; `*` is everything. Of two that stand for the
 * same tool, one begins with the other: which one is the more specific is never in doubt.
 */
export function isPattern(text: string): boolean {
  if (!text.endsWith('*')) return parseToolName(text) !== null;
  return text === '*' || PREFIX.test(text.slice(0, -1));
}

export function matches(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
}

/** How much of a name a pattern says itself. A name without a star says all. */
export function specificity(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length : Number.POSITIVE_INFINITY;
}
