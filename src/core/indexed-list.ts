/**
 * A list with O(1) add and remove. Not a Set, whose old tables keep removed members alive
 * until a full garbage collection: a fifth of the CPU time went into them.
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
