/** Why a desktop has ended by itself is written down for its owner, until it runs again. */
import t from 'tap';
import { LAST_END } from '../../desktop-agent/rows.ts';
import { RelayError } from '../../protocol/errors.ts';
import { restartDesktop, startDesktop } from './support.ts';

t.test(
  'a desktop that the relay refuses for good leaves its reason, over a kill, until it runs again (C33)',
  async (t) => {
    const refused = await startDesktop();
    refused.relay.onSync = async () => {
      throw new RelayError('session-replaced', 'a newer one is there');
    };
    await refused.clock.advance(30_000);
    t.equal(await refused.ended, 'session-replaced');
    const row = { code: 'session-replaced', reason: 'a newer one is there', at: Number };
    t.match(refused.store.rows('end').get(LAST_END), row);

    const again = await restartDesktop(refused);
    await again.clock.advance(30_000);
    t.match(again.store.rows('end').get(LAST_END), row, 'refused again');
    again.relay.onSync = async () => undefined;
    const connected = await restartDesktop(again);
    await connected.clock.advance(1_000);
    t.equal(connected.store.rows('end').size, 0);
  },
);

t.test('a desktop that is stopped or killed leaves none', async (t) => {
  const killed = await startDesktop();
  await killed.clock.advance(1_000);
  const stopped = await restartDesktop(killed);
  t.equal(stopped.store.rows('end').size, 0);
  await stopped.clock.settle(stopped.agent.drain(0));
  t.equal(await stopped.ended, 'stopped');
  t.equal(stopped.store.rows('end').size, 0);
});
