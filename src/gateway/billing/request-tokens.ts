/**
 * Estimated input tokens: where a provider cannot count, or reports no usage.
 * Media by their own units, never by encoded bytes.
 */
import { estimateTokens, StepBudget, valueOfJson } from '../../core/index.ts';
import { decodeCount, type HubItem, type HubPart, type HubRequest, type HubTool } from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { type Dialect, MEDIA_TOKENS } from '../../rules/index.ts';
import { estimateMedia, tokensOfDocument } from './media-tokens.ts';
import type { InputBounds } from './request-bounds.ts';

const PER_MESSAGE = 4;
/** Instructions that providers add when tools are offered. */
const TOOLS_BASE = 350;

/**
 * Longer texts are estimated by samples: a megabyte takes 60 to 600 ms.
 * They begin at a random place, so that no caller can write text between them.
 */
const EXACT_CHARS = 64 * 1024;
const SAMPLE_CHARS = 2 * 1024;
const OFFSET = Math.random();

/** Estimated input tokens, computed when they are needed. `ROUGH_CHARS` samples fewer characters of a long text. */
export type InputEstimate = (exactChars?: number) => number;

/** Of an estimate that every call needs, and that a true figure replaces: half a millisecond. */
export const ROUGH_CHARS = 8 * 1024;

/**
 * Of a body in the client's dialect, or of its texts.
 * `steps`: of the request while it is read; an estimate that charges has its own, and is not refused.
 */
export function estimateBody(dialect: Dialect, body: unknown, steps = new StepBudget()): number {
  const request = hubOf(dialect, body);
  if (request) return estimateRequest(request, undefined, steps);
  const texts = new Texts(steps);
  addTexts(texts, body);
  return texts.tokens();
}

function hubOf(dialect: Dialect, body: unknown): HubRequest | undefined {
  try {
    return decodeCount(dialect, body, { headers: {}, model: 'any', stream: false });
  } catch {
    return undefined;
  }
}

/** The same of bytes, which a provider may accept although they are not quite JSON. */
export function estimateBytes(dialect: Dialect, bytes: Buffer, steps?: StepBudget): number {
  const text = new TextDecoder().decode(bytes);
  const body = valueOfJson(text);
  return body === undefined ? estimateText(text) : estimateBody(dialect, body, steps);
}

/** The same of one text, whatever its length. */
export function estimateText(text: string): number {
  const texts = new Texts(new StepBudget());
  texts.add(text);
  return texts.tokens();
}

/** Names, brackets and quotes around the texts of a body. */
const SYNTAX = /"[\w.-]{1,40}"\s*:\s*|["\]}]\s*,\s*["[{]|[[{]\s*[{"]|["}\]]\s*[}\]]/g;
const SHORT_ESCAPE = /\\([nt"\\/])/g;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t' };
/** Of text that no sample met. */
const USUAL_TOKENS_PER_BYTE = 1 / 3;
const ENCODED_RUN = /[A-Za-z0-9+/=_-]{256,}/g;

/**
 * Of a body too large for the event loop, by samples and what the scan found:
 * within a tenth of the other estimate of conversations.
 */
export function estimateLarge(body: Buffer, facts: LargeFacts): number {
  const mediaBytes = body.length - facts.bodyBytes;
  // Between large media, short text is easily missed.
  const sampled = EXACT_CHARS * (mediaBytes > facts.bodyBytes ? 8 : 1);
  const stride = Math.max(SAMPLE_CHARS, Math.ceil((body.length / sampled) * SAMPLE_CHARS));
  // Media have their own units, and their bytes are not in `bodyBytes`. Text that only looks like media stays.
  let encoded = mediaBytes === 0 ? 0 : (mediaBytes / stride + 1) * SAMPLE_CHARS;
  const cutMedia = (run: string): string => {
    encoded -= run.length;
    return encoded < 0 ? run : '';
  };
  const samples: string[] = [];
  for (let at = Math.floor(OFFSET * (stride - SAMPLE_CHARS)); at < body.length; at += stride)
    samples.push(body.toString('utf8', at, at + SAMPLE_CHARS).replace(ENCODED_RUN, cutMedia));
  const chars = sum(samples.map((sample) => Buffer.byteLength(sample)));
  const texts = samples.map((sample) =>
    sample.replace(SYNTAX, ' ').replace(SHORT_ESCAPE, (_, letter: string) => ESCAPED[letter] ?? letter),
  );
  const perByte = chars === 0 ? USUAL_TOKENS_PER_BYTE : sum(texts.map(estimateTokens)) / chars;
  return Math.round(perByte * facts.bodyBytes) + tokensOfMedia(facts, body.length);
}

export type LargeFacts = Pick<InputBounds, 'bodyBytes'> & Partial<InputBounds>;

/** Of media that are not read again. `bytes`: of the whole request. */
const tokensOfMedia = (
  { bodyBytes, inputImages = 0, mediaTokens = 0, wholeContext }: LargeFacts,
  bytes: number,
): number =>
  inputImages * MEDIA_TOKENS.image +
  mediaTokens +
  (wholeContext === undefined ? 0 : tokensOfDocument(((bytes - bodyBytes) * 3) / 4));

class Texts {
  more = 0;
  readonly steps: StepBudget;
  readonly readsMedia: boolean;
  readonly #exactChars: number;
  readonly #texts: string[] = [];
  #chars = 0;

  constructor(steps: StepBudget, readsMedia = true, exactChars = EXACT_CHARS) {
    this.steps = steps;
    this.readsMedia = readsMedia;
    this.#exactChars = exactChars;
  }

  add(text: string): void {
    this.#texts.push(text);
    this.#chars += text.length;
  }

  tokens(): number {
    if (this.#chars <= this.#exactChars) return this.more + sum(this.#texts.map(estimateTokens));
    const samples = this.#samples();
    const sampled = sum(samples.map(({ length }) => length));
    return this.more + Math.round((sum(samples.map(estimateTokens)) / sampled) * this.#chars);
  }

  /** Pieces at equal distances of all texts together. */
  #samples(): string[] {
    const stride = Math.ceil((this.#chars / this.#exactChars) * SAMPLE_CHARS);
    const samples: string[] = [];
    let begin = Math.floor(OFFSET * stride);
    for (const text of this.#texts) {
      for (let at = 0; at < text.length; ) {
        const place = (begin + at) % stride;
        const end = at + (place < SAMPLE_CHARS ? SAMPLE_CHARS : stride) - place;
        if (place < SAMPLE_CHARS) samples.push(text.slice(at, end));
        at = end;
      }
      begin += text.length;
    }
    return samples;
  }
}

/** Members that the model does not read, and encoded media. */
const UNREAD: ReadonlySet<string> = new Set([
  'model',
  'metadata',
  'user',
  'type',
  'role',
  'id',
  'mimeType',
  'mime_type',
]);
const ENCODED = /^(?:data:|[A-Za-z0-9+/_-]{256})/;

/** Texts anywhere in a body. Numbers in a list are tokens already, as embeddings accept them. */
function addTexts(texts: Texts, value: unknown): void {
  if (typeof value === 'string') {
    if (ENCODED.test(value)) texts.more += MEDIA_TOKENS.image;
    else texts.add(value);
  } else if (Array.isArray(value))
    for (const one of value) {
      if (typeof one === 'number') texts.more += 1;
      else addTexts(texts, one);
    }
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) if (!UNREAD.has(name)) addTexts(texts, member);
}

/** `known`: of a large request of so many bytes, whose media were read before. */
export function estimateRequest(
  { system, tools, items }: HubRequest,
  known?: { readonly facts: LargeFacts; readonly bytes: number },
  steps = new StepBudget(),
  exactChars?: number,
): number {
  const texts = new Texts(steps, !known, exactChars);
  if (known) texts.more += tokensOfMedia(known.facts, known.bytes);
  for (const { text } of system) addMessage(texts, text);
  if (tools.length > 0) texts.more += TOOLS_BASE;
  for (const tool of tools) addTool(texts, tool);
  for (const item of items) addItem(texts, item);
  return texts.tokens();
}

function addMessage(texts: Texts, ...parts: readonly string[]): void {
  texts.more += PER_MESSAGE;
  for (const part of parts) texts.add(part);
}

function addItem(texts: Texts, item: HubItem): void {
  if (item.kind === 'message' || item.kind === 'tool_result') {
    addMessage(texts);
    for (const part of item.parts) addPart(texts, part);
  } else if (item.kind === 'tool_call') addMessage(texts, item.name, item.args);
  else if (item.kind === 'reasoning') for (const text of item.summary) texts.add(text);
  else if (item.kind === 'compaction' && item.text !== undefined) texts.add(item.text);
}

function addPart(texts: Texts, part: HubPart): void {
  if (part.kind === 'text' || part.kind === 'refusal') texts.add(part.text);
  else if (part.kind === 'json') texts.add(JSON.stringify(part.value));
  else if (part.kind === 'search_result') for (const text of part.texts) texts.add(text);
  else if (part.kind === 'file' && part.source.kind === 'text') texts.add(part.source.text);
  else if (part.kind === 'file' && part.source.kind === 'base64' && part.source.mime.startsWith('text/'))
    texts.add(Buffer.from(part.source.data, 'base64').toString());
  else if (texts.readsMedia) texts.more += estimateMedia(part.kind, part.source, texts.steps);
}

function addTool(texts: Texts, tool: HubTool): void {
  if (tool.kind === 'function') texts.add(`${tool.name} ${tool.description ?? ''} ${JSON.stringify(tool.schema)}`);
  else if (tool.kind === 'custom') texts.add(`${tool.name} ${tool.description ?? ''}`);
  else texts.more += TOOLS_BASE;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

export const estimateJob: ThreadJob<{ readonly bytes: Buffer; readonly dialect: Dialect }, number> = {
  module: import.meta.url,
  name: 'estimateJob',
  run: ({ bytes, dialect }, steps) => estimateBytes(dialect, bytes, steps),
};
