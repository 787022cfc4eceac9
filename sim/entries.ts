/** The entries of a journal, which tests wait for. */

/** Longer than anything takes on a slow machine. */
export const HANGING_MS = 150_000;

export class Entries<E> {
  readonly requests: E[] = [];
  readonly #waiters = new Set<() => void>();

  /**
   * Resolves with the first matching entry, present or future; rejects when none comes for so long that something
   * hangs.
   */
  waitFor(predicate: (entry: E) => boolean): Promise<E> {
    const { promise, resolve, reject } = Promise.withResolvers<E>();
    const check = (): void => {
      try {
        const found = this.requests.find(predicate);
        if (found) resolve(found);
      } catch (error) {
        // An error in the test's predicate rejects the wait; it must not crash the server.
        reject(error);
      }
    };
    const late = (): void => reject(new Error(`no journal entry fitted within ${HANGING_MS} ms`));
    const timer = setTimeout(late, HANGING_MS);
    this.#waiters.add(check);
    check();
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waiters.delete(check);
    });
  }

  /** Called after every change of an entry; does nothing without waiters. */
  changed(): void {
    for (const check of this.#waiters) check();
  }
}
