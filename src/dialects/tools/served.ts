/**
 * The hosted tools that a provider gets of a request. A tool that it lacks is
 * refused by name where the request forces it or has no meaning without it, and
 * left out by name otherwise; `rules/tool-forms.ts` says which.
 */
import { failAt } from '../../core/index.ts';
import { type Capabilities, TOOL_FORMS, type UpstreamDialect } from '../../rules/index.ts';
import { rejectHostedChoice } from '../errors/rejection.ts';
import { offeredTools } from '../hub/effective-request.ts';
import type { HubField } from '../hub/fields.ts';
import type { HubRequest, HubServerTool, HubTool } from '../hub/types.ts';
import { allowedTools } from './allowed.ts';
import { rawName } from './hosted.ts';

const isHosted = (tool: HubTool): tool is HubServerTool => tool.kind === 'server';

interface Target {
  readonly capabilities: Capabilities;
}

export interface ServedTools {
  /** Without the tools that the provider lacks. */
  readonly request: HubRequest;
  /** Positions of those among the tools of the request. */
  readonly omitted: readonly number[];
  readonly dropped: readonly HubField[];
}

export function servedTools(request: HubRequest, dialect: UpstreamDialect, target: Target): ServedTools {
  const offered = offeredTools(request);
  const hosted = offered.filter(isHosted);
  const context: Context = {
    capabilities: target.capabilities,
    request,
    dialect,
    hasFunctions: hosted.length < offered.length,
  };
  const lost = new Set<HubTool>(hosted.filter((tool) => !isServed(tool, context)));
  refuseForced(request, hosted, lost);
  if (lost.size === 0) return { request, omitted: [], dropped: [] };
  refuseNeeded(request, lost);
  const isLeft = (tool: HubTool): boolean => !isHosted(tool) || isServed(tool, context);
  return {
    request: {
      ...request,
      tools: request.tools.filter(isLeft),
      items: request.items.map((item) =>
        item.kind === 'tool_change' ? { ...item, add: item.add.filter(isLeft) } : item,
      ),
    },
    omitted: request.tools.flatMap((tool, n) => (isLeft(tool) ? [] : [n])),
    dropped: [...new Set(hosted.filter((tool) => lost.has(tool)).map(fieldOf))],
  };
}

const fieldOf = ({ tool }: HubServerTool): HubField => (tool === 'image_gen' ? 'imageTool' : 'hostedTools');

function refuseForced({ toolChoice }: HubRequest, hosted: readonly HubServerTool[], lost: ReadonlySet<HubTool>): void {
  if (toolChoice.kind !== 'hosted') return;
  const forced = hosted.filter(({ tool }) => tool === toolChoice.tool);
  const [first] = forced;
  if (!first) return rejectHostedChoice(TOOL_FORMS[toolChoice.tool].name);
  if (forced.every((tool) => lost.has(tool))) refuse(first);
}

/** Tools that must not be called are only history. */
function refuseNeeded(request: HubRequest, lost: ReadonlySet<HubTool>): void {
  const { toolChoice } = request;
  if (toolChoice.kind === 'none') return;
  const allowed = allowedTools(request);
  const missing = allowed.filter(isHosted).filter((tool) => lost.has(tool));
  const isForced = toolChoice.kind === 'required' || request.allowedTools?.mode === 'required';
  const isAlone = allowed.every(isHosted);
  const isNeeded = ({ tool }: HubServerTool): boolean => {
    const { otherwise } = TOOL_FORMS[tool];
    return otherwise === 'refused' || (otherwise === 'refused alone' && isAlone);
  };
  const needed = isForced && missing.length === allowed.length ? missing[0] : missing.find(isNeeded);
  if (needed) refuse(needed);
}

/** The same words for every client and provider. */
function refuse({ at = 'tools', tool, raw }: HubServerTool): never {
  const name = hasType(tool) ? rawName(raw) : TOOL_FORMS[tool].name;
  const problem = `the tool '${name.slice(0, 80)}' cannot be used with this model`;
  const advice = 'leave it out, or choose a model whose provider has it.';
  throw failAt('unsupported_parameter', at, `${problem}; ${advice}`);
}

/** The others are members of a request in some dialects. */
const hasType = (tool: HubServerTool['tool']): boolean => tool !== 'mcp' && tool !== 'web_search';

interface Context extends Target {
  readonly request: HubRequest;
  readonly dialect: UpstreamDialect;
  readonly hasFunctions: boolean;
}

function isServed(tool: HubServerTool, context: Context): boolean {
  const { request, dialect, capabilities, hasFunctions } = context;
  // Older models accept functions or hosted tools, not both; the client depends on its functions.
  if (dialect === 'generate' && tool.tool !== 'image_gen' && hasFunctions && !capabilities.functionsWithSearch)
    return false;
  if (request.dialect === dialect) return true;
  const { hostedTools } = capabilities;
  if (TOOL_FORMS[tool.tool].forms[dialect] === undefined) return false;
  if (hostedTools !== 'any' && !hostedTools.includes(tool.tool)) return false;
  return IS_POSSIBLE[tool.tool]?.(tool, context) ?? true;
}

const IS_POSSIBLE: Partial<
  Readonly<Record<HubServerTool['tool'], (tool: HubServerTool, context: Context) => boolean>>
> = {
  /** Only its issuer has an index for a search without access to the web. */
  web_search: ({ options }, { dialect, capabilities }) =>
    !options.offline && !(dialect === 'chat' && capabilities.refusedFields.includes('web_search_options')),
  image_gen: (_, { capabilities }) => capabilities.imageOutput,
  /** A client-side tool search returns results in a form that only its own dialect has. */
  tool_search: ({ raw }, { dialect, request }) =>
    raw.execution !== 'client' && (dialect !== 'responses' || request.tools.some(({ defer }) => defer)),
  /** Gemini before 3 drives browsers only. */
  computer: ({ options }, { dialect, capabilities }) =>
    options.screen !== undefined && (dialect !== 'generate' || capabilities.functionsWithSearch),
};
