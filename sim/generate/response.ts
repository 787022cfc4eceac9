import { googleError, invalid, statusFailure } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type JsonObject, objectOf } from '../json.ts';
import { decide, type Reply } from '../model.ts';
import type { View } from '../neutral-request.ts';
import { mint } from '../opaque.ts';
import { type Frame, pieces, type Stream, sendStream } from '../stream.ts';
import { bend, measure, promptTokens, type Usage } from '../usage.ts';
import { either, readRequest } from './request.ts';

export async function generateContent(exchange: Exchange): Promise<void> {
  const { head, answer, parts } = think(exchange);
  if (answer.blocked) return exchange.sendJson(blocked(head));
  const merged = parts.pieces.length > 0 ? [{ text: parts.pieces.join(''), ...parts.textSign }] : [];
  await exchange.sendJson({
    candidates: [candidate([...parts.thoughts, ...merged, ...parts.calls], FINISH_REASONS[answer.stop])],
    ...head,
  });
}

export async function streamContent(exchange: Exchange): Promise<void> {
  // Thought of before the stream opens, so that a bad request is still answered with its status.
  const thought = think(exchange);
  const stream: Stream = {
    frames: frames(thought),
    failure: () => [{ data: JSON.stringify({ error: googleError(statusFailure('google', exchange.fault, 503)) }) }],
  };
  await sendStream(exchange, stream, exchange.query.get('alt') === 'sse' ? 'sse' : 'array');
}

export async function countTokens(exchange: Exchange): Promise<void> {
  const inner = either(exchange.json, 'generateContentRequest');
  if (inner !== undefined && exchange.json.contents !== undefined) {
    throw invalid('contents and generate_content_request are mutually exclusive.');
  }
  const totalTokens = promptTokens(readRequest(exchange, isObject(inner) ? inner : exchange.json));
  await exchange.sendJson({ totalTokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: totalTokens }] });
}

const FINISH_REASONS = { end: 'STOP', length: 'MAX_TOKENS', sequence: 'STOP', tool: 'STOP', refusal: 'SAFETY' };

type Parts = { thoughts: JsonObject[]; pieces: string[]; textSign: JsonObject; calls: JsonObject[] };

type Thought = { head: JsonObject; answer: Reply; parts: Parts };

function think(exchange: Exchange): Thought {
  const view = readRequest(exchange);
  const answer = decide(view, exchange.fault);
  const usage = measure(view, answer, exchange.state.cache);
  const head = {
    usageMetadata: bend(usageOf(usage), exchange.fault.usage),
    modelVersion: exchange.model,
    responseId: exchange.state.ids.next('resp-'),
  };
  return { head, answer, parts: partsOf(exchange, view, answer) };
}

function partsOf(exchange: Exchange, view: View, answer: Reply): Parts {
  const config = objectOf(either(objectOf(either(exchange.json, 'generationConfig')), 'thinkingConfig'));
  // This model thinks unless told not to, and signs its calls even when its thoughts stay hidden.
  const signs = either(config, 'thinkingBudget') !== 0;
  return {
    thoughts: view.thinking === 'shown' && answer.thoughts !== '' ? [{ text: answer.thoughts, thought: true }] : [],
    pieces: [...pieces(answer.text)],
    textSign:
      view.thinking === 'off' || answer.calls.length > 0 ? {} : { thoughtSignature: mint('thought', answer.text) },
    calls: answer.calls.map((call, index) => ({
      functionCall: { id: exchange.state.ids.next('call-'), name: call.tool.name, args: JSON.parse(call.args) },
      ...(signs && index === 0 && { thoughtSignature: mint('thought', call.tool.name + call.args) }),
    })),
  };
}

function candidate(parts: JsonObject[], finishReason?: string): JsonObject {
  const content = parts.length > 0 ? { content: { role: 'model', parts } } : {};
  return { ...content, ...(finishReason !== undefined && { finishReason }), index: 0 };
}

function blocked(head: JsonObject): JsonObject {
  return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...head };
}

function* frames({ head, answer, parts }: Thought): Generator<Frame> {
  const early = { ...head, usageMetadata: head.usageMetadata && earlyUsage(objectOf(head.usageMetadata)) };
  const block = (part: JsonObject): Frame => ({
    data: JSON.stringify({ candidates: [candidate([part])], ...early }),
    content: true,
  });
  if (answer.blocked) {
    yield { data: JSON.stringify(blocked(head)), last: true };
    return;
  }
  for (const part of parts.thoughts) {
    for (const text of pieces(String(part.text))) yield block({ text, thought: true });
  }
  for (const text of parts.pieces) yield block({ text });
  for (const part of parts.calls) yield block(part);
  // The signature of a text comes after it, on a part without text.
  const closing = answer.refusal === undefined ? [{ text: '', ...parts.textSign }] : [];
  const end = candidate(closing, FINISH_REASONS[answer.stop]);
  yield { data: JSON.stringify({ candidates: [end], ...head }), last: true };
}

/** Until the end only the prompt has been counted; the last chunk's numbers are the ones that hold. */
function earlyUsage(usage: JsonObject): JsonObject {
  return { promptTokenCount: usage.promptTokenCount, totalTokenCount: usage.promptTokenCount };
}

/** Thoughts are counted beside the candidates, not inside them. */
function usageOf(usage: Usage): JsonObject {
  return {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: usage.input + usage.output,
    ...(usage.cached > 0 && { cachedContentTokenCount: usage.cached }),
    ...(usage.reasoning > 0 && { thoughtsTokenCount: usage.reasoning }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.input }],
  };
}
