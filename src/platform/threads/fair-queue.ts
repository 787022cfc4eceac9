/** A queue in which users take turns, and within a user the keys. */
import { entryOf } from '../../core/index.ts';

interface Owned {
  readonly key: { readonly id: string; readonly userId: string };
}

export class FairQueue<T extends Owned> {
  /** By user and key, each in the order of their turns. */
  readonly #users = new Map<string, Map<string, T[]>>();
  size = 0;

  sizeOf(userId: string): number {
    return [...(this.#users.get(userId)?.values() ?? [])].reduce((sum, { length }) => sum + length, 0);
  }

  push(entry: T): void {
    const { id, userId } = entry.key;
    const keys: Map<string, T[]> = entryOf(this.#users, userId, () => new Map());
    entryOf(keys, id, () => []).push(entry);
    this.size += 1;
  }

  /** The next entry of the first user in turn that may have one now. */
  take(mayHave: (userId: string) => boolean): T | undefined {
    for (const [userId, keys] of this.#users) {
      if (!mayHave(userId)) continue;
      const entry = takeTurn(keys);
      this.#users.delete(userId);
      if (keys.size > 0) this.#users.set(userId, keys);
      this.size -= 1;
      return entry;
    }
    return undefined;
  }

  clear(): T[] {
    const entries = [...this.#users.values()].flatMap((keys) => [...keys.values()].flat());
    this.#users.clear();
    this.size = 0;
    return entries;
  }
}

/** Takes from the first list, which then goes to the end, or is removed when it is empty. */
function takeTurn<T>(lists: Map<string, T[]>): T | undefined {
  const [first] = lists;
  if (!first) return undefined;
  const [name, list] = first;
  const taken = list.shift();
  lists.delete(name);
  if (list.length > 0) lists.set(name, list);
  return taken;
}
