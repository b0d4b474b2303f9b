/** What a desktop costs: how many requests it sends, how many are held, and for how long. */
import { type Fact, type FactOf, factsOf } from '../history.ts';
import type { Break, Checker } from './checker.ts';

/** One request of a kind is held; another may be waiting for the disk or taking its place. */
const HELD_SYNCS = 1;
/** Controls: one for each run, with room for those that a lost connection left behind. */
const HELD_CONTROLS = 8;
/** Younger requests are on their way through, not held. */
const PASSING_MS = 5_000;
/** A hold is at most 20 s; the rest is for the disk. */
const OPEN_MS = 26_000;
const WINDOW_MS = 60_000;
/** Requests of a desktop in a minute in which nothing happens. */
const IDLE_REQUESTS = 60;
/** Where requests are doubled on the way, the second one sends the first one home, which comes again. */
const DOUBLED_REQUESTS = 2 * IDLE_REQUESTS;
/** And more for everything that happens: an offer, a start, an end, a change of sharing, a new process. */
const REQUESTS_PER_EVENT = 8;

export const heldIsBounded: Checker = {
  rule: 'a desktop holds a bounded number of requests open',
  *check(facts, { relayDiskMs, slots }) {
    if (diskRefuses(facts)) return;
    const passingMs = PASSING_MS + 3 * relayDiskMs;
    const open = new Map<number, FactOf<'request-opened'>>();
    for (const fact of facts) {
      if (fact.type === 'request-closed') open.delete(fact.id);
      if (fact.type === 'relay-ended') open.clear();
      if (fact.type !== 'request-opened') continue;
      open.set(fact.id, fact);
      const held = [...open.values()].filter((r) => r.desktop === fact.desktop && fact.at - r.at > passingMs);
      const syncs = held.filter(({ call }) => call === 'sync').length;
      const controls = held.filter(({ call }) => call === 'control').length;
      if (syncs <= HELD_SYNCS && controls <= HELD_CONTROLS + (slots.get(fact.desktop) ?? 1)) continue;
      yield { at: fact.at, commandId: null, text: `${fact.desktop} has ${syncs} syncs and ${controls} controls held` };
    }
  },
};

export const holdsEnd: Checker = {
  rule: 'no request stays open longer than its hold',
  *check(facts, { relayDiskMs }) {
    if (diskRefuses(facts)) return;
    const openMs = OPEN_MS + 3 * relayDiskMs;
    const open = new Map<number, FactOf<'request-opened'>>();
    const tooLong = ({ call, desktop, at }: FactOf<'request-opened'>, until: number): Break => ({
      at: until,
      commandId: null,
      text: `a ${call} of ${desktop} was open for ${Math.round(until - at)} ms`,
    });
    for (const fact of factsOf(facts, 'request-opened', 'request-closed')) {
      const opened = open.get(fact.id);
      if (fact.type === 'request-opened') open.set(fact.id, fact);
      else if (opened !== undefined && fact.at - opened.at > openMs) yield tooLong(opened, fact.at);
      if (fact.type === 'request-closed') open.delete(fact.id);
    }
    const end = facts.at(-1)?.at ?? 0;
    for (const opened of open.values()) if (end - opened.at > openMs) yield tooLong(opened, end);
  },
};

export const noHotLoop: Checker = {
  rule: 'a desktop sends a bounded number of requests a minute',
  *check(facts, { slots }) {
    for (const desktop of slots.keys()) yield* hotMinutes(facts, desktop);
  },
};

function* hotMinutes(facts: readonly Fact[], desktop: string): Iterable<Break> {
  const mine = facts.filter((fact) => 'desktop' in fact && fact.desktop === desktop);
  const sent = factsOf(mine, 'call-sent');
  const events = mine.filter(isWork);
  const doubled = factsOf(facts, 'fault').some(({ kind, where }) => kind === 'doubled' && where === desktop);
  const idle = doubled ? DOUBLED_REQUESTS : IDLE_REQUESTS;
  let firstSent = 0;
  let firstEvent = 0;
  let lastEvent = 0;
  for (const [index, { at }] of sent.entries()) {
    while (sent[firstSent]!.at <= at - WINDOW_MS) firstSent++;
    while (lastEvent < events.length && events[lastEvent]!.at <= at) lastEvent++;
    while (firstEvent < lastEvent && events[firstEvent]!.at <= at - WINDOW_MS) firstEvent++;
    const requests = index - firstSent + 1;
    const allowed = idle + REQUESTS_PER_EVENT * (lastEvent - firstEvent);
    if (requests <= allowed) continue;
    yield {
      at,
      commandId: null,
      text: `${desktop} sent ${requests} requests within a minute, with room for ${allowed}`,
    };
    return;
  }
}

function isWork(fact: Fact): boolean {
  if (fact.type === 'call-ended') return fact.offered.length > 0;
  return ['engine-started', 'engine-ended', 'sharing-changed', 'desktop-started', 'desktop-ended'].includes(fact.type);
}

/** While a disk refuses, requests wait for it, and how long is not up to the relay. */
function diskRefuses(facts: readonly Fact[]): boolean {
  return factsOf(facts, 'fault').some(({ kind, where }) => kind === 'disk-refuses' && where === 'relay');
}
