/** Length of a WAV file from its chunks. */
import type { AudioLength } from '../byte-source.ts';
import { type ByteSource, readBytes } from '../byte-source.ts';

const CHUNK_HEADER = 8;
const FIRST_CHUNK = 12;
/** Real files have fewer than ten. Bounds the work on a file of tiny chunks. */
const MAX_CHUNKS = 1_000;

const FORMAT_BYTES = 16;
/** Plain samples, as integers and as floating point numbers. */
const PCM_TAGS: ReadonlySet<number> = new Set([1, 3]);

interface WavFormat {
  readonly isPcm: boolean;
  readonly sampleRate: number;
  readonly bytesPerSecond: number;
}

/** Undefined without a format and samples. */
export function wavLength(source: ByteSource): AudioLength | undefined {
  if (tagAt(source, 0) !== 'RIFF' || tagAt(source, 8) !== 'WAVE') return undefined;
  let format: WavFormat | undefined;
  let sampleCount = 0;
  let at = FIRST_CHUNK;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + CHUNK_HEADER <= source.length; chunk += 1) {
    const start = at + CHUNK_HEADER;
    const size = numberAt(source, at + 4);
    const tag = tagAt(source, at);
    if (tag === 'fmt ') format = formatAt(source, start);
    else if (tag === 'fact') sampleCount = numberAt(source, start);
    else if (tag === 'data') return format && lengthOf(format, sampleCount, dataBytes(size, source.length - start));
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

function formatAt(source: ByteSource, start: number): WavFormat | undefined {
  const bytes = readBytes(source, start, FORMAT_BYTES);
  if (bytes.length < FORMAT_BYTES) return undefined;
  const [sampleRate, bytesPerSecond] = [bytes.readUInt32LE(4), bytes.readUInt32LE(8)];
  if (sampleRate === 0 || bytesPerSecond === 0) return undefined;
  return { isPcm: PCM_TAGS.has(bytes.readUInt16LE(0)), sampleRate, bytesPerSecond };
}

/** 0 behind the end of the file. */
const numberAt = (source: ByteSource, at: number): number => {
  const bytes = readBytes(source, at, 4);
  return bytes.length === 4 ? bytes.readUInt32LE() : 0;
};

const tagAt = (source: ByteSource, at: number): string => readBytes(source, at, 4).toString('latin1');
