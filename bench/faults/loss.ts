/**
 * A bad line. Half of what is lost ends in silence, as behind a NAT that forgot the connection. TCP sends again what is
 * lost now and then, so what this means is that connections die: a WebSocket as often as an hour of requests does.
 */
import type { Fault } from './fault.ts';

export default {
  name: 'loss',
  about: 'of requests and of answers 2 % each are lost, and a WebSocket each 8 minutes, half of them without a word',
  weather: { loseRequest: 0.02, loseAnswer: 0.02, silent: 0.5, socketLifeMs: 480_000 },
  sleep: null,
} satisfies Fault;
