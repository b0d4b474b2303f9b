/**
 * What a held request costs: the relay with none, a thousand, ten thousand of them, its memory and its processor time.
 *
 * Owns the steps, and saying which limit of the machine is in the way of one.
 */
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { sleepFor } from '../virtual/sleep.ts';
import { startHelper } from './child-talk.ts';
import type { HolderAnswer, HolderQuestion } from './holder-messages.ts';
import { limitFor } from './open-files.ts';
import type { LiveRelay } from './relay.ts';
import type { RelayUsage } from './relay-messages.ts';
import type { HeldLevel } from './result.ts';
import { sharedClock } from './shared-clock.ts';

export async function measureHeld(given: {
  relay: LiveRelay;
  project: string;
  /** Of as many desktops as the highest level. */
  tokens: readonly string[];
  levels: readonly number[];
  watchMs: number;
  openFiles: number;
  onLevel: () => void;
}): Promise<HeldLevel[]> {
  const { relay, project, tokens, levels, watchMs, openFiles, onLevel } = given;
  const program = siblingModule('./holder-process', import.meta.url);
  const holder = startHelper<HolderQuestion, HolderAnswer>('the process that holds requests', { program });
  try {
    await holder.ask({ ask: 'begin', url: relay.url.href, project, tokens });
    const none = await relay.usage(true);
    const measured: HeldLevel[] = [];
    for (const held of levels) {
      const limit = limitFor(held, openFiles);
      if (limit !== null) {
        measured.push({ held, missing: limit, failed: 0, measured: null });
        continue;
      }
      const began = await holder.ask({ ask: 'hold', count: held });
      const before = await relay.usage(false);
      await sleepFor(sharedClock, watchMs);
      const after = await relay.usage(true);
      const ended = await holder.ask({ ask: 'counts' });
      const seen = { held, none, before, after, requests: ended.answered - began.answered };
      const missing = ended.failed === 0 ? null : `${ended.failed} requests failed: ${ended.failure}`;
      measured.push({ held, missing, failed: ended.failed, measured: levelOf(seen) });
      onLevel();
    }
    return measured;
  } finally {
    await holder.end();
  }
}

function levelOf(seen: {
  held: number;
  none: RelayUsage;
  before: RelayUsage;
  after: RelayUsage;
  requests: number;
}): NonNullable<HeldLevel['measured']> {
  const { held, none, before, after, requests } = seen;
  const cpuUs = after.cpuUs - before.cpuUs;
  const wallUs = after.atUs - before.atUs;
  return {
    requests,
    watched_s: wallUs / 1_000_000,
    rss_bytes: after.rssBytes,
    rss_none_bytes: none.rssBytes,
    rss_bytes_per_held: (after.rssBytes - none.rssBytes) / held,
    kept_bytes_per_held: (after.keptBytes - none.keptBytes) / held,
    cpu_share: cpuUs / wallUs,
    cpu_us_per_request: requests === 0 ? null : cpuUs / requests,
  };
}
