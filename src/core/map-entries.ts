/** Entries of maps: made where they are first needed, and forgotten beyond a bound. */

interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value of the key, which `make` returns where there is none yet. */
export function entryOf<K, V extends object>(map: Entries<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Forgets the oldest key, where there are as many as `max`, so that another one may be added. */
export function makeRoom<K>(keys: Map<K, unknown> | Set<K>, max: number): void {
  if (keys.size < max) return;
  const [oldest] = keys.keys();
  keys.delete(oldest as K);
}
