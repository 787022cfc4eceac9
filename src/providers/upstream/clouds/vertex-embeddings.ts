/**
 * Embeddings of the Gemini API by the method for predictions,
 * which is the only one that most embedding models of Vertex AI have.
 */
import type { ResponseListener } from '../../../platform/http/index.ts';
import { changedResponse } from './changed-response.ts';
import type { MadeResponse } from './cloud.ts';
import { parseObject } from './token-request.ts';

const MAX_BYTES = 64 * 2 ** 20;

type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * One request or a batch. The number of dimensions holds for all texts of a prediction,
 * as it does for all requests of a client.
 */
export function predictBody(body: Buffer): Buffer {
  const whole = parseObject(body.toString('utf8')) ?? {};
  const requests = Array.isArray(whole.requests) ? whole.requests.map(objectOf) : [whole];
  const first = either(requests[0] ?? {}, 'outputDimensionality');
  const instances = requests.map((request) => ({
    content: textOf(objectOf(request.content)),
    ...withName('task_type', either(request, 'taskType')),
    ...withName('title', request.title),
  }));
  return Buffer.from(JSON.stringify({ instances, parameters: withName('outputDimensionality', first) }));
}

const either = (holder: Json, camel: string): unknown =>
  holder[camel] ?? holder[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

const withName = (name: string, value: unknown): Json => (value === undefined ? {} : { [name]: value });

const textOf = ({ parts }: Json): string =>
  listOf(parts)
    .map((part) => objectOf(part).text)
    .filter((text) => typeof text === 'string')
    .join('\n');

/** The reply of a prediction as that of `verb`. */
export const embeddingReply = (listener: ResponseListener, verb: string): ResponseListener =>
  changedResponse(listener, {
    applies: (status) => status === 200,
    maxBytes: MAX_BYTES,
    change: (response) => ({ ...response, body: replyOf(response, verb) }),
  });

function replyOf({ body }: MadeResponse, verb: string): Buffer {
  const predictions = parseObject(body.toString('utf8'))?.predictions;
  if (!Array.isArray(predictions)) return body;
  const found = predictions.map((one) => objectOf(objectOf(one).embeddings));
  const embeddings = found.map(({ values }) => ({ values }));
  const tokens = found.reduce((sum, { statistics }) => sum + (Number(objectOf(statistics).token_count) || 0), 0);
  const usage = tokens > 0 && { usageMetadata: { promptTokenCount: tokens, totalTokenCount: tokens } };
  return Buffer.from(
    JSON.stringify(verb === 'embedContent' ? { embedding: embeddings[0], ...usage } : { embeddings, ...usage }),
  );
}
