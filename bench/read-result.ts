/**
 * A result that was written with `--out`, read again.
 *
 * Owns saying why a file is none, or not the one that is needed.
 */
import { readFileSync } from 'node:fs';
import { BenchError } from './bench-error.ts';
import { type BenchResult, benchResultSchema, FORMAT_VERSION } from './result-format.ts';

type Kind = BenchResult['kind'];
type ResultOf<K extends Kind> = Extract<BenchResult, { kind: K }>;

/** `purpose` ends the sentence "FILE cannot be …". */
export function readResult<K extends Kind>(
  path: string,
  { kinds, purpose }: { kinds: readonly K[]; purpose: string },
): ResultOf<K> {
  const refuse = refusing(path, purpose);
  const json = jsonOf(path, refuse) as { format_version?: unknown; kind?: unknown } | null;
  const { format_version: version, kind } = json ?? {};
  const wanted = kinds.map((each) => `\`${each}\``).join(' or ');
  if (!kinds.some((each) => each === kind)) return refuse(`it is no result of ${wanted}. Make one with --out.`);
  if (version !== FORMAT_VERSION) return refuse(`its format is version ${version}, and this is ${FORMAT_VERSION}.`);
  const checked = benchResultSchema.safeParse(json);
  if (checked.success) return checked.data as ResultOf<K>;
  const [issue] = checked.error.issues;
  return refuse(`${issue?.path.join('.')}: ${issue?.message}`);
}

/** How to say that a file cannot be used. */
export function refusing(path: string, purpose: string): (why: string, cause?: unknown) => never {
  return (why, cause) => {
    throw new BenchError('baseline-invalid', `${path} cannot be ${purpose}: ${why}`, { cause });
  };
}

function jsonOf(path: string, refuse: (why: string, cause?: unknown) => never): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), error);
  }
}
