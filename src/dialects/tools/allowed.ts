/** The tools that a request allows among those it offers. */
import { offeredTools, toolKey } from '../hub/effective-request.ts';
import type { AllowedHostedTool, HubRequest, HubTool, JsonObject } from '../hub/types.ts';
import { maybeString, optional, readStrings, unsupported } from '../wire/read.ts';

/** Without a list of allowed tools these are all of them. */
export function allowedTools(request: HubRequest): readonly HubTool[] {
  const tools = offeredTools(request);
  return request.allowedTools ? tools.filter(allows(request.allowedTools)) : tools;
}

/** Sets, because both lists may be long. */
function allows({ names, hosted }: NonNullable<HubRequest['allowedTools']>): (tool: HubTool) => boolean {
  const allowedNames = new Set(names.map(toolKey));
  const allowedHosted = hosted && new Set(hosted.map(hostedKeyOf));
  return (tool) =>
    tool.kind === 'server'
      ? allowedHosted === undefined || hostedKeys(tool).some((key) => allowedHosted.has(key))
      : allowedNames.has(toolKey(tool));
}

const hostedKeyOf = ({ tool, label }: AllowedHostedTool): string => (label === undefined ? tool : `${tool}\n${label}`);

/** An entry with a label allows one MCP server, an entry without one all of them. */
function hostedKeys({ tool, raw }: HubTool & { kind: 'server' }): readonly string[] {
  const label = maybeString(raw.server_label);
  return label === undefined ? [tool] : [tool, hostedKeyOf({ tool, label })];
}

/** A tool that only the provider's own code may call would become one that the model calls. */
export function checkCallers(tool: JsonObject, path: string): void {
  const callers = optional(tool, 'allowed_callers', readStrings, path);
  if (callers && callers.length > 0 && !callers.includes('direct'))
    unsupported(`${path}.allowed_callers`, 'only direct calls are supported by this model.');
}
