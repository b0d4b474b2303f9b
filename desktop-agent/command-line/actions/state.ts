/** What the commands about the state of the desktop do. */
import { durationText } from '../../../protocol/host/limit-options.ts';
import { note, print } from '../../../protocol/host/terminal.ts';
import { type OwnerOptions, withAdmin } from './admin.ts';

export async function showStatus(options: OwnerOptions): Promise<void> {
  const status = await withAdmin(options, (admin) => admin.status());
  if (options.json) return print(JSON.stringify(status));
  if (status === null) return print('not running');
  if ('ended' in status) return print(`not running: it ended at ${status.ended.at}. ${status.trouble}`);
  const { connected, transport, epoch, trouble, running, outbox, limits } = status;
  print(
    connected
      ? `connected (${transport.transport}, epoch ${epoch}): ${transport.reason}`
      : `not connected: ${trouble ?? 'no answer yet'}`,
  );
  if (transport.retry_in_ms !== null) {
    print(
      `${transport.holds_cut} holds cut so far; something better is tried in ${Math.ceil(transport.retry_in_ms / 60_000)} min`,
    );
  }
  print(`${running} running, ${outbox.pending} completions to deliver, ${outbox.refused.length} refused`);
  for (const { commandId, refused } of outbox.refused) print(`  refused: ${commandId}: ${refused}`);
  print(`limits: ${limits.slots} runs at once, requests held for up to ${durationText(limits.hold_ms)}`);
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
