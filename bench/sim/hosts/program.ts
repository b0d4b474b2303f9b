/**
 * What runs on the machine of a desktop, whoever wrote it, as far as its host has to know it.
 *
 * Owns the shape only: the production desktop and one of the published plain contract have it.
 */
import type { LocalSession } from '../../../desktop-agent/graph-library.ts';
import type { MemoryImage, MemoryState } from '../../../protocol/host/state/memory-state.ts';
import type { Random } from '../../../protocol/ports.ts';
import type { Wire } from '../faults/wire.ts';
import type { CallKind, InstanceRef } from '../history.ts';
import type { DesktopHostOptions } from './desktop-host.ts';
import type { Life } from './machine.ts';

export interface DesktopProgram {
  /** Resolves with why it ended: `stopped`, or the code with which the relay refuses it for good. */
  run(): Promise<string>;
  /** Takes nothing new, lets runs finish for up to `graceMs`, then stops them. Resolves when all is written down. */
  drain(graceMs: number): Promise<void>;
  /** The owner ticks a session for a project. Rejects when it could not be written down. */
  share(projectId: string, graphSessionId: string): Promise<unknown>;
  unshare(projectId: string, graphSessionId: string): Promise<unknown>;
  /** The sessions have changed. */
  libraryChanged(): void;
}

/** A program with the disk that it writes on. */
export interface Installed {
  readonly program: DesktopProgram;
  readonly disk: Pick<MemoryState<never>, 'crash' | 'failWrites'>;
}

/** What one instance is made of. */
export interface ProgramGiven {
  readonly options: DesktopHostOptions;
  readonly ref: InstanceRef;
  readonly life: Life;
  /** What the disk had when the process before this one ended. */
  readonly image: MemoryImage | undefined;
  /** The versions of the protocol that it names; null for none. */
  readonly names: string | null;
  readonly sessions: () => readonly LocalSession[];
  readonly wire: Wire;
  /** A stream of chance for each kind of call. */
  readonly randomOf: (kind: CallKind) => Random;
}
