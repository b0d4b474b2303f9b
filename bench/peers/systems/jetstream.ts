/**
 * NATS JetStream: a work queue in a file, synced before each answer or each two minutes (its default). The result comes
 * back over a plain NATS subject, as an answer does there.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import { MissingError } from '../missing.ts';
import type { Rig, Way } from '../rig.ts';

export const STREAM = 'JOBS';
export const CONSUMER = 'worker';
export const SUBJECTS = { jobs: 'jobs', results: 'results' } as const;

export interface JetStreamTask {
  readonly port: number;
  readonly slots: number;
}

/** The first version that can sync before it answers. */
const SYNC_ALWAYS_SINCE = [2, 10] as const;

export async function start(rig: Rig): Promise<Way> {
  if (rig.setting.durable) checkCanSync(rig.versions['nats-server'] ?? '');
  const { port } = await rig.broker('nats-server', async ({ port, folder }) => {
    const sync = rig.setting.durable ? 'sync_interval: always' : '';
    const file = join(folder, 'nats.conf');
    await writeFile(file, `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}"\n ${sync} }\n`);
    return ['-c', file];
  });
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  rig.defer(() => connection.close());
  void connection.closed().then((error) => rig.broken(error || new Error('The connection to NATS is closed.')));
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: STREAM,
    subjects: [SUBJECTS.jobs],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
  });
  await manager.consumers.add(STREAM, { durable_name: CONSUMER, ack_policy: AckPolicy.Explicit });
  const task: JetStreamTask = { port, slots: rig.slots };
  await rig.worker(siblingModule('./jetstream-worker', import.meta.url), task);
  connection.subscribe(SUBJECTS.results, {
    callback: (error, message) => (error ? rig.broken(error) : rig.result(message.string())),
  });
  await connection.flush();
  const stream = jetstream(connection);
  return {
    resultBy: 'a NATS subject',
    enqueue: async (job) => void (await stream.publish(SUBJECTS.jobs, JSON.stringify(payloadOf(job)))),
  };
}

function checkCanSync(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = SYNC_ALWAYS_SINCE;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  throw new MissingError(
    `nats-server ${version} cannot sync before it answers`,
    `put nats-server ${SYNC_ALWAYS_SINCE.join('.')} or later first on PATH (nats.io)`,
  );
}
