/** The worker of JetStream: a pull consumer that is kept filled. */
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { CONSUMER, type JetStreamTask, STREAM, SUBJECTS } from './jetstream.ts';

const { port, slots } = JSON.parse(process.argv[2] ?? '{}') as JetStreamTask;
const connection = await connect({ servers: `127.0.0.1:${port}` });
const consumer = await jetstream(connection).consumers.get(STREAM, CONSUMER);
const messages = await consumer.consume({
  max_messages: 2 * slots,
  callback(message) {
    connection.publish(SUBJECTS.results, take(message.json()));
    message.ack();
  },
});
announceWorker({});
endWith(`The consumer was closed: ${await messages.closed()}`);
