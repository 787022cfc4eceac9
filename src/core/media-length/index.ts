/**
 * How long audio and video files last, at most, from a few bytes in
 * bounded time. The bytes decide on the format, not the request.
 */
import type { StepBudget } from '../step-budget.ts';
import { type FileBytes, FileSteps, hasText, uint } from './bytes.ts';
import { aacSeconds, mp3Seconds, oggSeconds, wavSeconds } from './frames.ts';
import { mp4Length, type Stated } from './mp4.ts';
import { webmLength } from './webm.ts';

export { Base64File, type FileBytes, hasText, uint } from './bytes.ts';
export { afterId3, type Mp3Frame, mp3Frame } from './frames.ts';

export type MediaLength =
  | { readonly kind: 'image' }
  | { readonly kind: 'audio' | 'video'; readonly seconds: number | undefined }
  | { readonly kind: 'document' | 'unknown' };

const IMAGE_BRANDS = ['heic', 'heix', 'heif', 'mif1', 'msf1', 'avif', 'hevc'];

/** `body`: the budget of the body that the file is in. */
export function mediaLength(file: FileBytes, body: StepBudget): MediaLength {
  const steps = new FileSteps(body);
  if (isImage(file)) return { kind: 'image' };
  if (hasText(file, 0, 'RIFF') && hasText(file, 8, 'WAVE')) return audio(wavSeconds(file));
  if (hasText(file, 0, 'fLaC')) return audio(flacSeconds(file));
  if (hasText(file, 0, 'OggS')) return audio(oggSeconds(file, steps));
  if (hasText(file, 0, 'ID3')) return audio(mp3Seconds(file, steps));
  if (hasText(file, 4, 'ftyp')) return checked(file, mp4Length(file, steps));
  if (uint(file, 0, 4) === 0x1a45dfa3) return checked(file, webmLength(file, steps));
  if (hasText(file, 0, '%PDF') || hasText(file, 0, 'PK\x03\x04')) return { kind: 'document' };
  const sync = file.at(0) === 0xff ? file.at(1) : 0;
  if ((sync & 0xf6) === 0xf0) return audio(aacSeconds(file, steps));
  return (sync & 0xe6) === 0xe2 ? audio(mp3Seconds(file, steps)) : { kind: 'unknown' };
}

const audio = (seconds: number | undefined): MediaLength => ({ kind: 'audio', seconds });

/**
 * Times may be stated as shorter than they are. Files of more bytes per
 * second than these are reserved as if they were longer.
 */
const MAX_BYTES_PER_SECOND = { audio: 64_000, video: 1_250_000 } as const;
/** The last sample may be stated as shorter than it is, or not at all. */
const LAST_SAMPLE_SECONDS = 1;

function checked(file: FileBytes, length: Stated | undefined): MediaLength {
  if (!length) return { kind: 'video', seconds: undefined };
  const kind = length.hasVideo ? 'video' : 'audio';
  return { kind, seconds: Math.max(length.seconds + LAST_SAMPLE_SECONDS, file.size / MAX_BYTES_PER_SECOND[kind]) };
}

/** What the header states, or the length of the same bytes without compression: they hold no less. */
function flacSeconds(file: FileBytes): number | undefined {
  if ((file.at(4) & 0x7f) !== 0) return undefined;
  const rate = uint(file, 18, 3) >> 4;
  const channels = ((file.at(20) >> 1) & 7) + 1;
  const bits = (((file.at(20) & 1) << 4) | (file.at(21) >> 4)) + 1;
  const samples = (file.at(21) & 15) * 2 ** 32 + uint(file, 22, 4);
  return rate === 0 || samples === 0 ? undefined : Math.max(samples / rate, file.size / ((rate * channels * bits) / 8));
}

const isImage = (file: FileBytes): boolean =>
  hasText(file, 0, '\x89PNG') ||
  hasText(file, 0, '\xff\xd8\xff') ||
  hasText(file, 0, 'GIF8') ||
  (hasText(file, 0, 'RIFF') && hasText(file, 8, 'WEBP')) ||
  hasText(file, 0, 'BM') ||
  hasText(file, 0, 'II*\0') ||
  hasText(file, 0, 'MM\0*') ||
  (hasText(file, 4, 'ftyp') && IMAGE_BRANDS.some((brand) => hasText(file, 8, brand)));
