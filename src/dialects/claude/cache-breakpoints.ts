/** The provider's limits on cache breakpoints: at most four, and no one-hour breakpoint after a five-minute one. */
import type { Block } from './encode-content.ts';

const MAX_BREAKPOINTS = 4;

/**
 * Removes breakpoints above the limit from the blocks, in place, and returns how many there were. Keeps the last ones, which
 * cover the longest prefixes. `groups` are in the provider's order: tools, system, messages.
 */
export function limitBreakpoints(
  groups: readonly (readonly Block[])[],
  budget: { taken: number; allowed: boolean },
): number {
  const withBreakpoint: Block[] = [];
  for (const blocks of groups) for (const block of blocks) collect(block, withBreakpoint);
  const keep = budget.allowed ? MAX_BREAKPOINTS - budget.taken : 0;
  let hasShort = false;
  for (const [n, block] of withBreakpoint.entries()) {
    if (n < withBreakpoint.length - keep) {
      delete block.cache_control;
      continue;
    }
    if (hasShort) block.cache_control = { type: 'ephemeral' };
    hasShort ||= !isLong(block.cache_control);
  }
  return withBreakpoint.length;
}

/** Breakpoints inside a tool result come before the one on the result itself. */
function collect(block: Block, withBreakpoint: Block[]): void {
  if (block.type === 'tool_result' && Array.isArray(block.content))
    for (const inner of block.content as Block[]) if (inner.cache_control) withBreakpoint.push(inner);
  if (block.cache_control) withBreakpoint.push(block);
}

const isLong = (cacheControl: unknown): boolean => (cacheControl as { ttl?: string }).ttl === '1h';
