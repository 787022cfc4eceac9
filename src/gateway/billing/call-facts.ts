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

/** The output that is reserved for a request without a limit. */
export const assumedOutput = ({ model }: Pick<CallFacts, 'model'>): number =>
  model.line.maxOutput ?? rules.DEFAULT_MAX_OUTPUT;

/** What the model does by itself, over what the request makes it do. */
function withAbilities(facts: CallFacts, can: rules.Abilities): CallFacts {
  const isReading = can.searches > 0 || can.pages || can.code;
  if (!isReading && can.otherModels === 0) return facts;
  return {
    ...facts,
    // What it finds may fill the context.
    ...(isReading && { toolInput: Number.POSITIVE_INFINITY }),
    maxSearches: (facts.maxSearches ?? 0) + can.searches + (can.pages ? rules.DEFAULT_TOOL_USES : 0),
    ownCalls: (facts.ownCalls ?? 0) + can.otherModels,
  };
}

/** Of one choice. A request that asks for pictures gets at least one, whatever the model is known for. */
function picturesIn({ operation, pictures, images }: CallFacts, can: rules.Abilities): number {
  if (images || pictures === 'none' || rules.inferenceRow(operation).vectors) return 0;
  return pictures === 'asked' ? Math.max(1, can.pictures) : can.pictures;
}

/** `can`: by the line and the price of its model (`abilitiesFor`). */
export function requestFacts(
  group: Caller['group'],
  given: CallFacts,
  can: rules.Abilities = rules.TEXT_ONLY,
): RequestFacts {
  const facts = withAbilities(given, can);
  const { choices = 1, moreOutput = 0, rereads = 0, unknown, maxSearches = 0, keptHours = 0 } = facts;
  const input = maxInputOf(group, facts);
  const { vectors } = rules.inferenceRow(facts.operation);
  const isUnknown = unknown !== undefined;
  const limit = facts.maxOutput ?? assumedOutput(facts);
  const most = vectors || !(isUnknown || can.ownLimit) ? limit : Math.max(limit, assumedOutput(facts));
  const written = most * (choices + rereads);
  const base = {
    maxInput: input * (1 + rereads),
    cacheHours: input * keptHours,
    maxSearches: isUnknown ? Math.max(maxSearches, rules.DEFAULT_TOOL_USES) : maxSearches,
    readsAudio: isUnknown || mayReadAudio(facts),
    writesAudio: isUnknown || can.sound || facts.writesAudio !== false,
    writesVideo: isUnknown || can.video,
  };
  if (facts.images) return { ...base, ...imagesOutput(facts.images, { written, moreOutput, isUnknown }) };
  const pictures = picturesIn(facts, can) * choices;
  // A tool draws beside the limit; a picture is drawn to its end, also where it exceeds the limit.
  const drawn = moreOutput + pictures * rules.PICTURE_TOKENS;
  return {
    ...base,
    ...(isUnknown ? { maxOutput: written + drawn } : { maxOutput: written, maxDrawn: drawn }),
    ...(pictures > 0 && { images: byKind({ kind: 'auto/auto', count: pictures * PIECES_PER_PICTURE }) }),
  };
}

/** The price per piece counts a large picture of a reply twice, by its tokens. */
const PIECES_PER_PICTURE = Math.ceil(rules.PICTURE_TOKENS / rules.TOKENS_PER_CONVERTED_IMAGE.usual);

interface ImagesOutput {
  readonly written: number;
  readonly moreOutput: number;
  readonly isUnknown: boolean;
}

/** Of a call of the images API. What is not known may ask for more pictures, and for larger ones. */
function imagesOutput(asked: ImageCount, { written, moreOutput, isUnknown }: ImagesOutput) {
  if (!isUnknown) return { maxOutput: written + moreOutput, images: byKind(asked) };
  const images = { kind: 'auto/auto', count: Math.max(asked.count, rules.DEFAULT_TOOL_USES) };
  const drawn = images.count * rules.imageTokens(LARGEST_IMAGE);
  return { maxOutput: Math.max(written, drawn) + moreOutput, images: byKind(images) };
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
