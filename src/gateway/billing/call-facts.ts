/** What is known of a request before it is sent, and the counts by which its maximum cost is computed. */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import type { RequestFacts } from '../../ledger/index.ts';
import * as rules from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import type { OtherModel } from '../models/resolve.ts';
import type { OutputBounds } from './output-bounds.ts';
import type { InputBounds } from './request-bounds.ts';
import type { ToolBounds, ToolUses } from './tool-bounds.ts';

/** The most that a request makes a provider read and write. */
export interface CallFacts extends Partial<Omit<InputBounds, 'bodyBytes'>>, Partial<OutputBounds>, Partial<ToolBounds> {
  readonly operation: rules.InferenceOperation;
  readonly model: Model;
  readonly bodyBytes: number;
  readonly moreInput?: number | undefined;
  readonly images?: ImageCount | undefined;
  /** Service tiers other than the standard one that the request chooses. */
  readonly tiers?: readonly rules.ChosenTier[] | undefined;
  /** One of the requests of a batch. */
  readonly isBatch?: boolean | undefined;
  readonly others?: readonly OtherModel[] | undefined;
  /** A member that no table knows (ADR 21). The request counts as the most that its model can cost. */
  readonly unknown?: string | undefined;
  /** The same in a request that is converted: it reaches no provider, so that it costs nothing. */
  readonly dropped?: string | undefined;
  /** Further passes over the input, such as for a summary of it. */
  readonly rereads?: number | undefined;
  readonly toolUses?: ToolUses | undefined;
  /** For which the provider keeps the input. */
  readonly keptHours?: number | undefined;
}

/** Of a request alone. Plain data, which a worker thread can return. */
export type BodyFacts = Omit<CallFacts, 'operation' | 'model' | 'images' | 'tiers' | 'isBatch' | 'others'>;

/** Images, requested or returned: "1024x1024/high", and how many. */
export interface ImageCount {
  readonly kind: string;
  readonly count: number;
}

export const byKind = ({ kind, count }: ImageCount): Record<string, number> => ({ [kind]: count });

/** What a model that searches finds may fill the context. */
const withSearches = (facts: CallFacts): CallFacts => ({
  ...facts,
  toolInput: Number.POSITIVE_INFINITY,
  maxSearches: (facts.maxSearches ?? 0) + rules.DEFAULT_TOOL_USES,
});

/** The output that is reserved for a request without a limit. */
export const assumedOutput = ({ model }: Pick<CallFacts, 'model'>): number =>
  model.line.maxOutput ?? rules.DEFAULT_MAX_OUTPUT;

export function requestFacts(group: Caller['group'], given: CallFacts): RequestFacts {
  const facts = rules.SEARCHING_MODEL.test(given.model.upstream) ? withSearches(given) : given;
  const { choices = 1, moreOutput = 0, rereads = 0, unknown, maxSearches = 0, keptHours = 0 } = facts;
  const input = maxInputOf(group, facts);
  const { vectors } = rules.inferenceRow(facts.operation);
  const limit = facts.maxOutput ?? assumedOutput(facts);
  const isUnknown = unknown !== undefined;
  // What is not known may ask for more pictures, and for larger ones.
  const most = Math.max(facts.images?.count ?? 0, rules.DEFAULT_TOOL_USES);
  const images = isUnknown && facts.images ? { kind: 'auto/auto', count: most } : facts.images;
  const drawn = isUnknown && images ? images.count * rules.imageTokens(LARGEST_IMAGE) : 0;
  const output = isUnknown && !vectors ? Math.max(limit, drawn, assumedOutput(facts)) : limit;
  return {
    maxInput: input * (1 + rereads),
    cacheHours: input * keptHours,
    maxOutput: output * (choices + rereads) + moreOutput,
    maxSearches: isUnknown ? Math.max(maxSearches, rules.DEFAULT_TOOL_USES) : maxSearches,
    readsAudio: isUnknown || mayReadAudio(facts),
    writesAudio: isUnknown || facts.writesAudio !== false,
    ...(images && { images: byKind(images) }),
  };
}

const LARGEST_IMAGE = { size: rules.IMAGE_PRESETS['4K']['16:9'], quality: 'high', partialImages: 3 };

/** Text and images have none; stored turns, files and what tools read may. */
const mayReadAudio = ({ mediaTokens = 0, moreInput = 0, toolInput = 0, wholeContext }: CallFacts): boolean =>
  mediaTokens > 0 || moreInput > 0 || toolInput > 0 || wholeContext !== undefined;

/**
 * One token for each byte of text, which no tokenizer in use exceeds.
 * Nothing is read beyond the context, except that texts to embed have one each.
 */
function maxInputOf({ style }: Caller['group'], facts: CallFacts): number {
  const { model, inputImages = 0, toolInput = 0, wholeContext, ownCalls = 0 } = facts;
  const images = inputImages === 0 ? 0 : inputImages * capabilitiesFor(style, model).imageTokens;
  const input = facts.bodyBytes + images + (facts.mediaTokens ?? 0) + (facts.moreInput ?? 0);
  const context = model.line.context ?? rules.DEFAULT_CONTEXT[style];
  const isUnknown = facts.unknown !== undefined;
  if (rules.inferenceRow(facts.operation).vectors) return isUnknown ? Math.max(input, context) : input;
  const isOpen = isUnknown || wholeContext !== undefined || toolInput === Number.POSITIVE_INFINITY;
  const read = isOpen ? Math.max(input, context) : input + toolInput;
  return (model.line.context === null ? read : Math.min(read, context)) + ownCalls * context;
}
