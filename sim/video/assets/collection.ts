/** A collection of library items that belong to accounts and projects. */
import type { Owner } from '../accounts.ts';
import { VideoFailure } from '../errors.ts';
import type { CallFault } from '../triggers.ts';

export interface LibraryItem extends Owner {
  readonly id: string;
  /** Counts the items of the collection, in the order of creation. */
  readonly order: number;
  name: string;
  /** Milliseconds since 1970, on the clock of the provider. */
  readonly createdAt: number;
  updatedAt: number;
  /** Faults of later calls about this item; `times` counts down. */
  readonly faults: CallFault[];
}

export class Collection<T extends LibraryItem> {
  readonly #kind: 'asset' | 'group';
  readonly #items = new Map<string, T>();
  #count = 0;

  constructor(kind: 'asset' | 'group') {
    this.#kind = kind;
  }

  /** Newest first. */
  get all(): T[] {
    return [...this.#items.values()].reverse();
  }

  get(id: string): T | undefined {
    return this.#items.get(id);
  }

  ownedBy({ account, project }: Owner): T[] {
    return this.all.filter((item) => item.account === account && item.project === project);
  }

  /** An item of another account or project is as unknown as a missing one. */
  find({ account, project }: Owner, id: string): T {
    const item = this.#items.get(id);
    if (item?.account === account && item.project === project) return item;
    const what = this.#kind === 'group' ? 'asset_group' : 'asset';
    throw new VideoFailure(`NotFound.${this.#kind}_id`, `The specified ${what} ${id} is not found.`);
  }

  /** For tests, which know that the item exists. */
  protected known(id: string): T {
    const item = this.#items.get(id);
    if (!item) throw new RangeError(`the ${this.#kind} ${id} does not exist`);
    return item;
  }

  protected nextOrder(): number {
    this.#count += 1;
    return this.#count;
  }

  protected add(item: T): void {
    this.#items.set(item.id, item);
  }

  protected drop(id: string): void {
    this.#items.delete(id);
  }
}
