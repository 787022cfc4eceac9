/**
 * The closed list of optional request fields. Each upstream dialect has a
 * support row for each, so that none is dropped undeclared.
 */
import { fail } from '../../core/index.ts';
import type { HubItem, HubPart, HubRequest } from './types.ts';

/** Whether a request uses the field. The order is that of `x-gateway-dropped`. */
const IS_PRESENT = {
  temperature: (r) => r.sampling.temperature !== undefined,
  topP: (r) => r.sampling.topP !== undefined,
  topK: (r) => r.sampling.topK !== undefined,
  seed: (r) => r.sampling.seed !== undefined,
  presencePenalty: (r) => r.sampling.presence !== undefined,
  frequencyPenalty: (r) => r.sampling.frequency !== undefined,
  logitBias: (r) => r.sampling.logitBias !== undefined,
  n: (r) => (r.sampling.n ?? 1) > 1,
  logprobs: (r) => r.sampling.logprobs === true || (r.sampling.topLogprobs ?? 0) > 0,
  stop: (r) => (r.sampling.stop?.length ?? 0) > 0,
  verbosity: (r) => r.output.verbosity !== undefined,
  audioOutput: (r) => asksFor(r, 'audio'),
  // Beside text the image is optional; alone it is the whole reply.
  imageOutput: (r) => asksFor(r, 'image') && asksFor(r, 'text'),
  imageOnlyOutput: (r) => asksFor(r, 'image') && !asksFor(r, 'text'),
  imageSettings: (r) => r.output.image !== undefined,
  reasoning: (r) => r.reasoning.mode !== undefined || r.reasoning.effort !== undefined,
  // Every dialect can show a summary; only one can choose its style.
  reasoningStyle: (r) => (r.reasoning.style ?? 'auto') !== 'auto',
  structuredOutput: (r) => r.output.format.kind !== 'text',
  citations: (r) => anyPart(r, (p) => (p.kind === 'file' || p.kind === 'search_result') && p.citations === true),
  imageDetail: (r) => anyPart(r, (p) => p.kind === 'image' && p.detail !== undefined && p.detail !== 'auto'),
  strictTools: (r) => r.tools.some((tool) => tool.kind === 'function' && tool.strict === true),
  hostedTools: (r) => r.tools.some((tool) => tool.kind === 'server' && tool.tool !== 'image_gen'),
  imageTool: (r) => r.tools.some((tool) => tool.kind === 'server' && tool.tool === 'image_gen'),
  imageHistory: (r) => r.items.some(holdsGeneratedImage),
  maxToolCalls: (r) => r.limits.maxToolCalls !== undefined,
  compaction: (r) => r.limits.compactAt !== undefined,
  prewarm: (r) => r.limits.prewarm === true,
  parallelTools: (r) => r.parallelTools === false,
  allowedTools: (r) => r.allowedTools !== undefined,
  cacheKey: (r) => r.cache.key !== undefined,
  cacheBreakpoints: (r) =>
    r.cache.auto === true ||
    r.tools.some((t) => t.cache) ||
    r.items.some((item) => item.kind === 'tool_change' && item.add.some((t) => t.cache)) ||
    r.system.some((p) => p.cache) ||
    anyPart(r, (p) => 'cache' in p && p.cache !== undefined),
  serviceTier: (r) => r.meta.serviceTier !== undefined && r.meta.serviceTier !== 'auto',
  userId: (r) => r.meta.userId !== undefined,
  metadata: (r) => r.meta.metadata !== undefined,
} as const satisfies Record<string, (request: HubRequest) => boolean>;

export type HubField = keyof typeof IS_PRESENT;
export const HUB_FIELDS = Object.keys(IS_PRESENT) as HubField[];

/** Parts of a request that an encoder can reject, or drop, beside the optional fields. */
export const REQUEST_SECTIONS = ['conversation', 'thoughts', 'tools', 'searchTool', 'toolChoice'] as const;
export type RequestSection = (typeof REQUEST_SECTIONS)[number];

export type FieldNames = Readonly<Record<HubField | RequestSection, string>>;

/**
 * The names that most dialects use: many are those of the hub. A dialect
 * without a field keeps its name here, which completes the table.
 */
export const COMMON_NAMES = {
  tools: 'tools',
  searchTool: 'tools',
  toolChoice: 'tool_choice',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  n: 'n',
  logprobs: 'logprobs',
  stop: 'stop',
  verbosity: 'verbosity',
  audioOutput: 'modalities',
  imageOutput: 'modalities',
  imageOnlyOutput: 'modalities',
  imageSettings: 'image_config',
  reasoningStyle: 'reasoning.summary',
  citations: 'citations',
  imageDetail: 'detail',
  strictTools: 'tools.strict',
  hostedTools: 'tools',
  imageTool: 'tools',
  maxToolCalls: 'max_tool_calls',
  compaction: 'context_management',
  parallelTools: 'parallel_tool_calls',
  allowedTools: 'tool_choice',
  cacheKey: 'prompt_cache_key',
  cacheBreakpoints: 'prompt_cache_breakpoint',
  serviceTier: 'service_tier',
  userId: 'safety_identifier',
  metadata: 'metadata',
} as const satisfies Partial<FieldNames>;

export type Support = 'kept' | 'changed' | 'dropped' | 'rejected';
export type SupportTable = Readonly<Record<HubField, Support>>;

/**
 * A wire without a field: the reply is still valid without it, unless
 * it would not be what the client requested or pays for.
 */
export const WITHOUT_FIELDS = {
  topK: 'dropped',
  seed: 'dropped',
  presencePenalty: 'dropped',
  frequencyPenalty: 'dropped',
  verbosity: 'dropped',
  imageSettings: 'dropped',
  reasoningStyle: 'dropped',
  citations: 'dropped',
  imageDetail: 'dropped',
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  parallelTools: 'dropped',
  cacheBreakpoints: 'dropped',
  userId: 'dropped',
  metadata: 'dropped',
  // The reply could contain tokens that the client banned.
  logitBias: 'rejected',
  // The hub carries one candidate and no token probabilities; further ones would be billed and discarded.
  n: 'rejected',
  logprobs: 'rejected',
  // The reply would be charged, but the hub cannot carry its recording.
  audioOutput: 'rejected',
  // A client that accepts text gets it; one that asks for images only would get nothing it can use.
  imageOutput: 'dropped',
  imageOnlyOutput: 'rejected',
  // Like hosted tools without a counterpart; a request that forces it is rejected.
  imageTool: 'dropped',
  // Assistant turns are text; a note marks the place.
  imageHistory: 'dropped',
  // No request can fill a cache without generating output.
  prewarm: 'rejected',
} as const satisfies Partial<SupportTable>;

export const isPresent = (field: HubField, request: HubRequest): boolean => IS_PRESENT[field](request);

/**
 * Returns the fields of the request that the upstream drops. Throws
 * for one that it rejects, under the client's name.
 */
export function checkSupport(request: HubRequest, support: SupportTable, names: FieldNames): HubField[] {
  const dropped: HubField[] = [];
  for (const field of unsupportedFields(support)) {
    if (!IS_PRESENT[field](request)) continue;
    if (support[field] === 'rejected') {
      throw fail('unsupported_parameter', `${names[field]}: not supported by this model.`, { param: names[field] });
    }
    dropped.push(field);
  }
  return dropped;
}

/** Returns the fields of the request that the upstream gets in another form. */
export const changedFields = (request: HubRequest, support: SupportTable): HubField[] =>
  changeableFields(support).filter((field) => IS_PRESENT[field](request));

/** Computed once per table: tables are constants, and few of their fields are changed, dropped or rejected. */
function fieldsWith(...outcomes: readonly Support[]): (support: SupportTable) => readonly HubField[] {
  const byTable = new WeakMap<SupportTable, readonly HubField[]>();
  return (support) => {
    const fields = byTable.get(support) ?? HUB_FIELDS.filter((field) => outcomes.includes(support[field]));
    byTable.set(support, fields);
    return fields;
  };
}
const changeableFields = fieldsWith('changed');
const unsupportedFields = fieldsWith('dropped', 'rejected');

const anyPart = (request: HubRequest, test: (part: HubPart) => boolean): boolean =>
  request.items.some((item) => (item.kind === 'message' || item.kind === 'tool_result') && item.parts.some(test));

const asksFor = ({ output }: HubRequest, modality: 'text' | 'image' | 'audio'): boolean =>
  output.modalities?.includes(modality) === true;

/** Whether the item is or contains an image that a model generated earlier in the conversation. */
export const holdsGeneratedImage = (item: HubItem): boolean =>
  item.kind === 'server_call'
    ? item.tool === 'image_gen'
    : item.kind === 'message' && item.role === 'assistant' && item.parts.some((part) => part.kind === 'image');
