/** Ids in a response that later requests of its user may name: of its items, and of containers that the provider made for it. */

/** More items than a response has. */
const MAX_IDS = 1_000;

export function ownedIds(output: unknown): string[] {
  if (!Array.isArray(output)) return [];
  const ids = new Set<string>();
  for (const item of output.slice(0, MAX_IDS)) {
    const { id, container_id: container } = (item ?? {}) as { id?: unknown; container_id?: unknown };
    if (typeof id === 'string') ids.add(id);
    if (typeof container === 'string') ids.add(container);
  }
  return [...ids];
}

/** The container of a messages reply, in one piece or in the last delta of a stream. */
export function containerOf({
  container,
  delta,
}: {
  readonly container?: unknown;
  readonly delta?: unknown;
}): string[] {
  const { id } = (container ?? (delta as { container?: unknown } | undefined)?.container ?? {}) as { id?: unknown };
  return typeof id === 'string' ? [id] : [];
}
