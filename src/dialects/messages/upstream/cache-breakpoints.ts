/** The provider's rules on cache marks, applied to finished blocks: at most four, and no long one after a short one. */
import type { Block } from './encode-content.ts';

const MAX_BREAKPOINTS = 4;

/**
 * Keeps the last marks, which cover the most, and says how many there were. `groups` are in the order in which the provider
 * reads them: tools, system, conversation.
 */
export function placeBreakpoints(
  groups: readonly (readonly Block[])[],
  room: { taken: number; allowed: boolean },
): number {
  const marked: Block[] = [];
  for (const blocks of groups) for (const block of blocks) collect(block, marked);
  const keep = room.allowed ? MAX_BREAKPOINTS - room.taken : 0;
  let short = false;
  for (const [n, block] of marked.entries()) {
    if (n < marked.length - keep) {
      delete block.cache_control;
      continue;
    }
    if (short) block.cache_control = { type: 'ephemeral' };
    short ||= !isLong(block.cache_control);
  }
  return marked.length;
}

/** What a result holds is read before the result. */
function collect(block: Block, marked: Block[]): void {
  if (block.type === 'tool_result' && Array.isArray(block.content))
    for (const inner of block.content as Block[]) if (inner.cache_control) marked.push(inner);
  if (block.cache_control) marked.push(block);
}

const isLong = (mark: unknown): boolean => (mark as { ttl?: string }).ttl === '1h';
