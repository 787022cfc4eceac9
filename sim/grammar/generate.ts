/**
 * The grammar of a generate stream as its clients require it: data blocks without event names and without an end
 * marker, one part each, finish reason and usage in the last one.
 */
import type { JsonObject } from '../json.ts';
import { blocksOf, count, demand, list, object, only, parse, type StreamResult, text } from './blocks.ts';

export function read(stream: string): StreamResult {
  const parts: JsonObject[] = [];
  let head: JsonObject | undefined;
  let result: StreamResult | undefined;
  for (const { data } of blocksOf(stream, { named: false, comments: true })) {
    demand(result === undefined, 'an event after the end');
    demand(data !== '[DONE]', '[DONE] breaks the SDK of this dialect');
    const chunk = parse(data);
    if ('error' in chunk) {
      result = failure(chunk);
      continue;
    }
    head = checkHead(chunk, head);
    result = readCandidate(chunk, parts);
  }
  demand(result !== undefined, 'the stream ends without a finish reason');
  return result;
}

function checkHead(chunk: JsonObject, first: JsonObject | undefined): JsonObject {
  only(chunk, ['candidates', 'usageMetadata', 'modelVersion', 'responseId'], 'a chunk');
  const head = { modelVersion: text(chunk, 'modelVersion'), responseId: text(chunk, 'responseId') };
  demand(
    !first || (first.responseId === head.responseId && first.modelVersion === head.modelVersion),
    'the head changed',
  );
  return head;
}

/** Exactly one of these in each part. */
const DATA = ['text', 'functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult', 'toolCall'];

function readCandidate(chunk: JsonObject, parts: JsonObject[]): StreamResult | undefined {
  const candidates = list(chunk, 'candidates');
  demand(candidates.length === 1, 'one candidate');
  const candidate = candidates[0] as JsonObject;
  only(candidate, ['content', 'finishReason', 'finishMessage', 'index', 'groundingMetadata'], 'a candidate');
  demand(candidate.index === 0, 'the index of the candidate');
  const content = object(candidate, 'content');
  demand(content.role === 'model', 'the role of the content');
  for (const part of list(content, 'parts') as JsonObject[]) {
    demand(
      DATA.filter((name) => name in part).length === 1 || 'toolResponse' in part,
      'exactly one kind of data in a part',
    );
    if ('functionCall' in part) {
      const call = object(part, 'functionCall');
      demand(text(call, 'name') !== '' && text(call, 'id') !== '', 'a call has a name and an id');
      object(call, 'args');
    }
    parts.push(part);
  }
  if (!('finishReason' in candidate)) {
    demand(!('usageMetadata' in chunk), 'usage comes with the finish reason');
    return undefined;
  }
  const usageMetadata = object(chunk, 'usageMetadata');
  demand(count(usageMetadata, 'totalTokenCount') === totalOf(usageMetadata), 'the total is the sum');
  return {
    end: 'complete',
    body: { ...chunk, candidates: [{ ...candidate, content: { parts, role: 'model' } }] } as JsonObject,
  };
}

const totalOf = (usage: JsonObject): number =>
  ['promptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount', 'toolUsePromptTokenCount']
    .map((name) => (name in usage ? count(usage, name) : 0))
    .reduce((sum, number) => sum + number);

function failure(chunk: JsonObject): StreamResult {
  only(chunk, ['error'], 'an error');
  const error = object(chunk, 'error');
  demand(
    count(error, 'code') >= 400 && text(error, 'message') !== '' && text(error, 'status') !== '',
    'an error has code, message and status',
  );
  return { end: 'error', error };
}
