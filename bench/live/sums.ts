/** What samples come to: summaries of floors and layers, and what the machine adds in each mode. */
import type { BenchMode } from '../modes/mode.ts';
import { medianOf, percentile, type Summary, sorted, summarize } from '../statistics.ts';
import { machineError } from './agreement.ts';
import type { FloorSamples } from './floor.ts';
import { LAYERED_MODES, type LayersMeasured, type Pickup, STATIONS } from './layers.ts';
import type { FloorFound, LayersFound, LiveCell } from './result.ts';

export function floorFound({ exchange, append }: FloorSamples): FloorFound {
  return { exchange_ms: summaryOf(exchange), append_ms: summaryOf(append) };
}

export function layersFound({ pickups, floor }: LayersMeasured): LayersFound[] {
  return LAYERED_MODES.map((mode, index) => {
    const own = pickups[index]!;
    const pickup_ms = summaryOf(own.map(pickupOf));
    const ticket_ms = summaryOf(own.map(({ ticket, called }) => ticket - called));
    return {
      mode: mode.name,
      steps: STATIONS.slice(1).map((to, step) => {
        const from = STATIONS[step]!;
        return { from, to, ms: summaryOf(own.map((pickup) => pickup[to] - pickup[from])) };
      }),
      pickup_ms,
      ticket_ms,
      pickup_to_exchange: pickup_ms.median / medianOf(floor.exchange),
      ticket_to_append: ticket_ms.median / medianOf(floor.append),
    };
  });
}

function pickupOf({ called, engine }: Pickup): number {
  return engine - called;
}

/** The floor's worst beside all desktops, and a pickup of ours alone: over a WebSocket where the mode has one. */
export function machineFound(
  { relay }: BenchMode,
  { layers, beside }: { layers: LayersMeasured; beside: FloorSamples },
): LiveCell['machine'] {
  const transport = relay === 'auto' ? 'long-poll' : relay.name;
  const index = Math.max(
    0,
    LAYERED_MODES.findIndex(({ name }) => name === transport),
  );
  return machineError({
    exchange_p99_ms: percentile(sorted(beside.exchange), 0.99),
    append_p99_ms: percentile(sorted(beside.append), 0.99),
    own_ms: medianOf(layers.pickups[index]!.map(pickupOf)),
  });
}

function summaryOf(sample: readonly number[]): Summary {
  return summarize(sample)!;
}

/** Every number in it to the thousandth: a microsecond, where it is milliseconds. More digits would be noise in a file. */
export function rounded<T>(value: T): T {
  if (typeof value === 'number') return (Math.round(value * 1_000) / 1_000) as T;
  if (Array.isArray(value)) return value.map(rounded) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rounded(each)])) as T;
}
