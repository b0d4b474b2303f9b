/**
 * What must not be done twice at the same moment: a form that is sent by a double click is answered once, and passwords are
 * hashed one after another.
 *
 * Owns the order only.
 */
import { getOrMake } from '../../protocol/collections.ts';

/** Actions by key: while one is on its way, whoever asks for the same gets its outcome. */
export class Once<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, action: () => Promise<T>): Promise<T> {
    return getOrMake(this.#running, key, () => action().finally(() => this.#running.delete(key)));
  }
}

/** One action after another, whatever became of the one before. */
export class Line {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }
}
