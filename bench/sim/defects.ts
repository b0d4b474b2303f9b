/**
 * Deliberate faults of the product, for tests that prove that the checkers bite. Each is a wrapper around one of the
 * product's own parts; a world without any is the product as it is.
 */
import type { Engine } from '../../desktop-agent/ports.ts';
import type { DesktopTables } from '../../desktop-agent/rows.ts';
import type { Dialers } from '../../desktop-agent/transports.ts';
import type { RelayHandlers } from '../../protocol/api.ts';
import type { MemoryImage } from '../../protocol/host/state/memory-state.ts';
import type { StateStore } from '../../protocol/ports.ts';
import type { AgentApi } from '../../server/agent-api.ts';
import type { RelayTables } from '../../server/rows.ts';
import type { FetchHandler } from './network.ts';

export interface Defects {
  readonly relayStore?: (store: StateStore<RelayTables>) => StateStore<RelayTables>;
  readonly desktopStore?: (store: StateStore<DesktopTables>) => StateStore<DesktopTables>;
  /** What a disk still has after the end of its process. */
  readonly relayImage?: (image: MemoryImage) => MemoryImage;
  readonly desktopImage?: (image: MemoryImage) => MemoryImage;
  /** Only on the direct path: on the full one the handlers are inside the router. */
  readonly calls?: (calls: RelayHandlers, store: StateStore<RelayTables>) => RelayHandlers;
  /** What a desktop of the plain contract reaches. */
  readonly plain?: (fetch: FetchHandler) => FetchHandler;
  readonly agents?: (agents: AgentApi) => AgentApi;
  /** What arrives at the relay of the versions that a desktop names. */
  readonly names?: (names: string | null) => string | null;
  readonly dialers?: (dialers: Dialers) => Dialers;
  readonly engine?: (engine: Engine) => Engine;
  readonly slots?: (slots: number) => number;
}
