/** Manners of servers of generateContent. */
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { eachData, without } from './edit.ts';
import type { Manners, StreamEvent } from './manner.ts';

const dialects = ['generate'] as const;

type EditCandidate = (candidate: JsonObject) => JsonObject;

const inCandidates = (data: JsonObject, edit: EditCandidate): JsonObject =>
  Array.isArray(data.candidates) ? { ...data, candidates: objectsOf(data.candidates).map(edit) } : data;
const eachCandidate = (edit: EditCandidate): ((events: StreamEvent[]) => StreamEvent[]) =>
  eachData((data) => inCandidates(data, edit));
const inContent =
  (edit: (content: JsonObject) => JsonObject): EditCandidate =>
  (candidate) =>
    isObject(candidate.content) ? { ...candidate, content: edit(candidate.content) } : candidate;

const candidateOf = ({ data }: StreamEvent): JsonObject => objectsOf(objectOf(data).candidates)[0] ?? {};
const partsOf = (event: StreamEvent): JsonObject[] => objectsOf(objectOf(candidateOf(event).content).parts);
const isEnd = (event: StreamEvent): boolean => textOf(candidateOf(event).finishReason) !== '';

export const GENERATE_MANNERS = {
  generate_no_id: {
    about: 'no id and no model',
    seen: 'Gemini, older models',
    effect: 'shown',
    dialects,
    events: eachData((data) => without(data, 'responseId', 'modelVersion')),
    reply: (reply) => without(reply, 'responseId', 'modelVersion'),
  },
  generate_numbered_id: {
    about: 'ids that begin again at the next start',
    seen: 'proxies in front of Gemini',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, responseId: 'resp-1' })),
    reply: (reply) => ({ ...reply, responseId: 'resp-1' }),
  },
  generate_no_index: {
    about: 'candidates without an index',
    seen: 'Vertex',
    effect: 'harmless',
    dialects,
    events: eachCandidate((candidate) => without(candidate, 'index')),
    reply: (reply) => inCandidates(reply, (candidate) => without(candidate, 'index')),
  },
  generate_no_role: {
    about: 'content without a role',
    seen: 'Gemini, older models',
    effect: 'shown',
    dialects,
    events: eachCandidate(inContent((content) => without(content, 'role'))),
    reply: (reply) =>
      inCandidates(
        reply,
        inContent((content) => without(content, 'role')),
      ),
  },
  generate_created: {
    about: 'the time of the request as a text',
    seen: 'Vertex',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, createTime: '2026-01-01T00:00:00.123456Z' })),
    reply: (reply) => ({ ...reply, createTime: '2026-01-01T00:00:00.123456Z' }),
  },
  generate_usage_chunk: {
    about: 'usage in a last chunk without a candidate',
    seen: 'Gemini',
    effect: 'harmless',
    dialects,
    events(events) {
      const last = events.at(-1);
      if (!last || !isObject(last.data)) return events;
      const { candidates: _, ...rest } = last.data;
      return [...events.slice(0, -1), { data: without(last.data, 'usageMetadata') }, { data: rest }];
    },
  },
  generate_usage_at_end: {
    about: 'usage in the last chunk only',
    seen: 'Vertex',
    effect: 'harmless',
    dialects,
    events(events) {
      const last = events.findLastIndex(({ data }) => objectOf(data).usageMetadata !== undefined);
      return events.map((event, n) =>
        n < last && isObject(event.data) ? { data: without(event.data, 'usageMetadata') } : event,
      );
    },
  },
  generate_no_usage: {
    about: 'no usage',
    seen: 'proxies in front of Gemini',
    effect: 'harmless',
    dialects,
    hidesUsage: true,
    events: eachData((data) => without(data, 'usageMetadata')),
    reply: (reply) => without(reply, 'usageMetadata'),
  },
  generate_empty_chunks: {
    about: 'chunks with a candidate that has no parts',
    seen: 'Gemini while it thinks',
    effect: 'harmless',
    dialects,
    events(events) {
      const first = objectOf(events[0]?.data);
      const empty = { data: { ...first, candidates: [{ index: 0, content: { role: 'model' } }] } };
      return events.flatMap((event) => [structuredClone(empty), event]);
    },
  },
  generate_finish_everywhere: {
    about: 'STOP with every chunk',
    seen: 'CLIProxyAPI, Gemini, older models',
    effect: 'harmless',
    dialects,
    events: (events) =>
      // A reply that ends otherwise would have two reasons.
      candidateOf(events.at(-1) ?? { data: '' }).finishReason === 'STOP'
        ? eachCandidate((candidate) => ({ ...candidate, finishReason: 'STOP' }))(events)
        : events,
  },
  generate_end_in_text: {
    about: 'the finish reason with the last part, not after it',
    seen: 'Gemini',
    effect: 'harmless',
    dialects,
    events(events) {
      const end = events.at(-1);
      const before = events.at(-2);
      if (!end || !before || !isEnd(end) || !isObject(end.data)) return events;
      const parts = [...partsOf(before), ...partsOf(end)];
      const joined = inCandidates(end.data, (candidate) => ({ ...candidate, content: { role: 'model', parts } }));
      return [...events.slice(0, -2), { data: joined }];
    },
  },
  generate_two_ends: {
    about: 'the last chunk twice',
    seen: 'proxies in front of Gemini',
    effect: 'harmless',
    dialects,
    events: (events) => events.flatMap((event) => (isEnd(event) ? [event, event] : [event])),
  },
  generate_two_parts: {
    about: 'several parts in one chunk',
    seen: 'Gemini',
    effect: 'harmless',
    dialects,
    events: (events) => events.reduce(joinPairs, []),
  },
  generate_null_members: {
    about: 'unused members that are null',
    seen: 'proxies in front of Gemini',
    effect: 'harmless',
    dialects,
    events: (events) =>
      eachCandidate((candidate) => ({ finishMessage: null, groundingMetadata: null, ...candidate }))(
        eachData((data) => ({ promptFeedback: null, error: null, ...data }))(events),
      ),
    reply: (reply) => ({
      ...inCandidates(reply, (candidate) => ({ finishMessage: null, groundingMetadata: null, ...candidate })),
      promptFeedback: null,
      error: null,
    }),
  },
  generate_unknown_members: {
    about: 'members that no document names, in every chunk',
    seen: 'Gemini with a new model',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({
      ...data,
      modelStatus: { modelStage: 'STABLE' },
      automaticFunctionCallingHistory: [],
    })),
    reply: (reply) => ({ ...reply, modelStatus: { modelStage: 'STABLE' } }),
  },
  generate_no_call_ids: {
    about: 'calls without ids',
    seen: 'Gemini, older models',
    effect: 'shown',
    dialects,
    events: eachCandidate(inContent(withoutCallIds)),
    reply: (reply) => inCandidates(reply, inContent(withoutCallIds)),
  },
  generate_done: {
    about: '[DONE] at the end',
    seen: 'relays of chat completions',
    effect: 'shown',
    dialects,
    events: (events) => [...events, { data: '[DONE]' }],
  },
  generate_error_status: {
    about: 'an error in a response with status 200',
    seen: 'Gemini in a stream',
    effect: 'fault',
    dialects,
    events: () => [{ data: { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } } }],
    reply: () => ({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
  },
} satisfies Manners;

function withoutCallIds(content: JsonObject): JsonObject {
  const parts = objectsOf(content.parts).map((part) =>
    isObject(part.functionCall) ? { ...part, functionCall: without(part.functionCall, 'id') } : part,
  );
  return { ...content, parts };
}

/** Two chunks with parts become one, which has the members of the second. */
function joinPairs(joined: StreamEvent[], event: StreamEvent, n: number): StreamEvent[] {
  const last = joined.at(-1);
  const canJoin = n % 2 === 1 && last && !isEnd(last) && isObject(event.data) && partsOf(event).length > 0;
  if (!canJoin || !isObject(event.data)) return [...joined, event];
  const parts = [...partsOf(last), ...partsOf(event)];
  const data = inCandidates(event.data, (candidate) => ({ ...candidate, content: { role: 'model', parts } }));
  return [...joined.slice(0, -1), { data }];
}
