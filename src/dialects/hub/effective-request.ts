/** The request after the setting and tool changes inside its conversation, for dialects without such changes. */
import type { HubRequest, HubServerTool, HubTool, ServerTool, ToolName } from './types.ts';

/** Applies the last value of every changed setting to the whole request. */
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

/**
 * Returns the request's tools and those added in the conversation. A
 * later definition replaces an earlier one of the same name.
 */
export function offeredTools(request: HubRequest): readonly HubTool[] {
  const tools = new Map<string, HubTool>();
  for (const tool of request.tools) tools.set(keyOf(tool), tool);
  for (const item of request.items) {
    if (item.kind === 'tool_change') for (const tool of item.add) tools.set(keyOf(tool), tool);
  }
  return [...tools.values()];
}

export const findHosted = (tools: readonly HubTool[], name: ServerTool): HubServerTool | undefined =>
  tools.find((tool): tool is HubServerTool => tool.kind === 'server' && tool.tool === name);

/** Tells tools apart by namespace and name. */
export const toolKey = ({ name, namespace = '' }: ToolName): string => `${namespace}\n${name}`;

/** Several MCP servers may be offered; any other hosted tool only once. */
function keyOf(tool: HubTool): string {
  if (tool.kind === 'server') return `server ${tool.tool} ${tool.tool === 'mcp' ? JSON.stringify(tool.raw) : ''}`;
  return `tool ${toolKey(tool)}`;
}
