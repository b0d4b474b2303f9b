/** A proxy whose limit is below the hold. */
import type { Fault } from './fault.ts';

export default {
  name: 'proxy-cut-15s',
  about: 'a proxy ends each request that has no answer after 15 s with a page of status 504; WebSockets pass',
  weather: { cutAfterMs: 15_000, cutAs: 'html-504' },
  sleep: null,
} satisfies Fault;
