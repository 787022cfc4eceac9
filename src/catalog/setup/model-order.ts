/** Order of the models of a group, which decides which line a model name resolves to. */
import { isGlob, matchesGlob } from '../../core/index.ts';

/**
 * The stored order, in which models of the file exchange places. A new one comes as late as its order allows, but
 * before patterns that would hide it.
 */
export function mergeModelOrder(stored: readonly string[], named: readonly string[]): string[] {
  const isNamed = new Set(named);
  const known = new Set(stored);
  const inFileOrder = named.filter((pattern) => known.has(pattern)).values();
  const order = stored.map((pattern) => (isNamed.has(pattern) ? (inFileOrder.next().value ?? pattern) : pattern));
  let next: string | undefined;
  for (const pattern of [...named].reverse()) {
    const latest = next === undefined ? order.length : order.indexOf(next);
    const hidden = known.has(pattern) ? undefined : hiddenAt(order.slice(0, latest), pattern, isNamed);
    if (!known.has(pattern)) order.splice(hidden ?? latest, 0, pattern);
    // A name that moved up must not draw the patterns before it along.
    if (hidden === undefined) next = pattern;
  }
  return order;
}

/** Where a pattern that the file does not name would take the model. */
function hiddenAt(order: readonly string[], model: string, isNamed: ReadonlySet<string>): number | undefined {
  if (isGlob(model)) return undefined;
  const index = order.findIndex((line) => !isNamed.has(line) && isGlob(line) && matchesGlob(line, model));
  return index < 0 ? undefined : index;
}
