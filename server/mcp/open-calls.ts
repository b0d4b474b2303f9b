/**
 * Tool calls that are being answered, by agent and request id, so that a client of the 2025 era can take one back.
 *
 * Such a client says `notifications/cancelled` in a request of its own and keeps the stream of the first one open. The
 * SDK would find the call in the server object of a session; here every request has a server object of its own, and no
 * session says which client sent it: two clients with one token may both have a request 7. So a word that fits several
 * calls ends none of them, and one that hits another client's call after all does no harm: the call is not broken off,
 * its wait ends, and it is answered with what is known at that moment.
 *
 * A client of the 2026 era closes its request instead, which ends the call by the request's own signal, as it does in
 * both eras. Owns the list of open calls only.
 */
import { getOrMake } from '../../protocol/collections.ts';

type RequestId = string | number;

export class OpenCalls {
  readonly #open = new Map<string, Set<AbortController>>();

  /** Runs the call with a signal that is aborted when its request is, or when its client takes it back. */
  async run<Answer>(
    of: { readonly agentId: string; readonly id: RequestId; readonly signal: AbortSignal },
    call: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const key = keyOf(of.agentId, of.id);
    const takenBack = new AbortController();
    const calls = getOrMake(this.#open, key, () => new Set<AbortController>());
    calls.add(takenBack);
    try {
      return await call(AbortSignal.any([of.signal, takenBack.signal]));
    } finally {
      calls.delete(takenBack);
      if (calls.size === 0 && this.#open.get(key) === calls) this.#open.delete(key);
    }
  }

  /** Takes back what a message of this agent names, when it is such a message. */
  takeBack(agentId: string, body: unknown): void {
    for (const message of Array.isArray(body) ? body : [body]) {
      if (!isCancelled(message)) continue;
      const [only, ...others] = this.#open.get(keyOf(agentId, message.params.requestId)) ?? [];
      if (others.length === 0) only?.abort();
    }
  }
}

interface Cancelled {
  readonly params: { readonly requestId: RequestId };
}

function isCancelled(message: unknown): message is Cancelled {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { requestId?: unknown } | null };
  const id = params?.requestId;
  return method === 'notifications/cancelled' && (typeof id === 'string' || typeof id === 'number');
}

/** `7` and `"7"` are different ids. */
function keyOf(agentId: string, id: RequestId): string {
  return JSON.stringify([agentId, id]);
}
