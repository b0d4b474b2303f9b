/** The first choice of the product. */
import { LONG_POLL } from '../../desktop-agent/modes.ts';
import type { BenchMode } from './mode.ts';

export default {
  name: 'long-poll',
  about: 'the same request, held for up to 20 s and answered when there is work; a cancel arrives in a held control',
  relay: LONG_POLL,
} satisfies BenchMode;
