/** What a desktop does that nobody holds to anything. */
import type { BenchMode } from './mode.ts';

export default {
  name: 'auto',
  about: 'begins with long-poll, and moves to a shorter hold, a WebSocket or polling where the path cuts it',
  relay: 'auto',
} satisfies BenchMode;
