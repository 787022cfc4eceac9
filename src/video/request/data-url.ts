/**
 * Inline media of a content item (V 4.1): `data:<kind>/<format>;base64,<data>` and nothing else.
 * Decodes only the bytes that a check needs.
 */
import { Base64File, hasSignature, isSignedMime, SIGNATURE_BYTES } from '../../core/index.ts';
import { type InlineMediaRules, knownFormats } from '../../rules/index.ts';
import { type AudioLength, measureAudio } from './audio.ts';
import { alternatives, invalidField, unsupportedField } from './task-request.ts';

const SIGNATURE_CHARS = (SIGNATURE_BYTES / 3) * 4;
/** Longer than the start of every accepted data URL. */
const PREFIX_BYTES = 64;
/** Exact and in lower case; other parameters, such as a charset, are rejected. */
const PREFIX = /^data:(image|audio)\/([\w.+-]+);base64,/;

const DATA_URL = /^data:/i;
export const isDataUrl = (text: Buffer): boolean => DATA_URL.test(text.toString('latin1', 0, 5));

interface InlineData {
  readonly format: string;
  /** In Base64. */
  readonly data: Buffer;
}

export function checkImage(text: Buffer, param: string, rules: InlineMediaRules): void {
  const { format, data } = openDataUrl(text, param, 'image', rules);
  const mime = `image/${format}`;
  if (!rules.image.isContentChecked || !isSignedMime(mime)) return;
  if (!hasSignature(mime, Buffer.from(data.toString('latin1', 0, SIGNATURE_CHARS), 'base64')))
    throw invalidField(param, `the data is not a ${format} image`, 'name the real format of the image in the data URL');
}

/** The playing time; undefined when the variant leaves it to the provider. */
export function checkAudio(text: Buffer, param: string, rules: InlineMediaRules): AudioLength | undefined {
  const { format, data } = openDataUrl(text, param, 'audio', rules);
  const limits = rules.audio.length;
  if (!limits) return undefined;
  const length = measureAudio(format, new Base64File(data.length, (index) => data[index]), limits.max);
  if (!length)
    throw invalidField(
      param,
      `the data is not a readable ${format} file`,
      'name the real format of the audio in the data URL',
    );
  if (length.max < limits.min || length.min > limits.max)
    throw invalidField(
      param,
      `the audio is ${length.min > limits.max ? 'longer' : 'shorter'} than allowed`,
      `send ${limits.min} to ${limits.max} seconds`,
    );
  return length;
}

/** Form, format, Base64 and size, in this order. */
function openDataUrl(text: Buffer, param: string, kind: 'image' | 'audio', rules: InlineMediaRules): InlineData {
  const { formats, maxBytes } = rules[kind];
  const [prefix, family, format] = PREFIX.exec(text.toString('latin1', 0, PREFIX_BYTES)) ?? [];
  const form = `data:${kind}/<format>;base64,<data>`;
  if (prefix === undefined || format === undefined || family !== kind)
    throw invalidField(param, 'the data URL does not have the required form', `send ${form}, in lower case`);
  if (!formats.includes(format)) {
    const reject = knownFormats(kind).has(format) ? unsupportedField : invalidField;
    throw reject(param, `the format ${format} is not accepted`, `send ${alternatives(formats)}`);
  }
  const data = text.subarray(prefix.length);
  const length = decodedLength(data);
  if (!length)
    throw invalidField(param, data.length === 0 ? 'the data is empty' : 'the data is not valid Base64', `send ${form}`);
  if (length > maxBytes)
    throw invalidField(
      param,
      `the ${kind} has ${length} bytes`,
      `send at most ${maxBytes} bytes, counted before Base64`,
    );
  return { format, data };
}

/** Strict Base64 (RFC 4648 section 4) in place: checks and measures data without decoding it. */
const PADDING = 0x3d;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** 0xff for bytes outside the alphabet. */
const VALUES = new Uint8Array(256).fill(0xff);
for (let n = 0; n < ALPHABET.length; n += 1) VALUES[ALPHABET.charCodeAt(n)] = n;

/**
 * Length of the decoded data; undefined when the text is not strict Base64:
 * white space, another alphabet, missing or surplus padding, or bits set in the last character that no byte uses.
 */
export function decodedLength(text: Uint8Array): number | undefined {
  const { length } = text;
  if (length % 4 !== 0) return undefined;
  const padding = paddingOf(text);
  const end = length - padding;
  let seen = 0;
  for (let n = 0; n < end; n += 1) seen |= VALUES[text[n] ?? 0] ?? 0xff;
  if (seen > 0x3f) return undefined;
  if (((VALUES[text[end - 1] ?? 0] ?? 0) & UNUSED_BITS[padding]) !== 0) return undefined;
  return (length / 4) * 3 - padding;
}

/** Of the last character before the padding. */
const UNUSED_BITS = { 0: 0, 1: 0x03, 2: 0x0f } as const;

function paddingOf(text: Uint8Array): keyof typeof UNUSED_BITS {
  if (text.at(-1) !== PADDING) return 0;
  return text.at(-2) === PADDING ? 2 : 1;
}
