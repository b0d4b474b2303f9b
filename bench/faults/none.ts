/** All is well. */
import type { Fault } from './fault.ts';

export default { name: 'none', about: 'nothing goes wrong', weather: {}, sleep: null } satisfies Fault;
