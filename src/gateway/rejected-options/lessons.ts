/**
 * What the gateway learns from the rejection of an option: capabilities that the model lacks, and members to leave out.
 */
import type { JsonObject } from '../../dialects/index.ts';
import type { AddedOption, Capabilities, CapabilityOverrides } from '../../rules/index.ts';

export interface Lessons {
  readonly overrides: CapabilityOverrides;
  readonly removed: readonly string[];
  /** The caller's fields that are lost with them. */
  readonly dropped: readonly ('userId' | 'compaction')[];
}

export const NO_LESSONS: Lessons = { overrides: {}, removed: [], dropped: [] };

/** Returns one of the two objects where the other has nothing. */
export function mergeLessons(earlier: Lessons, later: Lessons): Lessons {
  if (earlier === NO_LESSONS) return later;
  if (later === NO_LESSONS) return earlier;
  return {
    overrides: { ...earlier.overrides, ...later.overrides },
    removed: [...new Set([...earlier.removed, ...later.removed])],
    dropped: [...new Set([...earlier.dropped, ...later.dropped])],
  };
}

export interface RejectedBody {
  readonly body: JsonObject;
  /** Undefined on the native path, where the gateway does not encode. */
  readonly capabilities?: Capabilities | undefined;
}

/** Undefined where the error does not say enough. */
export function lessonOf(row: AddedOption, message: string, { body, capabilities }: RejectedBody): Lessons | undefined {
  const { lesson, path } = row;
  if ('remove' in lesson) return { ...NO_LESSONS, removed: [path], dropped: lesson.names ? [lesson.names] : [] };
  if ('removeEach' in lesson) {
    const members = Object.keys(memberAt(body, path) ?? {});
    return { ...NO_LESSONS, removed: members.map((name) => `${path}.${name}`) };
  }
  if ('set' in lesson) return { ...NO_LESSONS, overrides: lesson.set };
  if (!capabilities) return undefined;
  if ('refuse' in lesson)
    return { ...NO_LESSONS, overrides: { refusedFields: [...capabilities.refusedFields, lesson.refuse] } };
  const sent = memberAt(body, path);
  const overrides =
    'read' in lesson
      ? (READERS[lesson.read](message, sent, capabilities) ?? lesson.otherwise)
      : { efforts: capabilities.efforts.filter((effort) => effort !== String(sent).toLowerCase()) };
  return overrides && { ...NO_LESSONS, overrides };
}

type Reader = (message: string, sent: unknown, capabilities: Capabilities) => CapabilityOverrides | undefined;

const READERS: Readonly<Record<'efforts' | 'budget' | 'maxOutput' | 'room', Reader>> = {
  /** `Supported values are: 'low', 'medium', and 'high'.` or `Input should be 'low' or 'high'` */
  efforts(message, sent) {
    const [, list = ''] = /(?:supported values are|should be|must be one of)(.{0,200})/is.exec(message) ?? [];
    const efforts = list.match(EFFORT_NAMES)?.filter((effort) => effort !== sent);
    return efforts && efforts.length > 0 ? { efforts } : undefined;
  },

  /**
   * `Please choose a value between 512 and 24576.` or `Budget 0 is invalid. This model only works in thinking mode.`
   */
  budget(message, sent, { thinkingBudget: [, max] }) {
    const [, from, to] = /between (\d{1,9}) and (\d{1,9})/.exec(message) ?? [];
    if (from !== undefined && to !== undefined) return { thinkingBudget: [Number(from), Number(to)] };
    return sent === 0 ? { thinkingBudget: [MIN_BUDGET, max] } : undefined;
  },

  /** `max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for ...` */
  maxOutput(message) {
    const [, limit] = /\d > (\d{1,9})/.exec(message) ?? [];
    return outputLimit(Number(limit));
  },

  /** ``input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000`` */
  room(message) {
    const [, input, context] = /(\d{1,9}) \+ \d{1,9} > (\d{1,9})/.exec(message) ?? [];
    return outputLimit(Number(context) - Number(input));
  },
};

/** Known ones, and quoted words. */
const EFFORT_NAMES = /\b(?:none|minimal|low|medium|high|xhigh|max)\b|(?<=['"`])[a-z_]{2,20}(?=['"`])/g;

const outputLimit = (maxOutput: number): CapabilityOverrides | undefined => (maxOutput > 0 ? { maxOutput } : undefined);

/** The smallest budget, in tokens, of models that cannot stop thinking. */
const MIN_BUDGET = 128;

export function memberAt(body: JsonObject, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

export const withoutMembers = (body: JsonObject, paths: readonly string[]): JsonObject =>
  paths.reduce((rest, path) => withoutMember(rest, path.split('.')), body);

function withoutMember(body: JsonObject, [name = '', ...deeper]: readonly string[]): JsonObject {
  const { [name]: value, ...rest } = body;
  if (deeper.length === 0 || typeof value !== 'object' || value === null) return rest;
  return { ...body, [name]: withoutMember(value as JsonObject, deeper) };
}
