/**
 * A list with O(1) add and remove, for members that change with every request. Not a Set: a Set replaces its table as members
 * change, and the old tables keep removed members alive until the next full garbage collection. With one member per request, a
 * fifth of the CPU time went into copying them.
 */
export interface IndexedMember {
  /** Set by the list only. */
  index: number;
}

export class IndexedList<M extends IndexedMember> {
  readonly #members: M[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: M): void {
    member.index = this.#members.push(member) - 1;
  }

  /** Swap-remove. Does nothing when the member is not in the list. */
  remove(member: M): void {
    const { index } = member;
    if (this.#members[index] !== member) return;
    const last = this.#members.pop();
    if (!last || last === member) return;
    this.#members[index] = last;
    last.index = index;
  }

  at(index: number): M | undefined {
    return this.#members[index];
  }

  /** Returns a copy, so that a loop over it may remove members. */
  all(): M[] {
    return [...this.#members];
  }
}
