/**
 * The official client before a whole relay, both in virtual time: their limits and waits pass in no time, in order.
 *
 * Owns how a client of an era is connected to a test's relay, and the timers that it is given. The desktop's words are
 * the test's.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Test } from 'tap';
import type { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { Timer } from '../../protocol/ports.ts';
import { startRun, syncInput, type TestRelay, uuid } from '../contract/support.ts';
import { type Era, MODERN_VERSION } from './fixtures.ts';

/** Makes `setTimeout` mean virtual time for this test: the client's own limits are measured with it. */
export function useVirtualTimers(t: Test, clock: VirtualClock): void {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const armed = new WeakSet<object>();
  const setVirtual = (run: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
    const timer = clock.after(delayMs, () => run(...args));
    armed.add(timer);
    return timer;
  };
  const clearVirtual = (timer?: Timer | NodeJS.Timeout | string | number) => {
    if (typeof timer === 'object' && armed.has(timer)) (timer as Timer).cancel();
    else real.clearTimeout(timer as NodeJS.Timeout);
  };
  Object.assign(globalThis, { setTimeout: setVirtual, clearTimeout: clearVirtual });
  t.teardown(() => void Object.assign(globalThis, real));
}

export async function connectClient(world: TestRelay, era: Era, token = world.agentToken): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL('http://relay.test/mcp'), {
    authProvider: { token: async () => token },
    fetch: (url, init) => world.relay.fetch(new Request(url, init)),
  });
  const mode = era === '2026' ? { pin: MODERN_VERSION } : 'legacy';
  const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
  await world.settle(client.connect(transport));
  return client;
}

/** The desktop shares its session and takes what waits. Gives back the commands that it was offered. */
export async function syncDesktop(world: TestRelay): Promise<string[]> {
  const { body } = await world.settle(world.trpc('sync', syncInput()));
  return body.result.data.commands.map(({ command_id }: { command_id: string }) => command_id);
}

/** A run that its desktop has started. */
export async function startedRun(world: TestRelay): Promise<string> {
  await syncDesktop(world);
  const { command_id } = await startRun(world);
  await syncDesktop(world);
  await beginRun(world, command_id);
  return command_id;
}

export async function beginRun(world: TestRelay, command_id: string): Promise<void> {
  const control = { command_id, execution_id: uuid(1), phase: 'starting', hold_ms: 0 };
  await world.settle(world.trpc('control', control));
}

export async function completeRun(world: TestRelay, command_id: string, end: object = {}): Promise<void> {
  const usual = { status: 'completed', result: { answer: 42 }, error: null, total_tokens: 7, reported_cost: null };
  await world.settle(world.trpc('complete', { command_id, execution_id: uuid(1), ...usual, ...end }));
}
