/** A command in each status, built by hand: tests of the machine must not use the machine to get there. */
import type { CommandLife, CommandStatus } from '../../protocol/command-machine.ts';

export const COMMAND = '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22';
export const EXECUTION = '11111111-1111-4111-8111-111111111111';
export const OTHER_EXECUTION = '22222222-2222-4222-8222-222222222222';

export const STATUSES = [
  'queued',
  'offered',
  'running',
  'completed',
  'failed',
  'cancelled',
  'expired',
  'lost',
] as const satisfies readonly CommandStatus[];

const QUEUED: CommandLife = {
  status: 'queued',
  queuedAt: 1_000,
  offeredAt: null,
  startedAt: null,
  finishedAt: null,
  offers: 0,
  epoch: null,
  executionId: null,
  cancelRequestedAt: null,
  stopReason: null,
  error: null,
  totalTokens: null,
  reportedCost: null,
  result: 'none',
  resultChars: null,
};
const OFFERED: CommandLife = { ...QUEUED, status: 'offered', offeredAt: 1_500, offers: 1, epoch: 2 };
const RUNNING: CommandLife = { ...OFFERED, status: 'running', startedAt: 2_000, executionId: EXECUTION };

const LIVES: Readonly<Record<CommandStatus, CommandLife>> = {
  queued: QUEUED,
  offered: OFFERED,
  running: RUNNING,
  completed: { ...RUNNING, status: 'completed', finishedAt: 3_000, result: 'stored' },
  failed: { ...RUNNING, status: 'failed', finishedAt: 3_000, error: 'broke' },
  cancelled: {
    ...RUNNING,
    status: 'cancelled',
    finishedAt: 3_000,
    cancelRequestedAt: 2_500,
    stopReason: 'cancelled',
  },
  expired: { ...QUEUED, status: 'expired', finishedAt: 3_000, stopReason: 'expired', error: 'too late' },
  lost: { ...RUNNING, status: 'lost', finishedAt: 3_000, stopReason: 'ended', error: 'silent' },
};

export function lifeIn(status: CommandStatus): CommandLife {
  return LIVES[status];
}
