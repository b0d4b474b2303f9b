/**
 * What a Graph may be given: any JSON object that reaches it as it was written.
 *
 * What would be changed or refused somewhere on its way is refused here, with the place and the way out: a model can
 * correct a call, and nobody can find out later why a search had no result.
 */
import { isCleanText, isContainer, isDeeperThan } from '../../protocol/json-text.ts';
import { JSON_DEPTH } from '../../protocol/limits.ts';
import { jsonObjectSchema } from '../../protocol/schemas.ts';
import { InexactNumber, inexactProblem } from '../exact-json.ts';

interface Place {
  readonly path: readonly string[];
  readonly value: unknown;
}

interface Problem {
  readonly path: readonly string[];
  readonly message: string;
}

export const runArgumentsSchema = jsonObjectSchema
  .superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== null) context.addIssue({ code: 'custom', path: [...problem.path], message: problem.message });
  })
  .meta({ type: 'object' });

function problemOf(value: unknown): Problem | null {
  if (isDeeperThan(value, JSON_DEPTH)) return { path: [], message: `is nested deeper than ${JSON_DEPTH} levels` };
  for (let level: Place[] = [{ path: [], value }]; level.length > 0; level = level.flatMap(membersOf)) {
    for (const { path, value } of level) {
      const message = problemAt(path.at(-1) ?? '', value);
      if (message !== null) return { path, message };
    }
  }
  return null;
}

function problemAt(key: string, value: unknown): string | null {
  if (value instanceof InexactNumber) return inexactProblem(value.source);
  if (!isCleanText(key)) return 'has a name with a lone surrogate or a NUL character';
  if (typeof value === 'string' && !isCleanText(value)) return 'holds a lone surrogate or a NUL character';
  return null;
}

function membersOf({ path, value }: Place): Place[] {
  if (!isContainer(value) || value instanceof InexactNumber) return [];
  return Object.entries(value).map(([key, member]) => ({ path: [...path, key], value: member }));
}
