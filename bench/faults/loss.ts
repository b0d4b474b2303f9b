/** A bad line. Half of what is lost ends in silence, as behind a NAT that forgot the connection. */
import type { Fault } from './fault.ts';

export default {
  name: 'loss',
  about: 'of requests and of answers 2 % each are lost, half of them without a word',
  weather: { loseRequest: 0.02, loseAnswer: 0.02, silent: 0.5 },
  sleep: null,
} satisfies Fault;
