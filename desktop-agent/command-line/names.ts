/** Names that only this machine knows, for completion in a shell. What they cost is paid at each press of a key. */
import type { Candidate, GivenOptions, Sources } from '../../protocol/host/completion/candidates.ts';

export const desktopNames: Sources = {
  graph: async (given) => (await names()).graphNames(given),
  project: async (given) => (await names()).projectNames(given),
  run: async (given) => (await names()).runNames(given),
  id: async (given) => (await names()).approvalNames(given),
};

export type Names = (given: GivenOptions) => Promise<Candidate[]>;

function names() {
  return import('./actions/names.ts');
}
