/**
 * Lengths of WAV, MP3, AAC and Ogg, whose parts say how long they last:
 * their sum is what a decoder gets, whatever a header claims.
 */
import { type FileBytes, type FileSteps, hasText, uint } from './bytes.ts';

const PCM_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7]);
const EXTENSIBLE = 0xfffe;
const MAX_CHUNKS = 64;

/** By the size of the file, not of its data chunk: some decoders read on to the end. */
export function wavSeconds(file: FileBytes): number | undefined {
  let slowest = Number.POSITIVE_INFINITY;
  let at = 12;
  for (let n = 0; n < MAX_CHUNKS && at + 8 <= file.size && !hasText(file, at, 'data'); n += 1) {
    if (hasText(file, at, 'fmt ')) slowest = Math.min(slowest, pcmRate(file, at + 8));
    const size = uint(file, at + 4, 4, true);
    at += 8 + size + (size % 2);
  }
  const isKnown = hasText(file, at, 'data') && slowest > 0 && slowest < Number.POSITIVE_INFINITY;
  return isKnown ? file.size / slowest : undefined;
}

/** Bytes per second of uncompressed audio; 0 for anything else. */
function pcmRate(file: FileBytes, at: number): number {
  const given = uint(file, at, 2, true);
  const format = given === EXTENSIBLE ? uint(file, at + 24, 2, true) : given;
  const [channels, rate] = [uint(file, at + 2, 2, true), uint(file, at + 4, 4, true)];
  const frame = channels * Math.ceil(uint(file, at + 14, 2, true) / 8);
  const block = uint(file, at + 12, 2, true);
  return PCM_FORMATS.has(format) ? Math.min(frame, block) * rate : 0;
}

/** Bits per second / 1000 by index: MPEG 1, and MPEG 2 and 2.5, all layer III. */
const MP3_RATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const MP3_SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** The lowest rate of the format, for what is not a row of frames: decoders search for the next one. */
const MIN_MP3_BYTES_PER_SECOND = 1_000;

export function mp3Seconds(file: FileBytes, steps: FileSteps): number | undefined {
  let at = afterId3(file, () => steps.take());
  if (at >= file.size) return undefined;
  let seconds = 0;
  while (at + 4 <= file.size && steps.take()) {
    const frame = mp3Frame(file, at);
    if (!frame) break;
    seconds += frame.seconds;
    at += frame.bytes;
  }
  return seconds + Math.max(0, file.size - at) / MIN_MP3_BYTES_PER_SECOND;
}

/** Offset behind the ID3v2 tags at the start; of those before the first that `mayRead` refuses. */
export function afterId3(file: FileBytes, mayRead: () => boolean = () => true): number {
  let at = 0;
  while (hasText(file, at, 'ID3') && mayRead()) at += 10 + syncSafe(file, at + 6) + (file.at(at + 5) & 0x10 ? 10 : 0);
  return at;
}

/** Four times seven bits. */
const syncSafe = (file: FileBytes, at: number): number =>
  [0, 1, 2, 3].reduce((size, n) => size * 128 + (file.at(at + n) & 0x7f), 0);

export interface Mp3Frame {
  readonly bytes: number;
  readonly seconds: number;
  readonly sampleRate: number;
  /** Offset behind the side information, where the first frame may have a header with statistics. */
  readonly sideEnd: number;
}

/** Of the sample rate, by the version bits: 2.5, none, 2 and 1. */
const RATE_DIVISORS = [4, 4, 2, 1];

/** Reads a frame header of layer III: 11 sync bits, version, layer, bit rate, sample rate, padding and channel mode. */
export function mp3Frame(file: FileBytes, at: number): Mp3Frame | undefined {
  if (file.at(at) !== 0xff) return undefined;
  const [kind, rates] = [file.at(at + 1), file.at(at + 2)];
  if ((kind & 0xe6) !== 0xe2) return undefined;
  const version = (kind >> 3) & 3;
  const isFirst = version === 3;
  const bitRate = (MP3_RATES[isFirst ? 0 : 1][rates >> 4] ?? 0) * 1000;
  const sampleRate = (MP3_SAMPLE_RATES[(rates >> 2) & 3] ?? 0) / (RATE_DIVISORS[version] ?? 1);
  if (version === 1 || bitRate === 0 || sampleRate === 0) return undefined;
  const samples = isFirst ? 1152 : 576;
  const bytes = Math.floor((samples / 8) * (bitRate / sampleRate)) + ((rates >> 1) & 1);
  const isMono = file.at(at + 3) >> 6 === 3;
  const [mono, stereo] = isFirst ? [17, 32] : [9, 17];
  const sideInfo = isMono ? mono : stereo;
  return { bytes, seconds: samples / sampleRate, sampleRate, sideEnd: 4 + sideInfo };
}

const AAC_SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;

/** AAC as a row of frames with headers (ADTS). */
export function aacSeconds(file: FileBytes, steps: FileSteps): number | undefined {
  let seconds = 0;
  let at = 0;
  while (at + 7 <= file.size && steps.take()) {
    const rate = AAC_SAMPLE_RATES[(file.at(at + 2) >> 2) & 15];
    const bytes = ((file.at(at + 3) & 3) << 11) | (file.at(at + 4) << 3) | (file.at(at + 5) >> 5);
    if (file.at(at) !== 0xff || (file.at(at + 1) & 0xf6) !== 0xf0 || rate === undefined || bytes < 7) return undefined;
    seconds += (1024 * ((file.at(at + 6) & 3) + 1)) / rate;
    at += bytes;
  }
  return at + 7 > file.size ? seconds : undefined;
}

/** Seconds of a packet that begins at an offset; undefined for codecs that are not known. */
type PacketLength = ((at: number) => number) | undefined;

/** Streams one after another count together, and so do those side by side. */
export function oggSeconds(file: FileBytes, steps: FileSteps): number | undefined {
  const lengths = new Map<number, PacketLength>();
  let seconds = 0;
  let at = 0;
  while (at + 27 <= file.size) {
    if (!hasText(file, at, 'OggS')) return undefined;
    const [flags, serial, segments] = [file.at(at + 5), uint(file, at + 14, 4, true), file.at(at + 26)];
    let packet = at + 27 + segments;
    if (flags & 2) lengths.set(serial, packetLength(file, packet));
    const lengthOf = lengths.get(serial);
    if (!lengthOf || !steps.take(segments + 1)) return undefined;
    let isStart = (flags & 1) === 0;
    for (let n = 0; n < segments; n += 1) {
      const lacing = file.at(at + 27 + n);
      if (isStart) seconds += lengthOf(packet);
      isStart = lacing < 255;
      packet += lacing;
    }
    at = packet;
  }
  return seconds;
}

function packetLength(file: FileBytes, at: number): PacketLength {
  if (hasText(file, at, 'OpusHead')) return (packet) => opusSeconds(file, packet);
  if (!hasText(file, at, '\x01vorbis')) return undefined;
  const rate = uint(file, at + 12, 4, true);
  const longest = 2 ** (file.at(at + 28) >> 4);
  return rate > 0 ? () => longest / rate : undefined;
}

/** A packet holds up to 120 ms, in frames of one length. */
function opusSeconds(file: FileBytes, at: number): number {
  const kind = file.at(at);
  const config = kind >> 3;
  const code = kind & 3;
  const frames = OPUS_FRAMES[code] ?? file.at(at + 1) & 63;
  return Math.min(opusFrameMs(config) * frames, 120) / 1000;
}

/** By the code of a packet; the last code states the number in the next byte. */
const OPUS_FRAMES = [1, 2, 2];

/** By the configurations of SILK, of the hybrid mode and of CELT. */
function opusFrameMs(config: number): number {
  if (config < 12) return [10, 20, 40, 60][config % 4] ?? 60;
  if (config < 16) return [10, 20][config % 2] ?? 20;
  return [2.5, 5, 10, 20][config % 4] ?? 20;
}
