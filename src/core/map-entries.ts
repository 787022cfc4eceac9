/** Entries of maps that are made where they are first needed. */

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
