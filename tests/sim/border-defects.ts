/**
 * Deliberate faults at the borders of the product: versions that are not looked at, times that are forgotten, holds of
 * WebSockets, the plain routes. The others are in `product-defects.ts`.
 */
import type { Defects } from '../../bench/sim/defects.ts';
import { RelayError } from '../../protocol/errors.ts';

/** What a desktop names never arrives. */
export function strangersAreServed(): Defects {
  return { names: () => null };
}

/** A desktop takes the refusal of its version for a bad connection. */
export function refusalIsNotUnderstood(): Defects {
  const asBadWeather = (error: unknown): never => {
    const isRefusal = error instanceof RelayError && error.code === 'unsupported-protocol';
    throw isRefusal ? new RelayError('unreachable', 'nobody answers') : error;
  };
  return {
    dialers: (dialers) => {
      const deaf = (dialer: (typeof dialers)['plain']): typeof dialer => ({
        ...dialer,
        sync: (input, options) => dialer.sync(input, options).catch(asBadWeather),
      });
      return {
        'long-poll': deaf(dialers['long-poll']),
        websocket: deaf(dialers.websocket),
        plain: deaf(dialers.plain),
      };
    },
  };
}

/** How soon a run has to start is forgotten when it is queued. */
export function startByIsForgotten(): Defects {
  return {
    agents: (agents) => ({
      ...agents,
      runSession: (agent, { start_within_seconds: _, ...request }) => agents.runSession(agent, request),
    }),
  };
}

/** Nothing that is held over a WebSocket ends by itself. */
export function socketHoldsAreLong(): Defects {
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => {
        let answer = await calls.sync(input, context);
        const holds = context.transport === 'websocket' && input.hold_ms > 0;
        for (let again = 0; again < 2 && holds && answer.commands.length === 0; again++) {
          answer = await calls.sync(input, context);
        }
        return answer;
      },
    }),
  };
}

/** A sync over a WebSocket stays open when a newer one has taken its place, and a newer one comes after each run. */
export function oldSocketHoldsStay(): Defects {
  const newest = new Map<string, object>();
  return {
    calls: (calls) => ({
      ...calls,
      sync: async (input, context) => {
        newest.set(context.desktopId, input);
        const answer = await calls.sync(input, context);
        const isOld = newest.get(context.desktopId) !== input;
        if (context.transport === 'websocket' && isOld) await new Promise(() => {});
        return answer;
      },
      complete: async (input, context) => ({ ...(await calls.complete(input, context)), sync_raised: false }),
    }),
  };
}

/** The plain routes hand out again what they have handed out, and let everything start. */
export function plainOffersComeAgain(): Defects {
  const handedOut: unknown[] = [];
  return {
    plain: (fetch) => async (request) => {
      const response = await fetch(request);
      const call = new URL(request.url).pathname.split('/').at(-1);
      if (response.status !== 200 || call === 'complete') return response;
      if (call === 'control') return Response.json({ cancel: false, reason: null });
      const { commands } = JSON.parse(await response.text()) as { commands: unknown[] };
      const all = [...commands, ...handedOut];
      handedOut.push(...commands);
      return Response.json({ commands: all });
    },
  };
}

/** Each start of a desktop leaves a promise to itself. */
export function promisesAreForgotten(): Defects {
  return {
    desktopStore: (store) => {
      void Promise.reject(new Error('nobody listens'));
      return store;
    },
  };
}
