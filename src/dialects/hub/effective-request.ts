/** A request as it stands at the end of its conversation, for targets that know no change on the way. */
import type { HubRequest, HubTool } from './types.ts';

/** Settings that changed hold for the whole request: the last value wins. */
export function effectiveRequest(request: HubRequest): HubRequest {
  let { reasoning, output } = request;
  for (const item of request.items) {
    if (item.kind !== 'config_change') continue;
    if (item.effort) {
      const { mode: _, budget: __, ...rest } = reasoning;
      reasoning = { ...rest, effort: item.effort };
    }
    if (item.format) output = { ...output, format: item.format };
  }
  return { ...request, reasoning, output };
}

/** Tools of the request and those added on the way; the later definition of a name counts. */
export function offeredTools(request: HubRequest): readonly HubTool[] {
  const tools = new Map<string, HubTool>();
  for (const tool of request.tools) tools.set(keyOf(tool), tool);
  for (const item of request.items) {
    if (item.kind === 'tool_change') for (const tool of item.add) tools.set(keyOf(tool), tool);
  }
  return [...tools.values()];
}

/** Several remote servers may be offered; of every other hosted tool one is enough. */
function keyOf(tool: HubTool): string {
  if (tool.kind === 'server') return `server ${tool.tool} ${tool.tool === 'mcp' ? JSON.stringify(tool.raw) : ''}`;
  return `tool ${'namespace' in tool ? (tool.namespace ?? '') : ''}\n${tool.name}`;
}
