/** generateContent responses and streams. */
import { cachedTokens } from '../caches.ts';
import { googleError, invalid, statusFailure } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { omitMembers } from '../faults.ts';
import type { Frame, Stream } from '../frames.ts';
import { isObject, type JsonObject, objectOf } from '../json.ts';
import { decide } from '../model.ts';
import type { NeutralRequest } from '../neutral-request.ts';
import { mint } from '../opaque.ts';
import type { Reply } from '../reply.ts';
import { sendStream, splitWords } from '../stream.ts';
import { distortUsage, measure, promptTokens, type Usage } from '../usage.ts';
import { drawPart, readImageRequest } from './image.ts';
import { either, readRequest } from './request.ts';

export async function generateContent(exchange: Exchange): Promise<void> {
  const { head, reply, parts } = await prepareReply(exchange);
  if (reply.blocked) return exchange.sendJson(blocked(head));
  const merged = parts.pieces.length > 0 ? [{ text: parts.pieces.join(''), ...parts.textSign }] : [];
  await exchange.sendJson({
    candidates: [
      candidate([...parts.thoughts, ...merged, ...parts.images, ...parts.calls], FINISH_REASONS[reply.stop]),
    ],
    ...head,
  });
}

export async function streamContent(exchange: Exchange): Promise<void> {
  // Read the request before the stream opens, so that an invalid one still gets its error status.
  const thought = await prepareReply(exchange);
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

interface Parts {
  thoughts: JsonObject[];
  pieces: string[];
  textSign: JsonObject;
  images: JsonObject[];
  calls: JsonObject[];
}

interface PreparedReply {
  head: JsonObject;
  reply: Reply;
  parts: Parts;
}

async function prepareReply(exchange: Exchange): Promise<PreparedReply> {
  const { fault, state } = exchange;
  const view = readRequest(exchange);
  const decided = decide(view, fault);
  const image = readImageRequest(exchange, decided);
  const reply = image?.hasText === false ? { ...decided, text: '' } : decided;
  const measured = measure(view, reply, state.cache);
  const kept = cachedTokens(exchange);
  const usage = kept === 0 ? measured : { ...measured, input: measured.input + kept, cached: kept };
  const head = {
    usageMetadata: distortUsage(omitMembers(usageOf(usage, image?.tokens), fault), fault.usage),
    modelVersion: exchange.model,
    responseId: state.ids.next('resp-'),
  };
  const images = image ? [await drawPart(exchange, image)] : [];
  return { head, reply, parts: { ...partsOf(exchange, view, reply), images } };
}

function partsOf(exchange: Exchange, view: NeutralRequest, reply: Reply): Omit<Parts, 'images'> {
  const config = objectOf(either(objectOf(either(exchange.json, 'generationConfig')), 'thinkingConfig'));
  // This model thinks by default and signs its calls even when thoughts are hidden.
  const signs = either(config, 'thinkingBudget') !== 0;
  return {
    thoughts: view.thinking === 'shown' && reply.thoughts !== '' ? [{ text: reply.thoughts, thought: true }] : [],
    pieces: [...splitWords(reply.text)],
    textSign:
      view.thinking === 'off' || reply.calls.length > 0 ? {} : { thoughtSignature: mint('thought', reply.text) },
    calls: reply.calls.map((call, index) => ({
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

function* frames({ head, reply, parts }: PreparedReply): Generator<Frame> {
  const early = { ...head, usageMetadata: head.usageMetadata && earlyUsage(objectOf(head.usageMetadata)) };
  const block = (part: JsonObject): Frame => ({
    data: JSON.stringify({ candidates: [candidate([part])], ...early }),
    content: true,
  });
  if (reply.blocked) {
    yield { data: JSON.stringify(blocked(head)), last: true };
    return;
  }
  for (const part of parts.thoughts) {
    for (const text of splitWords(String(part.text))) yield block({ text, thought: true });
  }
  for (const text of parts.pieces) yield block({ text });
  for (const part of [...parts.images, ...parts.calls]) yield block(part);
  // The signature of a text follows it on an empty part.
  const closing = reply.refusal === undefined ? [{ text: '', ...parts.textSign }] : [];
  const end = candidate(closing, FINISH_REASONS[reply.stop]);
  yield { data: JSON.stringify({ candidates: [end], ...head }), last: true };
}

/** Chunks before the last count only the prompt; the counts of the last chunk are final. */
function earlyUsage(usage: JsonObject): JsonObject {
  return { promptTokenCount: usage.promptTokenCount, totalTokenCount: usage.promptTokenCount };
}

/** Thoughts are not included in the candidate tokens. */
function usageOf(usage: Usage, imageTokens = 0): JsonObject {
  const textTokens = usage.output - usage.reasoning;
  const details = [
    { modality: 'TEXT', tokenCount: textTokens },
    { modality: 'IMAGE', tokenCount: imageTokens },
  ];
  return {
    promptTokenCount: usage.input,
    candidatesTokenCount: textTokens + imageTokens,
    totalTokenCount: usage.input + usage.output + imageTokens,
    ...(usage.cached > 0 && { cachedContentTokenCount: usage.cached }),
    ...(usage.reasoning > 0 && { thoughtsTokenCount: usage.reasoning }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.input }],
    ...(imageTokens > 0 && { candidatesTokensDetails: details.filter(({ tokenCount }) => tokenCount > 0) }),
  };
}
