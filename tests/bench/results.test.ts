/** What commands of the bench write down: one format, from the command line to the file and back. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { engineLines } from '../../bench/engine/cli.ts';
import { pickupLines } from '../../bench/pickup/cli.ts';
import { createProgress, createProgressLine } from '../../bench/progress.ts';
import { readResult } from '../../bench/read-result.ts';
import { engineResultSchema, FORMAT_VERSION, pickupResultSchema, simResultSchema } from '../../bench/result-format.ts';
import { expectProcesses, launch, tempFolder } from '../process/support.ts';

expectProcesses(t);

async function written(t: Test, args: readonly string[]): Promise<{ file: string; json: unknown }> {
  const file = join(await tempFolder(t), 'out.json');
  const running = launch(t, ['bench', ...args, '--json', '--out', file]);
  const { code } = await running.ended;
  t.equal(code, 0, running.stderr);
  const json = JSON.parse(running.stdout);
  t.same(JSON.parse(await readFile(file, 'utf8')), json, 'the file has what was printed');
  return { file, json };
}

t.test('pickup writes down its samples, its seed and the command that measures the same again', async (t) => {
  const { file, json } = await written(t, ['pickup', '--rounds', '2', '--runs', '3', '--seed', '4']);
  const result = pickupResultSchema.parse(json);
  t.equal(result.command, 'npm run bench -- pickup --rounds 2 --runs 3 --mode long-poll --seed 4');
  t.match(result, { seed: 4, mode: 'long-poll', made: { versions: { node: process.versions.node } } });
  for (const sample of Object.values(result.samples_us)) {
    t.ok(sample.length === 6 && sample.every((us) => us > 0), 'the round that warms up does not count');
  }
  t.equal(result.pickup_us.n, 6);
  t.ok(result.pickup_to_floor > 0);
  t.notMatch(pickupLines(result).join('\n'), /NaN|undefined/);
  t.same(readResult(file, { kinds: ['sim', 'pickup'], purpose: 'read' }), result);
});

t.test('engine writes down how soon a first statement runs, and what a run takes', async (t) => {
  const { file, json } = await written(t, ['engine', '--runs', '2', '--row', '3', '--seed', '5']);
  const result = engineResultSchema.parse(json);
  t.equal(result.command, 'npm run bench -- engine --runs 2 --row 3 --seed 5');
  for (const { warm, cold } of Object.values(result.samples_us)) {
    t.ok(warm.length === 2 && cold.length === 2, 'the round that warms up does not count');
    t.ok([...warm, ...cold].every((us) => us > 0));
  }
  t.match(result.row, { runs: 3, sandboxes_left: 0 });
  t.ok(result.memory_mib.base > 0 && result.memory_mib.run > 0);
  t.notMatch(engineLines(result).join('\n'), /NaN|undefined/);
  t.same(readResult(file, { kinds: ['engine'], purpose: 'read' }), result);
});

t.test('a batch of the simulation has the same form, and its seed gives the same but for the clock', async (t) => {
  const args = ['sim', '--seeds', '3', '--seed', '7'];
  const { file, json } = await written(t, args);
  const result = simResultSchema.parse(json);
  t.match(result, { kind: 'sim', seed: 7, seeds: 3, passed: 3, failed: [] });
  t.equal(result.command, 'npm run bench -- sim --seeds 3 --seed 7');
  t.ok(Object.values(result.faults).reduce((sum, count) => sum + count, 0) > 0);
  const again = await written(t, [...args, '--jobs', '1']);
  t.same({ ...(again.json as object), wall_clock: null }, { ...result, wall_clock: null });
  t.same(readResult(file, { kinds: ['sim'], purpose: 'read' }), result);
});

t.test('a file that is no result, another one, or of another version is refused with the reason', async (t) => {
  const folder = await tempFolder(t);
  const file = join(folder, 'result.json');
  const head = { format: 'graph-relay-bench', format_version: FORMAT_VERSION };
  for (const [text, why] of [
    ['{', /cannot be read: .*JSON/],
    ['null', /no result of `sim`/],
    [JSON.stringify({ ...head, kind: 'pickup' }), /no result of `sim`/],
    [JSON.stringify({ ...head, kind: 'sim', format_version: 1 }), /version 1, and this is/],
    [JSON.stringify({ ...head, kind: 'sim' }), /command: /],
  ] as const) {
    await writeFile(file, text);
    t.throws(() => readResult(file, { kinds: ['sim'], purpose: 'read' }), { code: 'baseline-invalid', message: why });
  }
});

t.test('progress paints over one line on a terminal, and nothing anywhere else', async (t) => {
  const painted = (isTTY: boolean) => {
    let text = '';
    const write = (chunk: string) => {
      text += chunk;
      return true;
    };
    const stream = { isTTY, write } as Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
    const bar = createProgress('work', 4, stream);
    bar.done(2);
    bar.end();
    const line = createProgressLine(stream);
    line.say('starting');
    line.end();
    return text;
  };
  t.equal(painted(false), '');
  t.match(painted(true), /work █{15}░{15} 50 %.*starting\r/s);
  t.notMatch(painted(true), /\n/);
});
