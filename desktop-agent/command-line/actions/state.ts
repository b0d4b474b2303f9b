/** What the commands about the state of the desktop do. */
import { durationText } from '../../../protocol/host/limit-options.ts';
import { note, painted, print } from '../../../protocol/host/terminal.ts';
import type { AgentSnapshot } from '../../agent.ts';
import { counted } from '../words.ts';
import { flagsOf, type OwnerOptions, withAdmin } from './admin.ts';

export async function showStatus(options: OwnerOptions): Promise<void> {
  const [status, pausedSince] = await withAdmin(options, (admin) => Promise.all([admin.status(), admin.pausedSince()]));
  if (options.json) return print(JSON.stringify(status));
  if (status === null) print('not running');
  else if ('ended' in status) print(`not running: it ended at ${status.ended.at}. ${status.trouble}`);
  else for (const line of connectionLines(status)) print(line);
  if (pausedSince !== null) print(painted('yellow', `paused since ${pausedSince}: it takes no new runs`));
  if (status === null || 'ended' in status) return;
  const { running, outbox, limits } = status;
  print(`${running} running, ${outbox.pending} completions to deliver, ${outbox.refused.length} refused`);
  for (const { commandId, refused } of outbox.refused) print(`  refused: ${commandId}: ${refused}`);
  print(`limits: ${limits.slots} runs at once, requests held for up to ${durationText(limits.hold_ms)}`);
}

function connectionLines({ connected, transport, epoch, trouble }: AgentSnapshot): string[] {
  const now = connected
    ? `connected (${transport.transport}, epoch ${epoch}): ${transport.reason}`
    : `not connected: ${trouble ?? 'no answer yet'}`;
  if (transport.retry_in_ms === null) return [now];
  const inMinutes = Math.ceil(transport.retry_in_ms / 60_000);
  return [now, `${transport.holds_cut} holds cut so far; something better is tried in ${inMinutes} min`];
}

export async function pause(options: OwnerOptions): Promise<void> {
  const answer = await withAdmin(options, (admin) => admin.pause());
  if (options.json) return print(JSON.stringify(answer));
  const resume = `\`graph-relay desktop resume${flagsOf(options)}\``;
  if (!answer.changed) return note(`It was paused before, since ${answer.paused_since}. ${resume} ends that.`);
  note(
    answer.running === null
      ? `Paused: when the desktop runs again, it takes no new runs until ${resume}.`
      : `Paused: ${counted(answer.running, 'run')} going on, and no new ones until ${resume}.`,
  );
}

export async function resume(options: OwnerOptions): Promise<void> {
  const answer = await withAdmin(options, (admin) => admin.resume());
  if (options.json) return print(JSON.stringify(answer));
  if (!answer.changed) return note('It was not paused.');
  note(answer.running === null ? 'Resumed. The desktop does not run at the moment.' : 'Resumed: it takes runs again.');
}

/** For the system's sleep hook, which must not fail because of us: nobody to tell is no error. */
export async function sayAsleep(options: OwnerOptions): Promise<void> {
  const told = await withAdmin(options, (admin) => admin.asleep());
  if (options.json) return print(JSON.stringify({ running: told !== null, told: told === true }));
  if (told === null) return note(NOBODY);
  note(
    told
      ? 'The relay shows this desktop as asleep. It asks for work again when the machine wakes.'
      : 'The relay could not be told in time. The desktop asks for no work until the machine wakes.',
  );
}

export async function sayAwake(options: OwnerOptions): Promise<void> {
  const running = await withAdmin(options, (admin) => admin.awake());
  if (options.json) return print(JSON.stringify({ running }));
  note(running ? 'The desktop asks for work again.' : NOBODY);
}

const NOBODY = 'The desktop does not run, so there is nobody to tell.';
