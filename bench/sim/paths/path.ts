/** How calls get to the relay in a simulated world: through the whole stack, or by a short way to the same handlers. */
import type { Dialers } from '../../../desktop-agent/transports.ts';
import type { RelayHandlers } from '../../../protocol/api.ts';
import type { Random } from '../../../protocol/ports.ts';
import type { AgentApi } from '../../../server/agent-api.ts';
import type { ServerSocket } from '../../../server/desktop-sockets.ts';
import type { Relay } from '../../../server/relay.ts';
import type { SocketWireOptions } from '../faults/socket-wire.ts';
import type { Wire } from '../faults/wire.ts';
import type { CallKind } from '../history.ts';
import type { Life } from '../hosts/machine.ts';
import type { Settling } from '../virtual-clock.ts';

export type PathName = 'full' | 'direct';

/** A relay process that serves. */
export interface ServingRelay {
  readonly relay: Relay;
  /** The desktops' handlers, with whatever defect a test gave them. */
  readonly calls: RelayHandlers;
  /** What agents may ask, with whatever defect a test gave it. */
  readonly agents: AgentApi;
}

/** An agent whose call has arrived. */
export interface ArrivedAgent {
  readonly token: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** The relay's. */
  readonly life: Life;
}

/** What a path needs to reach the relay for one instance of a desktop. */
export interface DialGiven {
  readonly life: Life;
  readonly wire: Wire;
  readonly sockets: SocketWireOptions;
  /** The relay process that serves now. Never asked while there is none. */
  readonly serving: () => ServingRelay;
  readonly desktopId: string;
  readonly token: string;
  /** The versions of the protocol that this desktop names, in place of its own; null for none. */
  readonly names: string | null;
  /** A stream of chance for each kind of call. */
  readonly randomOf: (kind: CallKind) => Random;
}

export interface Path {
  readonly name: PathName;
  /** What an event of this path sets in motion. */
  readonly settling: Settling;
  dialers(given: DialGiven): Dialers;
  /** What this agent asks of this relay. */
  agents(serving: ServingRelay, agent: ArrivedAgent): AgentApi;
  /** Takes over a WebSocket on the relay's side. */
  accept(serving: ServingRelay, socket: ServerSocket, desktopId: string): void;
}
