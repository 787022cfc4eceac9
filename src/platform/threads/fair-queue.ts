/** A queue in which users take turns, and within a user the keys. */
interface Owned {
  readonly key: { readonly id: string; readonly userId: string };
}

export class FairQueue<T extends Owned> {
  /** By user and key, each in the order of their turns. */
  readonly #users = new Map<string, Map<string, T[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(userId: string): number {
    return [...(this.#users.get(userId)?.values() ?? [])].reduce((sum, { length }) => sum + length, 0);
  }

  push(entry: T): void {
    const { id, userId } = entry.key;
    const keys = this.#users.get(userId) ?? new Map<string, T[]>();
    const entries = keys.get(id) ?? [];
    entries.push(entry);
    keys.set(id, entries);
    this.#users.set(userId, keys);
    this.#size += 1;
  }

  /** The next entry of the first user in turn that may have one now. */
  take(mayHave: (userId: string) => boolean): T | undefined {
    for (const [userId, keys] of this.#users) {
      if (!mayHave(userId)) continue;
      const entry = takeTurn(
        keys,
        (entries) => entries.shift(),
        ({ length }) => length === 0,
      );
      this.#users.delete(userId);
      if (keys.size > 0) this.#users.set(userId, keys);
      this.#size -= 1;
      return entry;
    }
    return undefined;
  }

  clear(): T[] {
    const entries = [...this.#users.values()].flatMap((keys) => [...keys.values()].flat());
    this.#users.clear();
    this.#size = 0;
    return entries;
  }
}

/** Takes from the first list, which then goes to the end, or is removed when it is empty. */
function takeTurn<K, L, T>(lists: Map<K, L>, take: (list: L) => T, isEmpty: (list: L) => boolean): T | undefined {
  for (const [name, list] of lists) {
    const taken = take(list);
    lists.delete(name);
    if (!isEmpty(list)) lists.set(name, list);
    return taken;
  }
  return undefined;
}
