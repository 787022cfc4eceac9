/** Playing time of inline audio, by the format of its data URL. */
import { afterId3, type FileBytes, hasText, type Mp3Frame, mp3Frame, uint } from '../../core/index.ts';

/** Seconds between which the playing time of a file lies; equal when the format states it exactly. */
export interface AudioLength {
  readonly min: number;
  readonly max: number;
}

/**
 * Undefined when the bytes are not such a file. Stops at `enough` seconds,
 * so that a long file costs no more than a short one.
 */
export function measureAudio(format: string, file: FileBytes, enough: number): AudioLength | undefined {
  if (format === 'wav') return wavLength(file);
  return format === 'mp3' ? mp3Length(file, enough) : undefined;
}

// ---------------------------------------------------------------- wav

const CHUNK_HEADER = 8;
const FIRST_CHUNK = 12;
/** Real files have fewer than ten. Bounds the work on a file of tiny chunks. */
const MAX_CHUNKS = 1_000;
/** Plain samples, as integers and as floating point numbers. */
const PCM_TAGS: ReadonlySet<number> = new Set([1, 3]);

interface WavFormat {
  readonly isPcm: boolean;
  readonly sampleRate: number;
  readonly bytesPerSecond: number;
}

function wavLength(file: FileBytes): AudioLength | undefined {
  if (!hasText(file, 0, 'RIFF') || !hasText(file, 8, 'WAVE')) return undefined;
  let format: WavFormat | undefined;
  let sampleCount = 0;
  let at = FIRST_CHUNK;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + CHUNK_HEADER <= file.size; chunk += 1) {
    const start = at + CHUNK_HEADER;
    const size = uint(file, at + 4, 4, true);
    if (hasText(file, at, 'fmt ')) format = formatAt(file, start);
    else if (hasText(file, at, 'fact')) sampleCount = uint(file, start, 4, true);
    else if (hasText(file, at, 'data'))
      return format && lengthOf(format, sampleCount, dataBytes(size, file.size - start));
    // Chunks are padded to an even size.
    at = start + size + (size % 2);
  }
  return undefined;
}

/** A program that writes to a pipe does not know the size and states 0 or this number. */
const UNKNOWN_SIZE = 0xffff_ffff;

const dataBytes = (stated: number, available: number): number =>
  stated === 0 || stated === UNKNOWN_SIZE ? available : Math.min(stated, available);

/** The rate of compressed audio is only an average, so its `fact` chunk states the number of samples. */
function lengthOf({ isPcm, sampleRate, bytesPerSecond }: WavFormat, sampleCount: number, bytes: number): AudioLength {
  const seconds =
    !isPcm && sampleCount > 0 && sampleCount < UNKNOWN_SIZE ? sampleCount / sampleRate : bytes / bytesPerSecond;
  return { min: seconds, max: seconds };
}

function formatAt(file: FileBytes, start: number): WavFormat | undefined {
  const [sampleRate, bytesPerSecond] = [uint(file, start + 4, 4, true), uint(file, start + 8, 4, true)];
  if (sampleRate === 0 || bytesPerSecond === 0) return undefined;
  return { isPcm: PCM_TAGS.has(uint(file, start, 2, true)), sampleRate, bytesPerSecond };
}

// ---------------------------------------------------------------- mp3

/** Silence that encoders and decoders add at both ends. */
const PADDING_FRAMES = 3;

/**
 * The sum of the frames; undefined without one. Counting frames is right for constant and variable bit rates,
 * and does not depend on the frame count that a Xing, Info or VBRI header states, which is wrong in cut files.
 */
function mp3Length(file: FileBytes, enough: number): AudioLength | undefined {
  let at = afterId3(file);
  let seconds = 0;
  let padding: number | undefined;
  while (at < file.size) {
    const frame = mp3Frame(file, at);
    // A frame counts when another one or the end follows: two bytes of a picture or a tag can look like a header.
    if (!frame || !isFollowed(file, at + frame.bytes, frame)) {
      at += 1;
      continue;
    }
    if (padding !== undefined || !isHeaderFrame(file, at, frame)) seconds += frame.seconds;
    padding ??= PADDING_FRAMES * frame.seconds;
    if (seconds - padding > enough) break;
    at += frame.bytes;
  }
  return padding === undefined || seconds === 0 ? undefined : { min: Math.max(0, seconds - padding), max: seconds };
}

const isFollowed = (file: FileBytes, next: number, { sampleRate }: Mp3Frame): boolean =>
  next >= file.size || mp3Frame(file, next)?.sampleRate === sampleRate || isTrailer(file, next);

/** ID3v1, APE and Lyrics3 tags follow the last frame. */
const isTrailer = (file: FileBytes, at: number): boolean =>
  ['TAG', 'APETAGEX', 'LYRICSBEGIN'].some((tag) => hasText(file, at, tag));

/** A header with statistics fills the first frame, which has no audio then. VBRI stands at a fixed offset. */
const isHeaderFrame = (file: FileBytes, at: number, { sideEnd }: Mp3Frame): boolean =>
  hasText(file, at + sideEnd, 'Xing') || hasText(file, at + sideEnd, 'Info') || hasText(file, at + 36, 'VBRI');
