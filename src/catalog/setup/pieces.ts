/** Elements of one turn of the event loop: each may be compared with thousands of patterns. */
const PIECE = 100;

/** `flatMap` over many elements of a configuration, with other work of the process in between. */
export async function flatMapInPieces<T, R>(list: Iterable<T>, work: (one: T) => readonly R[]): Promise<R[]> {
  const results: R[] = [];
  let count = 0;
  for (const one of list) {
    results.push(...work(one));
    count += 1;
    if (count % PIECE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return results;
}
