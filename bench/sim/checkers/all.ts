/** Every rule that a history is held to. */
import { acceptedRunsExist, storedCompletionsStay, toldIsOnDisk } from './accepted.ts';
import { endsHaveCauses } from './causes.ts';
import type { Checker } from './checker.ts';
import { keysAreTheAgentsOwn, oneKeyOneRun, otherArgumentsAreRefused } from './keys.ts';
import { heldIsBounded, holdsEnd, noHotLoop } from './requests.ts';
import { ownRunsOnly, resultIsTheEngines } from './results.ts';
import {
  epochsAreUnique,
  neverAfterItsEnd,
  onItsOwnDesktop,
  onlyTheLiveInstance,
  runsOnce,
  withinSlots,
} from './runs.ts';
import { nothingStartsTooLate } from './start-by.ts';
import { cancelledStays, endsStay, noStepBack } from './statuses.ts';
import { onlySpokenVersionsAreServed, refusedVersionsEnd } from './versions.ts';

export const ALL_CHECKERS: readonly Checker[] = [
  acceptedRunsExist,
  storedCompletionsStay,
  toldIsOnDisk,
  runsOnce,
  neverAfterItsEnd,
  nothingStartsTooLate,
  withinSlots,
  onlyTheLiveInstance,
  epochsAreUnique,
  onItsOwnDesktop,
  noStepBack,
  endsStay,
  cancelledStays,
  resultIsTheEngines,
  ownRunsOnly,
  endsHaveCauses,
  oneKeyOneRun,
  otherArgumentsAreRefused,
  keysAreTheAgentsOwn,
  heldIsBounded,
  holdsEnd,
  noHotLoop,
  onlySpokenVersionsAreServed,
  refusedVersionsEnd,
];
