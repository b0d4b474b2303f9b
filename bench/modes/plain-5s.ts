/** The obvious cure for waiting: the same as today's system, four times as often. */
import { PLAIN } from '../../desktop-agent/modes.ts';
import type { BenchMode } from './mode.ts';

export default {
  name: 'plain-5s',
  about: 'as plain-20s, each 5 s',
  relay: { ...PLAIN, tickMs: 5_000 },
} satisfies BenchMode;
