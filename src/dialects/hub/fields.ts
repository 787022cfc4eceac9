/**
 * The optional things a request can ask for, as a closed list. Each upstream says in one table what becomes of every one of
 * them, so that nothing can be lost without a row that says so; this file finds out which of them a request uses.
 */
import { fail } from '../../core/index.ts';
import type { Support } from '../codec.ts';
import type { Place } from '../errors/rejection.ts';
import type { HubPart, HubRequest } from './types.ts';

/** Present in the request? Order is the order in which losses are named. */
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
  audioOutput: (r) => r.output.modalities?.includes('audio') === true,
  imageOutput: (r) => r.output.modalities?.includes('image') === true,
  reasoning: (r) => r.reasoning.mode !== undefined || r.reasoning.effort !== undefined,
  structuredOutput: (r) => r.output.format.kind !== 'text',
  citations: (r) => anyPart(r, (p) => p.kind === 'file' && p.citations === true),
  strictTools: (r) => r.tools.some((tool) => tool.kind === 'function' && tool.strict === true),
  hostedTools: (r) => r.tools.some((tool) => tool.kind === 'server'),
  maxToolCalls: (r) => r.limits.maxToolCalls !== undefined,
  compaction: (r) => r.limits.compactAt !== undefined,
  prewarm: (r) => r.limits.prewarm === true,
  parallelTools: (r) => r.parallelTools === false,
  allowedTools: (r) => r.allowedTools !== undefined,
  cacheKey: (r) => r.cache.key !== undefined,
  cacheBreakpoints: (r) =>
    r.cache.auto === true ||
    r.tools.some((t) => t.cache) ||
    r.system.some((p) => p.cache) ||
    anyPart(r, (p) => 'cache' in p && p.cache !== undefined),
  serviceTier: (r) => r.meta.serviceTier !== undefined && r.meta.serviceTier !== 'auto',
  userId: (r) => r.meta.userId !== undefined,
  metadata: (r) => r.meta.metadata !== undefined,
} as const satisfies Record<string, (request: HubRequest) => boolean>;

export type HubField = keyof typeof IS_PRESENT;
/** What a client's dialect calls each of them, and the places that an encoder can refuse. */
export type FieldNames = Readonly<Record<HubField | Place, string>>;
export const HUB_FIELDS = Object.keys(IS_PRESENT) as HubField[];

export const isPresent = (field: HubField, request: HubRequest): boolean => IS_PRESENT[field](request);

/** Fields of the request that the upstream's table drops; one that it refuses is refused here, under the client's own name. */
export function checkSupport(
  request: HubRequest,
  fate: Readonly<Record<HubField, Support>>,
  names: FieldNames,
): HubField[] {
  const dropped: HubField[] = [];
  for (const field of unsupportedFields(fate)) {
    if (!IS_PRESENT[field](request)) continue;
    if (fate[field] === 'rejected') {
      throw fail('unsupported_parameter', `${names[field]}: this model cannot honour it.`, { param: names[field] });
    }
    dropped.push(field);
  }
  return dropped;
}

const known = new WeakMap<Readonly<Record<HubField, Support>>, readonly HubField[]>();

/** What does not get through; a table never changes, and most of its fields do. */
function unsupportedFields(fate: Readonly<Record<HubField, Support>>): readonly HubField[] {
  let fields = known.get(fate);
  if (!fields) {
    fields = HUB_FIELDS.filter((field) => fate[field] !== 'kept' && fate[field] !== 'changed');
    known.set(fate, fields);
  }
  return fields;
}

const anyPart = (request: HubRequest, test: (part: HubPart) => boolean): boolean =>
  request.items.some((item) => (item.kind === 'message' || item.kind === 'tool_result') && item.parts.some(test));
