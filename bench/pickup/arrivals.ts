/**
 * What is waited for by id and may come before somebody waits: the worker's word that it has a job, or its result.
 *
 * One failure ends all waits, those to come as well, so that nobody waits for a process that is gone.
 */

export class Arrivals<Value> {
  readonly #waiting = new Map<string, PromiseWithResolvers<Value>>();
  readonly #here = new Map<string, Value>();
  #failure: Error | null = null;

  arrived(id: string, value: Value): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      this.#here.set(id, value);
      return;
    }
    this.#waiting.delete(id);
    waiting.resolve(value);
  }

  /** Each id arrives once and is waited for once. */
  async wait(id: string): Promise<Value> {
    if (this.#failure !== null) throw this.#failure;
    const here = this.#here.get(id);
    if (here !== undefined) {
      this.#here.delete(id);
      return here;
    }
    const waiting = Promise.withResolvers<Value>();
    this.#waiting.set(id, waiting);
    return waiting.promise;
  }

  fail(error: Error): void {
    this.#failure ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure);
    this.#waiting.clear();
  }
}
