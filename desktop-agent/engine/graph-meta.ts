/**
 * What a Graph says of itself in its `meta`.
 *
 * Owns the keys of `meta` and their rules. Reading them from a file is in `graph-source.ts`.
 */
import { z } from 'zod';
import { argumentsSchemaSchema } from '../../protocol/arguments-schema.ts';

const positiveInteger = z.number().int().positive();

/** `server.tool`, or `server.*` for all tools of a server. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}\.(?:\*|[A-Za-z0-9_./-]{1,128})$/;

/** Tools that one Graph may name. More is a Graph that nobody has read. */
const TOOLS_NAMED = 100;

export const metaSchema = z.object({
  name: z.string().trim().min(1).max(200),
  description: z.string().max(2_000).optional(),
  slug: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1-64 lower-case letters, digits or dashes, not a dash first')
    .optional(),
  /** JSON Schema of the arguments. They are checked before anything starts. */
  arguments: argumentsSchemaSchema.optional(),
  /** The tools that the Graph may call; without it, none. */
  tools: z
    .array(z.string().regex(TOOL_NAME, "must be `server.tool`, or `server.*` for all of a server's tools"))
    .max(TOOLS_NAMED)
    .optional(),
  // Strict: a misspelt limit would silently be no limit. Other keys of meta are ignored, for Graphs written elsewhere.
  limits: z
    .strictObject({
      total_tokens: positiveInteger.optional(),
      max_concurrency: positiveInteger.optional(),
      wall_ms: positiveInteger.optional(),
      agents: positiveInteger.optional(),
      tool_calls: positiveInteger.optional(),
      graph_calls: positiveInteger.optional(),
    })
    .optional(),
});

export type GraphMeta = z.infer<typeof metaSchema>;

/** Whether these names of tools cover that tool. */
export function namesTool(names: readonly string[], tool: string): boolean {
  return names.some((name) => (name.endsWith('.*') ? tool.startsWith(name.slice(0, -1)) : name === tool));
}

/** The slug of a Graph whose meta has none: from its file's name without the ending. */
export function slugOf(stem: string): string {
  const slug = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
  return slug || 'graph';
}
