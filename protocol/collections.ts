/** Small helpers over collections that the language does not have yet. */

/** The value under the key; made and put there first when it is missing. */
export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
