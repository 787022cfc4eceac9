/** Lookup of declared tools by name. One map for a request, because a list of allowed tools may have as many entries as the tools. */
import type { HubTool } from '../hub/types.ts';

export type NamedTool = Exclude<HubTool, { kind: 'server' }>;

/** The first tool of each name. */
export function toolsByName(tools: readonly HubTool[]): ReadonlyMap<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  for (const tool of tools) if (tool.kind !== 'server' && !named.has(tool.name)) named.set(tool.name, tool);
  return named;
}
