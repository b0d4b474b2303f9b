/**
 * Which runs wait for their owner's word on a tool call, as their desktops say with each control.
 *
 * In memory only: a relay that was restarted hears it again with the next control. Owns since when, by the clock of the
 * relay. Must not know what is asked beyond the tool's name, and decides nothing.
 */
import { hasEnded } from '../protocol/command-machine.ts';
import { DEADLINE_MARGIN_MS } from '../protocol/limits.ts';
import type { Clock } from '../protocol/ports.ts';
import type { AwaitingApproval } from '../protocol/schemas.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandRow } from './rows.ts';

export interface AwaitedApproval {
  readonly tool: string;
  /** Wall clock, to show. */
  readonly since: number;
}

interface Known extends AwaitedApproval {
  /** Monotonic, to tell one question from the next. */
  readonly askedAt: number;
}

export class AwaitedApprovals {
  readonly #clock: Clock;
  readonly #onChange: (commandId: string) => void;
  readonly #open = new Map<string, Known>();

  /** `onChange` is told the run whose question was asked or answered, but not of its end. */
  constructor(options: { clock: Clock; commands: CommandBook; onChange: (commandId: string) => void }) {
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    options.commands.onChange(({ row }) => {
      if (row.status !== 'running') this.#open.delete(row.commandId);
    });
  }

  /** The question that this run waits for; null when there is none. */
  of(commandId: string): AwaitedApproval | null {
    return this.#open.get(commandId) ?? null;
  }

  /** What the desktop says of its run now. Of one that has ended nothing is kept. */
  say({ commandId, status }: CommandRow, said: AwaitingApproval | null): void {
    const before = this.#open.get(commandId) ?? null;
    const now = said === null || hasEnded(status) ? null : this.#dated(said, before);
    if (now === before) return;
    if (now === null) this.#open.delete(commandId);
    else this.#open.set(commandId, now);
    this.#onChange(commandId);
  }

  /** The same question, told again, may have been longer on its way; it keeps its date. */
  #dated({ tool, waiting_ms }: AwaitingApproval, before: Known | null): Known {
    const askedAt = this.#clock.monotonic() - waiting_ms;
    if (before?.tool === tool && askedAt - before.askedAt < DEADLINE_MARGIN_MS) return before;
    return { tool, since: this.#clock.now() - waiting_ms, askedAt };
  }
}
