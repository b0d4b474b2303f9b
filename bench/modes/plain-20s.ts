/** Today's system: asks each 20 s, skips while busy, looks for a cancel each 3 s. */
import { PLAIN } from '../../desktop-agent/modes.ts';
import type { BenchMode } from './mode.ts';

export default {
  name: 'plain-20s',
  about: 'asks each 20 s, not while busy; runs what it got one after another; looks for a cancel each 3 s',
  relay: PLAIN,
} satisfies BenchMode;
