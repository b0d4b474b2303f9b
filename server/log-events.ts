/** One log line for each step in the life of a command: ids and durations, never arguments, results or tokens. */
import { hasEnded } from '../protocol/command-machine.ts';
import type { Log } from '../protocol/ports.ts';
import type { CommandBook, CommandChange } from './command-book.ts';

export function logCommandLife(commands: CommandBook, log: Log): void {
  commands.onChange((change) => {
    const { row } = change;
    const ids = { command_id: row.commandId, desktop_id: row.desktopId };
    const event = eventOf(change);
    if (event === 'command.queued') {
      log.info(event, { ...ids, agent_id: row.agentId, project_id: row.projectId, session: row.graphSessionId });
    } else if (event === 'command.started') {
      log.info(event, { ...ids, pickup_ms: (row.startedAt ?? 0) - row.queuedAt, transport: row.transport });
    } else if (event === 'command.ended') {
      const run_ms = row.startedAt === null ? null : (row.finishedAt ?? 0) - row.startedAt;
      log.info(event, { ...ids, status: row.status, run_ms, total_tokens: row.totalTokens });
    } else {
      log.info(event, { ...ids, offers: row.offers, age_ms: (row.offeredAt ?? row.queuedAt) - row.queuedAt });
    }
  });
}

function eventOf({ row, before }: CommandChange): string {
  if (before === null) return 'command.queued';
  if (hasEnded(row.status)) return 'command.ended';
  if (row.status === 'queued') return 'command.returned';
  if (row.status === 'offered') return 'command.offered';
  return before === 'running' ? 'command.cancel-asked' : 'command.started';
}
