/** The same seed is the same world on Node and on Deno: nothing in it comes from the runtime. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { DENO, skipWithoutDeno } from '../support/deno-program.ts';

const PROGRAM = fileURLToPath(new URL('./trace-hashes.ts', import.meta.url));
const SEEDS = Array.from({ length: 10 }, (_, index) => 2_001 + index);
/** No file, no network: only what `ws` looks at when it is loaded. */
const DENO_FLAGS = ['--no-prompt', '--allow-env=WS_NO_BUFFER_UTIL,WS_NO_UTF_8_VALIDATE'];

async function hashes(program: string, flags: readonly string[]): Promise<string[]> {
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: '1' };
  const { stdout } = await promisify(execFile)(program, [...flags, PROGRAM, ...SEEDS.map(String)], { env });
  return stdout.trim().split('\n');
}

t.test(
  'the same seeds give the same traces on Node and on Deno, on both paths',
  { skip: skipWithoutDeno },
  async (t) => {
    const [node, deno] = [await hashes(process.execPath, []), await hashes(DENO, ['run', ...DENO_FLAGS])];
    t.equal(node.length, SEEDS.length * 2);
    t.strictSame(deno, node);
  },
);
