/** What runs where: at most once, never after its end, never more than the owner allows, only where it belongs. */
import { factsOf } from '../history.ts';
import type { Checker } from './checker.ts';

export const runsOnce: Checker = {
  rule: 'no command is executed twice',
  *check(facts) {
    const first = new Map<string, string>();
    for (const { at, commandId, instance } of factsOf(facts, 'engine-started')) {
      const earlier = first.get(commandId);
      if (earlier === undefined) first.set(commandId, instance);
      else yield { at, commandId, text: `${earlier} has run it, and now ${instance} runs it` };
    }
  },
};

export const neverAfterItsEnd: Checker = {
  rule: 'nothing starts whose cancel was answered as done',
  *check(facts) {
    const over = new Map<string, string>();
    for (const fact of factsOf(facts, 'told', 'engine-started')) {
      const { at, commandId } = fact;
      if (fact.type === 'told') {
        const { status } = fact.run;
        if (status === 'cancelled' || status === 'expired') over.set(commandId, status);
      } else if (over.has(commandId)) {
        yield { at, commandId, text: `it was told as ${over.get(commandId)}, and then ${fact.instance} started it` };
      }
    }
  },
};

export const withinSlots: Checker = {
  rule: 'one instance never runs more at once than its owner allows',
  *check(facts, { slots }) {
    const running = new Map<string, Set<string>>();
    for (const fact of factsOf(facts, 'engine-started', 'engine-ended', 'desktop-ended')) {
      const now = running.get(fact.instance) ?? new Set();
      running.set(fact.instance, now);
      if (fact.type === 'desktop-ended') now.clear();
      else if (fact.type === 'engine-ended') now.delete(fact.executionId);
      else {
        now.add(fact.executionId);
        const most = slots.get(fact.desktop) ?? 1;
        const { at, commandId, instance } = fact;
        if (now.size > most) yield { at, commandId, text: `${instance} runs ${now.size} at once, and may run ${most}` };
      }
    }
  },
};

export const onlyTheLiveInstance: Checker = {
  rule: 'only the live instance of a desktop runs anything',
  *check(facts) {
    const replaced = new Set<string>();
    const epochs = new Map<string, number>();
    /** By desktop, the highest epoch that anybody was told, and since when. */
    const newest = new Map<string, { epoch: number; since: number }>();
    for (const fact of factsOf(facts, 'call-ended', 'engine-started')) {
      const { at, instance, desktop, commandId } = fact;
      if (fact.type === 'engine-started') {
        if (replaced.has(instance))
          yield { at, commandId, text: `${instance} was told that it is replaced, and starts it` };
        continue;
      }
      if (fact.error === 'session-replaced') replaced.add(instance);
      if (fact.epoch !== null) {
        epochs.set(instance, fact.epoch);
        if (fact.epoch > (newest.get(desktop)?.epoch ?? 0)) newest.set(desktop, { epoch: fact.epoch, since: at });
      }
      const live = newest.get(desktop);
      const older = live !== undefined && (epochs.get(instance) ?? 0) < live.epoch;
      if (fact.go === true && older && fact.sentAt > live.since) {
        yield { at, commandId, text: `${instance} asked after a newer instance was live, and may run it` };
      }
    }
  },
};

export const epochsAreUnique: Checker = {
  rule: 'each instance of a desktop has an epoch of its own',
  *check(facts) {
    const holder = new Map<string, string>();
    for (const { at, desktop, instance, epoch } of factsOf(facts, 'call-ended')) {
      if (epoch === null) continue;
      const name = `${desktop} ${epoch}`;
      const earlier = holder.get(name) ?? instance;
      holder.set(name, earlier);
      if (earlier !== instance) {
        yield { at, commandId: null, text: `${instance} has epoch ${epoch}, which ${earlier} was given before` };
      }
    }
  },
};

export const onItsOwnDesktop: Checker = {
  rule: 'a command goes to the desktop that has its Graph',
  *check(facts, { desktopOfSession }) {
    const home = new Map<string, string>();
    for (const { commandId, session } of factsOf(facts, 'ticket')) home.set(commandId, desktopOfSession.get(session)!);
    for (const { at, desktop, offered } of factsOf(facts, 'call-ended')) {
      for (const commandId of offered) {
        const owner = home.get(commandId);
        if (owner !== undefined && owner !== desktop) {
          yield { at, commandId, text: `it is for ${owner}, and was offered to ${desktop}` };
        }
      }
    }
  },
};
