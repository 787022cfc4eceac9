/** What is known of a request before it is sent, and the counts by which its maximum cost is computed. */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import type { RequestFacts } from '../../ledger/index.ts';
import {
  type ChosenTier,
  DEFAULT_CONTEXT,
  DEFAULT_MAX_OUTPUT,
  type InferenceOperation,
  inferenceRow,
} from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import type { OutputBounds } from './output-bounds.ts';
import type { InputBounds } from './request-bounds.ts';
import type { ToolBounds, ToolUses } from './tool-bounds.ts';

/** The most that a request makes a provider read and write. */
export interface CallFacts extends Partial<Omit<InputBounds, 'bodyBytes'>>, Partial<OutputBounds>, Partial<ToolBounds> {
  readonly operation: InferenceOperation;
  readonly model: Model;
  /** Bytes that the model reads as text. */
  readonly bodyBytes: number;
  /** Other input tokens, such as those of stored turns. */
  readonly moreInput?: number | undefined;
  readonly images?: ImageCount | undefined;
  /** Service tiers other than the standard one that the request chooses. */
  readonly tiers?: readonly ChosenTier[] | undefined;
  /** The tools that the members of the request can limit. */
  readonly toolUses?: ToolUses | undefined;
}

/** Of a request alone. Plain data, which a worker thread can return. */
export type BodyFacts = Omit<CallFacts, 'operation' | 'model' | 'images' | 'tiers'>;

/** Images, requested or returned: "1024x1024/high", and how many. */
export interface ImageCount {
  readonly kind: string;
  readonly count: number;
}

export const byKind = ({ kind, count }: ImageCount): Record<string, number> => ({ [kind]: count });

/** The output that is reserved for a request without a limit. */
export const assumedOutput = ({ model }: Pick<CallFacts, 'model'>): number =>
  model.line.maxOutput ?? DEFAULT_MAX_OUTPUT;

export function requestFacts(group: Caller['group'], facts: CallFacts): RequestFacts {
  const { choices = 1, moreOutput = 0 } = facts;
  return {
    maxInput: maxInputOf(group, facts),
    maxOutput: (facts.maxOutput ?? assumedOutput(facts)) * choices + moreOutput,
    maxSearches: facts.maxSearches ?? 0,
    readsAudio: mayReadAudio(facts),
    writesAudio: facts.writesAudio !== false,
    ...(facts.images && { images: byKind(facts.images) }),
  };
}

/** Text and images have none; stored turns, files and what tools read may. */
const mayReadAudio = ({ mediaTokens = 0, moreInput = 0, toolInput = 0, wholeContext }: CallFacts): boolean =>
  mediaTokens > 0 || moreInput > 0 || toolInput > 0 || wholeContext !== undefined;

/**
 * One token for each byte of text, which no tokenizer in use exceeds: they cut UTF-8 into pieces of one byte or more, and JSON takes more
 * bytes than the text inside. Nothing is read beyond the context, except that texts to embed have one each.
 */
function maxInputOf({ style }: Caller['group'], facts: CallFacts): number {
  const { model, inputImages = 0, toolInput = 0, wholeContext, ownCalls = 0 } = facts;
  const images = inputImages === 0 ? 0 : inputImages * capabilitiesFor(style, model).imageTokens;
  const input = facts.bodyBytes + images + (facts.mediaTokens ?? 0) + (facts.moreInput ?? 0);
  if (inferenceRow(facts.operation).vectors) return input;
  const context = model.line.context ?? DEFAULT_CONTEXT[style];
  const isOpen = wholeContext !== undefined || toolInput === Number.POSITIVE_INFINITY;
  const read = isOpen ? Math.max(input, context) : input + toolInput;
  return (model.line.context === null ? read : Math.min(read, context)) + ownCalls * context;
}
