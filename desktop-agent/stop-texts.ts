/** What a run's end says when the relay had it stopped. Reasons without a text ask for no report. */
import type { StopReason } from '../protocol/schemas.ts';
import { NOT_SHARED } from '../protocol/texts.ts';

export const STOPPED_TEXTS: Readonly<Partial<Record<StopReason, string>>> = {
  cancelled: 'The run was cancelled.',
  'not-shared': NOT_SHARED,
};
