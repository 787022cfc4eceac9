/** The provider's limits on cache breakpoints: at most four, and no one-hour breakpoint after a five-minute one. */
import type { Block } from './encode-content.ts';
import type { MessageTurn } from './encode-messages.ts';

const MAX_BREAKPOINTS = 4;

/**
 * Removes breakpoints above the limit, in place; returns how many there
 * were. Keeps the last ones, which cover the longest prefixes.
 */
export function limitBreakpoints(
  groups: readonly (readonly Block[])[],
  budget: { taken: number; allowed: boolean },
): number {
  const withBreakpoint: Block[] = [];
  for (const block of groups.flat()) collect(block, withBreakpoint);
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

/** The parts of a prompt, in the provider's order. */
export interface Prompt {
  readonly tools: readonly Block[];
  readonly system: readonly Block[];
  readonly turns: readonly MessageTurn[];
}

/**
 * Breakpoints for a client whose dialect has none, at most four: tools and system, which other
 * conversations share, and in a conversation that goes on its two newest turns of the user.
 * The next request reads what this one wrote; the older one is for turns of more blocks than
 * the provider looks back. A single question is never read again, and its turn not marked. A
 * prompt below the provider's minimum is not cached, at no cost.
 */
export function addBreakpoints({ tools, system, turns }: Prompt): void {
  const goesOn = tools.length > 0 || turns.some(({ role }) => role === 'assistant');
  const newest = goesOn ? turns.filter(({ role }) => role === 'user').slice(-2) : [];
  const cached = [
    tools.findLast((tool) => !tool.defer_loading),
    system.at(-1),
    ...newest.map(({ blocks }) => blocks.at(-1)),
  ];
  for (const block of cached) {
    if (block) block.cache_control = { type: 'ephemeral' };
  }
}

/** Breakpoints inside a tool result come before the one on the result itself. */
function collect(block: Block, withBreakpoint: Block[]): void {
  if (block.type === 'tool_result' && Array.isArray(block.content)) {
    for (const inner of block.content as Block[]) {
      if (inner.cache_control) withBreakpoint.push(inner);
    }
  }
  if (block.cache_control) withBreakpoint.push(block);
}

const isLong = (cacheControl: unknown): boolean => (cacheControl as { ttl?: string }).ttl === '1h';
