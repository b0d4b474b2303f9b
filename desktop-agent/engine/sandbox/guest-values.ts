/**
 * Code of the sandbox: how values of a Graph become text.
 *
 * Each function here is sent into the interpreter as its own source text (`toString()`), before the Graph: it must not
 * refer to anything outside itself, and it runs with the interpreter's built-ins, not with Node's.
 */

/** `value`, which is called `name`, as JSON text; throws a TypeError with the path of what JSON cannot hold. */
export type ToJson = (value: unknown, name: string) => string;

/** Anything that was thrown, for a person: name, message, place in the Graph's file, first causes. Never throws. */
export type Describe = (thrown: unknown, fileName: string) => string;

export function makeToJson(maxDepth: number): ToJson {
  const { stringify } = JSON;

  function pathText(name: string, keys: readonly string[]): string {
    return keys.reduce((path, key) => path + (/^\d+$/.test(key) ? `[${key}]` : `.${key.slice(0, 50)}`), name);
  }

  /**
   * JSON.stringify alone drops functions silently and needs quadratic time to find a cycle in deep values. Its replacer
   * is called with the holder as `this`, from which the path of the current value is kept.
   */
  function toJson(value: unknown, name: string): string {
    const holders: unknown[] = [];
    const keys: string[] = [];
    const text = stringify(value, function (this: unknown, key: string, item: unknown): unknown {
      while (holders.length > 0 && holders[holders.length - 1] !== this) {
        holders.pop();
        keys.pop();
      }
      const path = holders.length === 0 ? keys : [...keys, key];
      const kind = typeof item;
      if (kind === 'function' || kind === 'symbol' || kind === 'bigint') {
        throw new TypeError(`${pathText(name, path)} is a ${kind}, which JSON cannot hold`);
      }
      if (kind !== 'object' || item === null) return item;
      if (holders.includes(item))
        throw new TypeError(`${pathText(name, path)} refers back to a value that contains it`);
      if (holders.length >= maxDepth) throw new TypeError(`the ${name} is nested deeper than ${maxDepth} levels`);
      if (holders.length > 0) keys.push(key);
      holders.push(item);
      return item;
    });
    return text === undefined ? 'null' : text;
  }

  return toJson;
}

export function makeDescribe(): Describe {
  const { stringify } = JSON;
  const causesShown = 4;
  const partChars = 2_000;

  function placeOf(thrown: object, fileName: string): string {
    const stack = 'stack' in thrown ? thrown.stack : undefined;
    if (typeof stack !== 'string') return '';
    const start = stack.indexOf(`${fileName}:`);
    if (start < 0) return '';
    const end = stack.indexOf(')', start);
    return ` (at ${stack.slice(start, end < 0 ? start + fileName.length + 20 : end)})`;
  }

  function headline(thrown: unknown): string {
    if (typeof thrown === 'string') return thrown.slice(0, partChars);
    if (typeof thrown !== 'object' || thrown === null) return String(thrown).slice(0, partChars);
    if (!('message' in thrown)) return stringify(thrown).slice(0, partChars);
    const name = 'name' in thrown ? String(thrown.name).slice(0, 100) : 'Error';
    const message = String(thrown.message).slice(0, partChars);
    // A plain `Error:` in front says nothing; `TypeError:` does.
    return name === 'Error' && message !== '' ? message : `${name}: ${message}`;
  }

  function describe(thrown: unknown, fileName: string): string {
    try {
      let text = headline(thrown);
      if (typeof thrown === 'string') return text;
      if (typeof thrown !== 'object' || thrown === null || !('message' in thrown)) return `the Graph threw ${text}`;
      text += placeOf(thrown, fileName);
      let cause = 'cause' in thrown ? thrown.cause : undefined;
      for (let shown = 0; shown < causesShown && cause !== undefined; shown += 1) {
        text += `, caused by: ${headline(cause)}`;
        cause = typeof cause === 'object' && cause !== null && 'cause' in cause ? cause.cause : undefined;
      }
      return text;
    } catch {
      return 'the Graph threw a value that cannot be shown';
    }
  }

  return describe;
}
