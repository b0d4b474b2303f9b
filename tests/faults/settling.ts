/** How a real desktop settles on a transport through whatever is between it and a real relay. */
import type { AgentSnapshot } from '../../desktop-agent/agent.ts';
import type { TransportSnapshot } from '../../desktop-agent/transports.ts';
import type { RunView } from '../../server/agent-api.ts';
import { type DesktopRig, later, type RelayRig, startDesktop, type Teardown } from './rig.ts';

const SECOND = 1_000;

/** Where a desktop settles, with which hold, and within how many milliseconds. */
export interface Settling {
  readonly transport: TransportSnapshot['transport'];
  readonly holdMs?: readonly [min: number, max: number];
  readonly withinMs: number;
  /** How long nothing may change before it counts as settled. */
  readonly quietMs: number;
}

export interface Settled {
  readonly desktop: DesktopRig;
  /** A run that was queued right after the start, and one that was queued when all was quiet. */
  readonly runs: readonly [early: RunView, late: RunView];
  /** From the start until the transport changed for the last time. */
  readonly settledMs: number;
  readonly snapshot: AgentSnapshot;
  readonly asExpected: boolean;
}

export async function settle(
  t: Teardown,
  { relay, url, expected }: { relay: RelayRig; url: string; expected: Settling },
): Promise<Settled> {
  const startedAt = performance.now();
  const desktop = await startDesktop(t, { url, token: await relay.desktopToken() });
  await desktop.connected();
  await later(500);
  const early = await runOnce(relay, desktop);
  const isThere = () => matches(desktop.agent.snapshot().transport, expected);
  const givesUpAt = startedAt + expected.withinMs + 5 * SECOND;
  while (!isThere() && performance.now() < givesUpAt) await later(100);
  await later(expected.quietMs);
  const late = await runOnce(relay, desktop);
  const lastChange = desktop.lines.findLast(({ event }) => event === 'transport.changed');
  const settledMs = (lastChange?.at ?? startedAt) - startedAt;
  return {
    desktop,
    runs: [early, late],
    settledMs,
    snapshot: desktop.agent.snapshot(),
    asExpected: isThere() && settledMs <= expected.withinMs,
  };
}

async function runOnce(relay: RelayRig, desktop: DesktopRig): Promise<RunView> {
  return relay.ended(await relay.queue(desktop.sessionId, { greeting: 'hello' }), 90 * SECOND);
}

function matches(now: TransportSnapshot, { transport, holdMs: [min, max] = [0, 20_000] }: Settling): boolean {
  return now.transport === transport && now.hold_ms >= min && now.hold_ms <= max;
}

/** For the test's comments: what a person wants to know of it. */
export function describeSettling({ settledMs, snapshot: { transport }, runs: [early, late] }: Settled): string[] {
  const hold = transport.transport === 'plain' ? '' : ` (hold ${transport.hold_ms} ms)`;
  return [
    `settled in ${(settledMs / SECOND).toFixed(1)} s on ${transport.transport}${hold}: ${transport.reason}`,
    `pickup ${early.timing.pickup_ms} ms early, ${late.timing.pickup_ms} ms when settled`,
  ];
}
