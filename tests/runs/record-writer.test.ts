/** The lines of a record on their way to the disk. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { DEFAULT_HISTORY_LIMITS } from '../../desktop-agent/runs/history-limits.ts';
import { RecordFiles, recordName } from '../../desktop-agent/runs/record-files.ts';
import { RecordWriter } from '../../desktop-agent/runs/record-writer.ts';
import type { Disk, DiskFile, OpenHow } from '../../protocol/host/state/disk.ts';
import { refusal } from '../state/faulty-disk.ts';
import { MemoryDisk } from '../state/memory-disk.ts';
import { keptLog } from '../state/support.ts';
import { FOLDER } from './support.ts';

const COMMAND = '00000001-0000-4000-8000-000000000000';

function writerOn(disk: Disk, clock = new VirtualClock()) {
  const files = new RecordFiles({ disk, folder: FOLDER });
  const name = recordName(clock.now(), COMMAND);
  const limits = DEFAULT_HISTORY_LIMITS;
  const writer = new RecordWriter({
    files,
    name,
    commandId: COMMAND,
    clock,
    log: keptLog(),
    limits,
    all: { bytes: 0 },
  });
  const lines = async () => {
    const found: string[] = [];
    for await (const line of files.lines(name)) found.push(line);
    return found;
  };
  return { clock, writer, lines };
}

t.test('lines are written together a moment later, without anybody asking', async (t) => {
  const { clock, writer, lines } = writerOn(new MemoryDisk());
  writer.append('one');
  writer.append('two');
  t.same(await lines(), []);
  await clock.advance(DEFAULT_HISTORY_LIMITS.flushMs);
  t.same(await lines(), ['one', 'two']);
});

t.test('a flush writes what came while the one before was about to end', async (t) => {
  const closing = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  class SlowToClose extends MemoryDisk {
    override async open(path: string, how: OpenHow): Promise<DiskFile> {
      const file = await super.open(path, how);
      const close = () => {
        closing.resolve();
        return closed.promise;
      };
      return { ...file, close };
    }
  }
  const { writer, lines } = writerOn(new SlowToClose());
  writer.append('one');
  const first = writer.flush();
  await closing.promise;
  writer.append('two');
  const second = writer.flush();
  closed.resolve();
  t.equal(await first, true);
  t.equal(await second, true);
  t.same(await lines(), ['one', 'two']);
  t.equal(writer.isWritten, true);
});

/** Once it is full, what is there may be written over, and nothing grows. */
class FullDisk extends MemoryDisk {
  isFull = false;

  override async open(path: string, how: OpenHow): Promise<DiskFile> {
    const file = await super.open(path, how);
    const write = async (bytes: Uint8Array, position: number) => {
      const room = this.isFull ? ((await this.size(path)) ?? 0) - position : bytes.length;
      if (room < bytes.length) throw refusal('ENOSPC');
      return file.write(bytes, position);
    };
    return { ...file, write };
  }
}

t.test('a disk that stays full gets the last line in place of others, and none is torn', async (t) => {
  const disk = new FullDisk();
  const { clock, writer, lines } = writerOn(disk);
  for (let n = 0; n < 20; n += 1) writer.append(`line ${n}`);
  await clock.advance(1_000);
  disk.isFull = true;
  writer.append('too much');
  writer.appendLast((lost) => `last ${JSON.stringify(lost)}`);
  await clock.advance(20_000);
  t.equal((await lines()).length, 20);
  t.equal(writer.isWritten, false, 'it is tried again as long as the desktop runs');
  await writer.end();
  const left = await lines();
  const kept = left.slice(0, -1);
  t.ok(kept.length > 5 && kept.length < 19, `${kept.length} lines are left`);
  t.same(
    kept,
    Array.from({ length: kept.length }, (_, n) => `line ${n}`),
  );
  t.equal(left.at(-1), `last {"lines":${21 - kept.length},"squeezed":true}`);
});
