/** Checks of the content items of a create request. */
import { isObject, type JsonObject, textOf } from '../json.ts';
import { invalid, missing, VideoFailure } from './errors.ts';
import type { Family } from './families.ts';

export type MediaType = 'image' | 'video' | 'audio';

/** One media item, with its index in `content`. */
export interface MediaItem {
  index: number;
  type: MediaType;
  role: string;
  url: string;
}

export interface Content {
  prompt: string;
  media: MediaItem[];
}

/** Judges `asset://` references; returns the reason of a rejection. */
export type AssetCheck = (assetId: string, type: MediaType) => string | undefined;

const ROLES: Readonly<Record<MediaType, readonly string[]>> = {
  image: ['first_frame', 'last_frame', 'reference_image'],
  video: ['reference_video'],
  audio: ['reference_audio'],
};
const IMAGE_DATA = /^data:image\/(?:jpeg|png|webp|bmp|tiff|gif|heic|heif);base64,/;
const AUDIO_DATA = /^data:audio\/(?:wav|mp3|mpeg);base64,/;
const LARGEST_DATA: Readonly<Record<MediaType, number>> = { image: 30 << 20, video: 0, audio: 15 << 20 };

export function readContent(value: unknown, family: Family, checkAsset: AssetCheck): Content {
  if (value === undefined) throw missing('content');
  if (!Array.isArray(value) || value.length === 0) throw invalid('content', 'it must be an array with items');
  const texts: string[] = [];
  const media: MediaItem[] = [];
  for (const [index, item] of value.entries()) {
    if (!isObject(item)) throw invalid(`content[${index}]`, 'it must be an object');
    if (item.type === 'text') texts.push(readText(item, index));
    else media.push(readMedia(item, index, checkAsset));
  }
  checkModes(media, family);
  return { prompt: texts.join('\n'), media };
}

function readText(item: JsonObject, index: number): string {
  checkMembers(item, index, ['type', 'text']);
  if (typeof item.text !== 'string' || item.text === '') throw missing(`content[${index}].text`);
  return item.text;
}

function readMedia(item: JsonObject, index: number, checkAsset: AssetCheck): MediaItem {
  const name = textOf(item.type);
  const type = /^(image|video|audio)_url$/.exec(name)?.[1] as MediaType | undefined;
  if (!type) throw invalid(`content[${index}].type`, `"${name}" is not a known type`);
  checkMembers(item, index, ['type', name, 'role']);
  const payload = item[name];
  if (!isObject(payload) || typeof payload.url !== 'string') throw missing(`content[${index}].${name}.url`);
  const role = item.role === undefined ? '' : String(item.role);
  const isAllowed = role === '' ? type === 'image' : ROLES[type].includes(role);
  if (!isAllowed) throw invalid(`content[${index}].role`, `"${role}" does not fit a ${name}`);
  checkUrl(payload.url, type, index, checkAsset);
  return { index, type, role, url: payload.url };
}

function checkMembers(item: JsonObject, index: number, known: readonly string[]): void {
  const unknown = Object.keys(item).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`content[${index}].${unknown}`, 'the parameter is unknown');
}

function checkUrl(url: string, type: MediaType, index: number, checkAsset: AssetCheck): void {
  const param = `content[${index}].${type}_url.url`;
  const code = type === 'image' ? 'InvalidImageURL.InvalidFormat' : 'InvalidParameter';
  if (url === '') throw new VideoFailure('InvalidImageURL.EmptyURL', `The URL of \`${param}\` is empty.`, { param });
  if (url.startsWith('asset://')) {
    const reason = checkAsset(url.slice('asset://'.length), type);
    if (reason !== undefined) throw invalid(param, reason);
    return;
  }
  if (/^https?:\/\/[^/]/.test(url)) return;
  const pattern = { image: IMAGE_DATA, audio: AUDIO_DATA, video: undefined }[type];
  const head = pattern?.exec(url)?.[0];
  if (head === undefined) throw invalid(param, 'it must be a public URL, an asset or a lower-case data URL', code);
  const isTooLarge = ((url.length - head.length) * 3) / 4 > LARGEST_DATA[type];
  if (isTooLarge) throw invalid(param, `it must be smaller than ${LARGEST_DATA[type] >> 20} MB`);
}

/** First frame, first and last frame, and references exclude each other. */
function checkModes(media: readonly MediaItem[], { references }: Family): void {
  const images = media.filter(({ type }) => type === 'image');
  const count = (role: string) => media.filter((item) => item.role === role).length;
  const unnamed = count('');
  if (unnamed > 0 && images.length > 1) throw invalid('content', 'several images need roles', constraint);
  const first = count('first_frame') + unnamed;
  const last = count('last_frame');
  const used = media.length - first - last;
  if (first > 1 || last > 1) throw invalid('content', 'a frame is given twice', constraint);
  if (last > first) throw invalid('content', 'a last frame needs a first frame', constraint);
  if (first > 0 && used > 0) throw invalid('content', 'frames and references cannot be mixed', constraint);
  const limits = { image: references.images, video: references.videos, audio: references.audios };
  for (const type of ['image', 'video', 'audio'] as const) {
    if (count(`reference_${type}`) > limits[type]) throw invalid('content', `more than ${limits[type]} ${type}s`);
  }
  const isAudioAlone = used > 0 && used === count('reference_audio');
  if (isAudioAlone && !references.audioAlone) throw invalid('content', 'audio needs an image or a video', constraint);
}

const constraint = 'InvalidParameter.TaskTypeConstraint';
