/** The second choice of the product. */
import { WEBSOCKET } from '../../desktop-agent/modes.ts';
import type { BenchMode } from './mode.ts';

export default {
  name: 'websocket',
  about: 'the same calls over one WebSocket',
  relay: WEBSOCKET,
} satisfies BenchMode;
