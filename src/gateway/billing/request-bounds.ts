/**
 * What a request makes a provider read: text, and media of any kind.
 * Admission reserves for all of it: a small body can cost much.
 */
import { randomUUID } from 'node:crypto';
import * as core from '../../core/index.ts';
import { MEDIA_TOKENS, MEDIA_TYPES, words } from '../../rules/index.ts';
import { type MediaClaim, tokensOfLength } from './media-tokens.ts';
import { countIn } from './members.ts';

export interface InputBounds {
  readonly bodyBytes: number;
  readonly inputImages: number;
  readonly mediaTokens: number;
  /** What refers to input of unknown size: a file, a video, stored items. */
  readonly wholeContext: string | undefined;
}

/** Members whose content belongs to tools or to the caller; a provider loads nothing from there. */
const SKIPPED: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema', 'metadata', 'arguments']);
const DECIDING: ReadonlySet<string> = new Set(
  words(
    'type source data url image_url file file_data file_id file_url input_audio audio inlineData inline_data',
    'fileData fileUri file_uri mimeType mime_type videoMetadata',
  ),
);

type Json = Readonly<Record<string, unknown>>;

/** A string of the request: its size in the body, and its characters. */
interface Text {
  readonly bytes: number;
  readonly chars: number;
  readonly codeAt: (index: number) => number | undefined;
}
type TextOf = (text: string) => Text;

const plainText: TextOf = (text) => ({
  bytes: Buffer.byteLength(text),
  chars: text.length,
  codeAt: (index) => text.charCodeAt(index),
});

export const inputBoundsOf = (request: unknown, bytes: number, steps: core.StepBudget): InputBounds => {
  const media = new MediaCount(plainText, steps);
  media.add(request);
  return media.bounds(bytes);
};

class MediaCount {
  readonly #found = { inputImages: 0, mediaTokens: 0, wholeContext: undefined as string | undefined };
  /** Bytes of inline media, which the model does not read as text. */
  #inlineBytes = 0;
  readonly #textOf: TextOf;
  readonly #steps: core.StepBudget;

  constructor(textOf: TextOf, steps: core.StepBudget) {
    this.#textOf = textOf;
    this.#steps = steps;
  }

  bounds(bytes: number): InputBounds {
    return { bodyBytes: Math.max(0, bytes - this.#inlineBytes), ...this.#found };
  }

  /** As deep as the JSON limits allow. */
  add(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const element of value) this.add(element);
      return;
    }
    this.#steps.take();
    this.#countObject(value as Json);
    // Without a list of its members, which would be garbage.
    for (const name in value) if (!SKIPPED.has(name)) this.add((value as Json)[name]);
  }

  #countObject(part: Json): void {
    const { type } = part;
    const claim = MEDIA_TYPES.get(type);
    if (claim === 'image')
      this.#count('image', part, part.image_url, objectIn(part.image_url).url, sourceOf(part).data);
    else if (claim === 'audio') this.#count('audio', part, objectIn(part.input_audio).data);
    else if (type === 'image_generation_call' && part.result) this.#count('image', part, part.result);
    else if (claim === 'file' && !isText(sourceOf(part)))
      this.#count('file', part, sourceOf(part).data, part.file_data, objectIn(part.file).file_data);
    // A reply in audio, kept by the provider.
    if (part.role === 'assistant' && typeof objectIn(part.audio).id === 'string')
      this.#found.wholeContext ??= 'audio.id';
    // Parts of generate-content have no type.
    const inline = objectIn(part.inlineData ?? part.inline_data);
    if (inline !== NOTHING) this.#count(claimOf(inline), part, inline.data);
    // What the address leads to may be of another type than the request says.
    if (objectIn(part.fileData ?? part.file_data) !== NOTHING) this.#found.wholeContext ??= 'fileData';
  }

  /** The first string is the content; without one it is elsewhere, and the claim decides. */
  #count(claim: MediaClaim, part: Json, ...candidates: unknown[]): void {
    const content = candidates.find((one) => typeof one === 'string');
    const inline = content === undefined ? undefined : this.#inline(content);
    const media = inline && core.mediaLength(inline.file, this.#steps);
    if (media) this.#inlineBytes += inline.bytes;
    const kind = media && media.kind !== 'unknown' ? media.kind : claim;
    if (claim === 'file' || kind === 'document' || kind === 'file' || (kind !== 'image' && !media))
      this.#found.wholeContext ??= String(part.type ?? 'inlineData');
    else if (kind === 'image') this.#found.inputImages += 1;
    else this.#addLength(claim === 'video' ? 'video' : kind, part, media, inline);
  }

  #addLength(kind: MediaClaim, part: Json, media: core.MediaLength | undefined, inline: Inline | undefined): void {
    const seconds = media && 'seconds' in media ? media.seconds : undefined;
    if (seconds !== undefined) this.#found.mediaTokens += tokensOf(kind, seconds, part);
    else if (kind === 'audio' && inline) this.#found.mediaTokens += inline.file.size * MAX_TOKENS_PER_BYTE;
    else this.#found.wholeContext ??= String(part.type ?? 'inlineData');
  }

  /** Undefined for an address, which is read as text. The text may be cut at its first escape. */
  #inline(content: string): Inline | undefined {
    const isDataUrl = /^data:/i.test(content);
    if (!isDataUrl && /^[a-z][a-z0-9+.-]*:/i.test(content)) return undefined;
    const { bytes, chars, codeAt } = this.#textOf(content);
    const start = isDataUrl ? dataStart(codeAt) : 0;
    return { bytes, file: new core.Base64File(chars - start, (index) => codeAt(start + index)) };
  }
}

interface Inline {
  readonly bytes: number;
  readonly file: core.Base64File;
}

/** For audio of unknown length: no codec in use has fewer than 16 bytes for a second. */
const MAX_TOKENS_PER_BYTE = MEDIA_TOKENS.audioSecond / 16;

function tokensOf(kind: MediaClaim, seconds: number, part: Json): number {
  const { fps } = objectIn(part.videoMetadata ?? part.video_metadata);
  return kind === 'audio'
    ? tokensOfLength('audio', seconds)
    : tokensOfLength('video', seconds, Math.max(1, countIn(fps, 'videoMetadata.fps') ?? 1));
}

const COMMA = 0x2c;
/** Types with their parameters are shorter. */
const MAX_DATA_HEAD = 200;

function dataStart(codeAt: Text['codeAt']): number {
  for (let at = 0; at < MAX_DATA_HEAD; at += 1) if (codeAt(at) === COMMA) return at + 1;
  return 0;
}

const NOTHING: Json = Object.freeze({});
const objectIn = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : NOTHING);
const sourceOf = ({ source }: Json): Json => objectIn(source);
const isText = ({ type }: Json): boolean => type === 'text' || type === 'content';

function claimOf(media: Json): MediaClaim {
  const [family] = /^(?:image|audio|video)/.exec(String(media.mimeType ?? media.mime_type ?? '')) ?? ['file'];
  return family as MediaClaim;
}

/** Marks the length and the place of a cut string. Random, so that no caller can write one. */
const MARK = randomUUID();

/** Bounds of a JSON body, of which only the objects with media are parsed, and these without their long strings. */
export function inputBoundsOfBody(
  body: Buffer,
  steps: core.StepBudget,
  media: readonly core.Span[] = [{ start: 0, end: body.length }],
): InputBounds {
  const count = new MediaCount(textIn(body), steps);
  let start = body.length;
  // An object is reported after those inside it, which it counts too.
  for (const span of media.toReversed()) {
    if (span.start >= start) continue;
    start = span.start;
    const bytes = body.subarray(span.start, span.end);
    // The skeleton cuts strings at their first escape, also names.
    const isEscaped = core.hasEscapedLetters(bytes);
    const skeleton = decode(isEscaped ? bytes : Buffer.concat(new core.JsonElider(MARK, span.start).push(bytes)));
    const value: unknown = JSON.parse(skeleton);
    rejectRepeated(skeleton, DECIDING);
    count.add(value);
  }
  return count.bounds(body.length);
}

/** Reads the strings that were cut where they stand in the body. */
const textIn =
  (body: Buffer): TextOf =>
  (text) => {
    const mark = text.lastIndexOf(MARK);
    if (mark < 0) return plainText(text);
    const [bytes = 0, start = 0] = text
      .slice(mark + MARK.length)
      .split('@')
      .map(Number);
    const isEscaped = body.subarray(start, start + bytes).includes(BACKSLASH);
    return isEscaped
      ? { ...plainText(JSON.parse(body.toString('latin1', start - 1, start + bytes + 1))), bytes }
      : { bytes, chars: bytes, codeAt: (index) => body[start + index] };
  };
const BACKSLASH = 0x5c;

export function rejectRepeated(json: string, watched: ReadonlySet<string>): void {
  const name = core.repeatedMember(json, watched);
  if (name !== undefined) throw core.failAt('invalid_request', name, 'the member occurs twice.');
}

/** Without the byte order mark that some editors write. */
const decode = (bytes: Buffer): string => new TextDecoder().decode(bytes);
