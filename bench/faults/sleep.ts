/** A laptop whose lid is closed now and then. */
import type { Fault } from './fault.ts';

export default {
  name: 'sleep',
  about: "the desktop's machine sleeps for 2 minutes of each 10",
  weather: {},
  sleep: { every_s: 600, for_s: 120 },
} satisfies Fault;
