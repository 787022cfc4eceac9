/**
 * Members that come and go by the thousand. Not a Set: as elements come and go its tables are replaced, and the replaced ones keep
 * alive what they held until the next full collection. With one element per call that made every call survive, and a fifth of all
 * time went into copying them.
 */
export interface IndexedMember {
  /** Belongs to the roster. */
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

  /** The last one takes its place. Whoever is not there, or no longer, takes nobody along. */
  remove(member: M): void {
    const { index: place } = member;
    if (this.#members[place] !== member) return;
    const last = this.#members.pop();
    if (!last || last === member) return;
    this.#members[place] = last;
    last.index = place;
  }

  /** A copy: whoever looks at the members may remove some. */
  all(): M[] {
    return [...this.#members];
  }
}
