/** The choice among tools, in the forms that a server has. */
import type { UpstreamTarget } from '../codec.ts';
import { offeredTools } from '../hub/effective-request.ts';
import type { HubField, RequestSection } from '../hub/fields.ts';
import type { HubRequest, HubTool } from '../hub/types.ts';
import { allowedTools } from '../tools/allowed.ts';

export type Choice = Pick<HubRequest, 'toolChoice' | 'allowedTools'>;

/**
 * The choice in a form that the server accepts. Forms that it lacks
 * become a shorter list of tools, as far as that says the same.
 */
export function possibleChoice(
  request: HubRequest,
  { capabilities: { toolChoices } }: UpstreamTarget,
  dropped: (HubField | RequestSection)[],
): Choice & { readonly tools: readonly HubTool[] } {
  let { toolChoice, allowedTools: allowed } = request;
  let tools = offeredTools(request);
  if (allowed && !toolChoices.includes('allowed_tools')) {
    tools = allowedTools(request);
    if (toolChoice.kind === 'auto' && allowed.mode === 'required') toolChoice = { kind: 'required' };
    allowed = undefined;
  }
  if (toolChoice.kind === 'named' && !toolChoices.includes('named')) {
    const { name, namespace } = toolChoice;
    tools = tools.filter(
      (tool) =>
        tool.kind === 'server' ||
        (tool.name === name && (namespace === undefined || ('namespace' in tool && tool.namespace === namespace))),
    );
    toolChoice = { kind: 'required' };
  }
  if (toolChoice.kind === 'none' && !toolChoices.includes('none')) {
    tools = tools.filter(({ kind }) => kind === 'server');
    toolChoice = { kind: 'auto' };
  }
  if (toolChoice.kind === 'required' && !toolChoices.includes('required')) {
    toolChoice = { kind: 'auto' };
    dropped.push('toolChoice');
  }
  return { tools, toolChoice, ...(allowed && { allowedTools: allowed }) };
}
