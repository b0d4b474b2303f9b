/** The lines of a record on their way to the disk. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { DEFAULT_HISTORY_LIMITS } from '../../desktop-agent/runs/history-limits.ts';
import { RecordFiles, recordName } from '../../desktop-agent/runs/record-files.ts';
import { RecordWriter } from '../../desktop-agent/runs/record-writer.ts';
import type { Disk, DiskFile, OpenHow } from '../../protocol/host/state/disk.ts';
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
