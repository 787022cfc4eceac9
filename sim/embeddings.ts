/** The embeddings endpoints of the OpenAI-style and the Google-style provider. */
import { createHash } from 'node:crypto';
import { invalid } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type Json, type JsonObject, listOf, objectOf, objectsOf, textOf } from './json.ts';
import { distortUsage, tokensIn } from './usage.ts';

const DEFAULT_DIMENSIONS = 256;
const MAX_INPUTS = 2048;
const MAX_DIMENSIONS = 4096;

export async function createEmbeddings(exchange: Exchange): Promise<void> {
  const { json } = exchange;
  if (textOf(json.model) === '') throw invalid('you must provide a model parameter', 'model');
  const inputs = readInputs(json.input);
  const dimensions = readDimensions(json.dimensions);
  const base64 = json.encoding_format === 'base64';
  const tokens = inputs.map(countTokens).reduce((sum, count) => sum + count);
  await exchange.sendJson({
    object: 'list',
    data: inputs.map((input, index) => {
      const vector = vectorOf(JSON.stringify(input), dimensions);
      return { object: 'embedding', index, embedding: base64 ? toBase64(vector) : [...vector] };
    }),
    model: exchange.model,
    usage: distortUsage({ prompt_tokens: tokens, total_tokens: tokens }, exchange.fault.usage),
  });
}

export async function embedContent(exchange: Exchange): Promise<void> {
  const { values, tokens } = embed(exchange.json);
  await exchange.sendJson({ embedding: { values }, ...googleUsage(exchange, tokens) });
}

/** Every request names the model of the path. */
export async function batchEmbedContents(exchange: Exchange): Promise<void> {
  const requests = objectsOf(exchange.json.requests);
  if (requests.length === 0) throw invalid('* BatchEmbedContentsRequest.requests: requests is not specified\n');
  if (requests.some((request) => request.model !== `models/${exchange.model}`))
    throw invalid('* BatchEmbedContentsRequest.requests: the model must match the model of the batch\n');
  const embedded = requests.map(embed);
  const tokens = embedded.reduce((sum, one) => sum + one.tokens, 0);
  await exchange.sendJson({
    embeddings: embedded.map(({ values }) => ({ values })),
    ...googleUsage(exchange, tokens),
  });
}

function embed(request: JsonObject): { values: number[]; tokens: number } {
  const text = objectsOf(objectOf(request.content).parts)
    .map((part) => textOf(part.text))
    .join('\n');
  if (text === '') throw invalid('* EmbedContentRequest.content: contents is not specified\n');
  return { values: [...vectorOf(text, readDimensions(request.outputDimensionality))], tokens: tokensIn(text) };
}

function googleUsage({ fault }: Exchange, tokens: number): JsonObject {
  const usageMetadata = distortUsage({ promptTokenCount: tokens, totalTokenCount: tokens }, fault.usage);
  return usageMetadata === undefined ? {} : { usageMetadata };
}

/** One text, one list of tokens, or a list of either. */
function readInputs(input: unknown): Json[] {
  const single = typeof input === 'string' || (Array.isArray(input) && typeof input[0] === 'number');
  const inputs = single ? [input as Json] : listOf(input);
  if (inputs.length === 0) throw invalid("Missing required parameter: 'input'.", 'input', 'missing_required_parameter');
  if (inputs.length > MAX_INPUTS) throw invalid(`'input' may hold at most ${MAX_INPUTS} entries.`, 'input');
  for (const entry of inputs) {
    const tokens = Array.isArray(entry) && entry.length > 0 && entry.every((token) => Number.isInteger(token));
    if (!tokens && textOf(entry) === '') throw invalid("'$.input' is invalid.", 'input');
  }
  return inputs;
}

function readDimensions(given: unknown): number {
  if (given === undefined || given === null) return DEFAULT_DIMENSIONS;
  if (Number.isInteger(given) && Number(given) >= 1 && Number(given) <= MAX_DIMENSIONS) return Number(given);
  throw invalid(`Invalid value for 'dimensions': expected 1 to ${MAX_DIMENSIONS}.`, 'dimensions');
}

function countTokens(input: Json): number {
  return Array.isArray(input) ? input.length : tokensIn(textOf(input));
}

/** A unit vector derived from the hash of the input. */
function vectorOf(input: string, dimensions: number): Float32Array {
  const seed = createHash('sha256').update(input).digest();
  let state = seed.readUInt32LE(0) || 1;
  const vector = new Float32Array(dimensions);
  for (let index = 0; index < dimensions; index++) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    vector[index] = (state >>> 0) / 0xffffffff - 0.5;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / (length || 1));
}

/** Little-endian float32 on every platform. */
function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
