/**
 * Length of an MP3 file: the sum of its frames. Counting frames is right for constant and variable bit rates, and does not depend on
 * the frame count that a Xing, Info or VBRI header states, which is wrong in cut files.
 */
import type { AudioLength } from '../byte-source.ts';
import { type ByteSource, readBytes } from '../byte-source.ts';

/** Kilobits per second of layer III, by index; 0 for the free format, which has no frame length, and for the invalid index 15. */
const MPEG1_KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
const MPEG2_KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
/** Hertz of MPEG-1; MPEG-2 has half and MPEG-2.5 a quarter. */
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** Silence that encoders and decoders add at both ends. */
const PADDING_FRAMES = 3;

interface Frame {
  readonly bytes: number;
  readonly seconds: number;
  readonly sampleRate: number;
  /** Offset of a Xing or Info header: behind the side information. */
  readonly headerOffset: number;
}

/** Undefined when the file has no frame. */
export function mp3Length(source: ByteSource, enough: number): AudioLength | undefined {
  let at = afterId3(source);
  let seconds = 0;
  let padding: number | undefined;
  while (at < source.length) {
    const frame = frameAt(source, at);
    // A frame counts when another one or the end follows: two bytes of a picture or a tag can look like a header.
    if (!frame || !isFollowed(source, at + frame.bytes, frame)) {
      at += 1;
      continue;
    }
    if (padding !== undefined || !isHeaderFrame(source, at, frame)) seconds += frame.seconds;
    padding ??= PADDING_FRAMES * frame.seconds;
    if (seconds - padding > enough) break;
    at += frame.bytes;
  }
  return padding === undefined || seconds === 0 ? undefined : { min: Math.max(0, seconds - padding), max: seconds };
}

/** Offset behind the ID3v2 tags at the start. Their size has seven bits in each byte. */
function afterId3(source: ByteSource): number {
  let at = 0;
  for (;;) {
    const head = readBytes(source, at, 10);
    if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return at;
    const size = head.subarray(6).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
    const hasFooter = ((head[5] ?? 0) & 0x10) !== 0;
    at += 10 + size + (hasFooter ? 10 : 0);
  }
}

/** Reads a frame header of layer III: 11 sync bits, version, layer, bit rate, sample rate, padding and channel mode. */
function frameAt(source: ByteSource, at: number): Frame | undefined {
  if (source.at(at) !== 0xff) return undefined;
  const [second = 0, third = 0, fourth = 0] = [source.at(at + 1), source.at(at + 2), source.at(at + 3)];
  const version = (second >> 3) & 3;
  const isLayer3 = (second & 0xe0) === 0xe0 && (second & 0x06) === 0x02;
  const isMpeg1 = version === 3;
  const kbps = (isMpeg1 ? MPEG1_KBPS : MPEG2_KBPS)[third >> 4] ?? 0;
  const baseRate = SAMPLE_RATES[(third >> 2) & 3];
  if (!isLayer3 || version === 1 || kbps === 0 || baseRate === undefined) return undefined;
  const sampleRate = isMpeg1 ? baseRate : version === 2 ? baseRate / 2 : baseRate / 4;
  const samples = isMpeg1 ? 1_152 : 576;
  const isMono = fourth >> 6 === 3;
  const sideInfo = isMpeg1 ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  return {
    bytes: Math.floor((samples / 8) * ((kbps * 1_000) / sampleRate)) + ((third >> 1) & 1),
    seconds: samples / sampleRate,
    sampleRate,
    headerOffset: 4 + sideInfo,
  };
}

const isFollowed = (source: ByteSource, next: number, { sampleRate }: Frame): boolean =>
  next >= source.length || frameAt(source, next)?.sampleRate === sampleRate || isTrailer(source, next);

/** ID3v1, APE and Lyrics3 tags follow the last frame. */
const isTrailer = (source: ByteSource, at: number): boolean =>
  /^(?:TAG|APETAGEX|LYRICSBEGIN)/.test(readBytes(source, at, 11).toString('latin1'));

/** A header with statistics fills the first frame, which has no audio then. VBRI stands at a fixed offset. */
const isHeaderFrame = (source: ByteSource, at: number, { headerOffset }: Frame): boolean => {
  const tag = readBytes(source, at + headerOffset, 4).toString('latin1');
  return tag === 'Xing' || tag === 'Info' || readBytes(source, at + 36, 4).toString('latin1') === 'VBRI';
};
