/** Requests and inline media for tests of video tasks. */

import { type SheetChanges, sheetOf, type VideoVariant } from '../../src/rules/index.ts';
import { examineTaskBody } from '../../src/video/request/examine.ts';
import type { Examination, RequestError, TaskEntry, TaskRequest } from '../../src/video/request/task-request.ts';
import { fillTemplate, type TemplateValues } from '../../src/video/request/upstream-template.ts';

export const VARIANTS_B = ['EP', 'HC'] as const;

export const TEXT = { type: 'text', text: 'a lamp at night' } as const;
export const URL_TEXT = 'https://media.example.com/a';

export const imageItem = (role?: string, url: unknown = `${URL_TEXT}.png`) => mediaItem('image_url', role, url);
export const videoItem = (role: string | undefined = 'reference_video', url: unknown = `${URL_TEXT}.mp4`) =>
  mediaItem('video_url', role, url);
export const audioItem = (role: string | undefined = 'reference_audio', url: unknown = `${URL_TEXT}.mp3`) =>
  mediaItem('audio_url', role, url);
const mediaItem = (type: string, role: string | undefined, url: unknown) => ({
  type,
  [type]: { url },
  ...(role !== undefined && { role }),
});

/** An item with the role. */
export function mediaOfRole(role: string) {
  if (role === 'reference_video') return videoItem();
  return role === 'reference_audio' ? audioItem() : imageItem(role);
}

/** A body for the task entry; `undefined` removes a member. */
export const taskBody = (members: Readonly<Record<string, unknown>> = {}) => ({
  model: 'demo-video',
  content: [TEXT],
  ...members,
});
export const withItems = (...content: readonly unknown[]) => taskBody({ content });

export interface ExamineOptions {
  readonly variant?: VideoVariant;
  readonly entry?: TaskEntry;
  readonly capabilities?: SheetChanges;
}

/** Takes JSON values, or text for a body that no serialiser writes. */
export function examine(body: unknown, options: ExamineOptions = {}): Examination {
  const { variant = 'A', entry = 'tasks', capabilities = {} } = options;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return examineTaskBody(bytes, entry, { sheet: sheetOf(variant, capabilities) });
}

export interface Verdict {
  readonly error?: RequestError;
  readonly request?: TaskRequest;
  /** The upstream body, parsed. */
  readonly upstream?: Record<string, unknown> & { content?: readonly unknown[] };
}

export const FILLED: TemplateValues = {
  model: 'upstream-model',
  callbackUrl: undefined,
  safetyIdentifier: undefined,
  assets: new Map(Array.from({ length: 64 }, (_, index) => [index, `up-${index}`])),
};

export function verdictOf(examination: Examination): Verdict {
  if (examination.kind === 'malformed') return { error: examination.error };
  const { result } = examination;
  if (!result) return {};
  if ('error' in result) return { error: result.error };
  return {
    request: result.request,
    upstream: JSON.parse(Buffer.concat(fillTemplate(result.upstream, FILLED)).toString()),
  };
}

/** `ok`, or the code of the error. */
export const codeOf = (body: unknown, options: ExamineOptions = {}): string =>
  verdictOf(examine(body, options)).error?.code ?? 'ok';

export const dataUrl = (mime: string, bytes: Buffer): string => `data:${mime};base64,${bytes.toString('base64')}`;

/** First bytes of each image format. */
export const IMAGE_STARTS: Readonly<Record<string, Buffer>> = {
  jpeg: Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF\0\x01', 'latin1'),
  png: Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  webp: Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1'),
  bmp: Buffer.from('BM\x46\0\0\0\0\0\0\0\x36\0\0\0', 'latin1'),
  tiff: Buffer.from('II*\0\x08\0\0\0', 'latin1'),
  gif: Buffer.from('GIF89a\x01\0\x01\0', 'latin1'),
};

/** Silence in 8 bits and one channel. */
export function wavFile(seconds: number, sampleRate = 8_000): Buffer {
  const data = Buffer.alloc(Math.round(seconds * sampleRate), 0x80);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

/** One frame of MPEG-2 layer III at 16 kHz, mono: 36 ms in 36 or 72 bytes. */
export const MP3_FRAME_SECONDS = 0.036;
export function mp3Frame(kbps: 8 | 16 = 8, text = ''): Buffer {
  const frame = Buffer.alloc(kbps === 8 ? 36 : 72);
  frame.set([0xff, 0xf3, kbps === 8 ? 0x18 : 0x28, 0xc4]);
  frame.write(text, 13, 'latin1');
  return frame;
}
export const mp3File = (seconds: number, kbps: 8 | 16 = 8): Buffer =>
  Buffer.concat(Array.from({ length: Math.round(seconds / MP3_FRAME_SECONDS) }, () => mp3Frame(kbps)));
