/** How much a request makes a provider write: its output limit, for each of its choices. */
import { failAt } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import { countIn, type Lever, objectIn, type Read } from './members.ts';

export interface OutputBounds {
  /** Largest number of output tokens of one choice; undefined when the request sets no limit. */
  readonly maxOutput: number | undefined;
  readonly choices: number;
  /** Output tokens that the limit does not count. */
  readonly moreOutput?: number;
  readonly otherOutput?: number;
  readonly writesAudio: boolean;
  /** Whether the request asks for pictures, or for none; undefined where it leaves that to the model. */
  readonly pictures?: 'asked' | 'none' | undefined;
  readonly limitedBy?: string | undefined;
  readonly countedBy?: string | undefined;
}

const NO_OUTPUT: OutputBounds = { maxOutput: 0, choices: 1, writesAudio: false };
const MAX_CHOICES = 1_000_000_000;

export function outputBoundsOf(operation: rules.InferenceOperation, read: Read): OutputBounds {
  const { vectors, reader } = rules.inferenceRow(operation);
  if (vectors) return NO_OUTPUT;
  if (reader === 'path-model' || reader === 'interaction') return candidateBoundsOf(read);
  const counts = (rules.CHOICE_COUNTS[operation] ?? []).map((name) => ({ name, value: choicesIn(read(name), name) }));
  const [most] = counts.sort((a, b) => b.value - a.value);
  const limit = oneLimit(rules.OUTPUT_LIMITS[operation] ?? [], read);
  return {
    ...(isLifted(operation, read)
      ? { maxOutput: undefined }
      : { ...limit, maxOutput: largestOf(limit.maxOutput, operation, read) }),
    choices: most?.value ?? 1,
    countedBy: most?.name,
    moreOutput: operation === 'chat.create' ? predicted(read('prediction')) : 0,
    ...(operation === 'messages.create' && { otherOutput: fallbackOutput(read('fallbacks')) }),
    writesAudio: rules.AUDIO_REPLIES.members.some((name) => (read(name) ?? null) !== null),
    // A router draws for a request that lists it; one that lists text alone leaves it to the model.
    ...(operation === 'chat.create' &&
      /image/i.test(JSON.stringify(read('modalities') ?? '')) && { pictures: 'asked' }),
  };
}

/** A fallback of the provider may write more than the model of the request. */
const fallbackOutput = (value: unknown): number =>
  (Array.isArray(value) ? value : []).reduce<number>(
    (most, one, n) => Math.max(most, countIn(objectIn(one)?.max_tokens, `fallbacks[${n}].max_tokens`) ?? 0),
    0,
  );

/** Members that make the model write more than the limit counts. */
export const LIFTING_MEMBERS = ['enable_thinking', 'thinking_budget', 'prediction', 'fallbacks'] as const;

/**
 * One server counts reasoning beside the limit, and only its own budget limits it. Servers read "true" and 1 as true.
 */
const isLifted = (operation: rules.InferenceOperation, read: Read): boolean =>
  operation === 'chat.create' &&
  ((read('enable_thinking') ?? false) !== false || Number(read('thinking_budget') ?? 0) > 0);

/**
 * A limit of another server counts where it is larger, and without one of the dialect.
 * Some read a negative one as none.
 */
function largestOf(limit: number | undefined, operation: rules.InferenceOperation, read: Read): number | undefined {
  const others = (rules.FOREIGN_LIMITS[operation] ?? []).flatMap((name) => countIn(read(name), name) ?? []);
  if (limit === undefined || others.some((value) => value < 0)) return undefined;
  return Math.max(limit, ...others);
}

/** Tokens of a prediction that the model does not use are billed as output. */
const predicted = (value: unknown): number =>
  value === undefined || value === null ? 0 : Buffer.byteLength(JSON.stringify(value));

/** The value of a limit with several names. Different values are rejected: providers differ on which one counts. */
function oneLimit(names: readonly string[], read: Read): Pick<OutputBounds, 'maxOutput' | 'limitedBy'> {
  const limits = names.flatMap((name) => {
    const value = countIn(read(name), name);
    return value === undefined ? [] : [{ name, value }];
  });
  const [first, second] = limits;
  if (first && second && first.value !== second.value)
    throw failAt('invalid_value', second.name, `contradicts ${first.name}; send one of them.`);
  return { maxOutput: limitIn(first?.value), limitedBy: first?.name ?? names[0] };
}

function candidateBoundsOf(read: Read): OutputBounds {
  const [config, name] = oneOf(rules.GENERATION_LIMITS.config, read);
  const object = objectIn(config);
  if (!object && config !== undefined && config !== null) throw failAt('invalid_request', name, 'expected an object.');
  const member = (key: string): unknown => object?.[key];
  const [limit, limitName] = oneOf(rules.GENERATION_LIMITS.output, member);
  const [count, countName] = oneOf(rules.GENERATION_LIMITS.choices, member);
  return {
    maxOutput: limitIn(countIn(limit, `${name}.${limitName}`)),
    choices: choicesIn(count, `${name}.${countName}`),
    pictures: picturesOf(object),
    limitedBy: `${name}.${limitName}`,
    countedBy: `${name}.${countName}`,
    writesAudio: Object.keys(object ?? {}).some((key) => rules.AUDIO_REPLIES.config.test(key)),
  };
}

/** Without a list of what a reply may hold, the model decides. */
function picturesOf(config: Readonly<Record<string, unknown>> = {}): OutputBounds['pictures'] {
  const isAsked = PICTURE_MEMBERS.some(
    (name) => config[name] !== undefined && /image|^\{/i.test(JSON.stringify(config[name])),
  );
  if (isAsked) return 'asked';
  const listed = config.responseModalities ?? config.response_modalities;
  return Array.isArray(listed) && listed.length > 0 ? 'none' : undefined;
}
const PICTURE_MEMBERS = [
  'responseModalities',
  'response_modalities',
  'imageConfig',
  'image_config',
  'responseFormat',
  'response_format',
] as const;

export const GENERATION_MEMBERS: ReadonlySet<string> = new Set([
  ...rules.GENERATION_LIMITS.output,
  ...rules.GENERATION_LIMITS.choices,
]);

const limitIn = (value: number | undefined): number | undefined =>
  value !== undefined && value > 0 ? value : undefined;

/** A provider may round a fraction up. */
const choicesIn = (value: unknown, path: string): number =>
  Math.min(Math.max(1, Math.ceil(countIn(value, path) ?? 1) || 1), MAX_CHOICES);

function oneOf(names: readonly [string, string], read: Read): [value: unknown, name: string] {
  const [first, second] = names.map(read);
  if (first !== undefined && second !== undefined)
    throw failAt('invalid_value', names[1], `the field occurs twice, also as ${names[0]}; send one of them.`);
  return second === undefined ? [first, names[0]] : [second, names[1]];
}

/** Providers of the responses dialect reject a lower limit. */
const MIN_OUTPUT = 16;

/** The output limit and the number of choices. `assumed` is the limit where the request has none. */
export function outputLevers(bounds: OutputBounds, assumed: number): Lever<OutputBounds>[] {
  const lever = (param: string | undefined, of: 'maxOutput' | 'choices', min: number): Lever<OutputBounds>[] =>
    param === undefined
      ? []
      : [{ param, value: bounds[of] ?? assumed, min, boundsWith: (value) => ({ ...bounds, [of]: value }) }];
  return [...lever(bounds.limitedBy, 'maxOutput', MIN_OUTPUT), ...lever(bounds.countedBy, 'choices', 1)];
}
