/** An MP4 writer for one H.264 track without audio. The index precedes the data, so that a player can start early. */
import { type EncodedVideo, encodeVideo, FRAMES_PER_SECOND } from './h264.ts';

export interface Mp4Options {
  width: number;
  height: number;
  frames: number;
  /** Places that the colour bars have moved in the first frame, 0-7. */
  shift?: number;
}

const TIME_SCALE = 24_000;
const FRAME_TICKS = TIME_SCALE / FRAMES_PER_SECOND;
const FIXED_ONE = 0x10000;
const IDENTITY_MATRIX = u32(FIXED_ONE, 0, 0, 0, FIXED_ONE, 0, 0, 0, 0x40000000);
const UNDETERMINED_LANGUAGE = 0x55c4;

export function writeMp4({ width, height, frames, shift = 0 }: Mp4Options): Buffer {
  const video = encodeVideo(width, height, frames, shift);
  const fileType = box('ftyp', text('isom'), u32(512), text('isomiso2avc1mp41'));
  // The index contains the position of the data, but its length does not depend on that position.
  const dataStart = fileType.length + index(video, width, height, 0).length + 8;
  return Buffer.concat([fileType, index(video, width, height, dataStart), box('mdat', ...video.samples)]);
}

function index(video: EncodedVideo, width: number, height: number, dataStart: number): Buffer {
  const ticks = video.samples.length * FRAME_TICKS;
  const media = box(
    'mdia',
    fullBox('mdhd', 0, u32(0, 0, TIME_SCALE, ticks), u16(UNDETERMINED_LANGUAGE, 0)),
    fullBox('hdlr', 0, u32(0), text('vide'), u32(0, 0, 0), text('VideoHandler\0')),
    box(
      'minf',
      fullBox('vmhd', 1, u16(0, 0, 0, 0)),
      box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))),
      sampleTable(video, width, height, dataStart),
    ),
  );
  return box('moov', movieHeader(ticks), box('trak', trackHeader(ticks, width, height), media));
}

function movieHeader(ticks: number): Buffer {
  const nextTrack = 2;
  return fullBox(
    'mvhd',
    0,
    u32(0, 0, TIME_SCALE, ticks, FIXED_ONE),
    u16(0x100, 0), // volume and reserved
    u32(0, 0),
    IDENTITY_MATRIX,
    u32(0, 0, 0, 0, 0, 0, nextTrack),
  );
}

function trackHeader(ticks: number, width: number, height: number): Buffer {
  const enabledInMovie = 3;
  return fullBox(
    'tkhd',
    enabledInMovie,
    u32(0, 0, 1, 0, ticks, 0, 0),
    u16(0, 0, 0, 0), // layer, group, volume and reserved
    IDENTITY_MATRIX,
    u32(width * FIXED_ONE, height * FIXED_ONE),
  );
}

function sampleTable(video: EncodedVideo, width: number, height: number, dataStart: number): Buffer {
  const count = video.samples.length;
  return box(
    'stbl',
    fullBox('stsd', 0, u32(1), sampleEntry(video, width, height)),
    fullBox('stts', 0, u32(1, count, FRAME_TICKS)),
    fullBox('stss', 0, u32(video.keyFrames.length, ...video.keyFrames.map((frame) => frame + 1))),
    fullBox('stsc', 0, u32(1, 1, count, 1)),
    fullBox('stsz', 0, u32(0, count, ...video.samples.map((sample) => sample.length))),
    fullBox('stco', 0, u32(1, dataStart)),
  );
}

function sampleEntry({ sequence, picture }: EncodedVideo, width: number, height: number): Buffer {
  const dotsPerInch = 72 * FIXED_ONE;
  const profile = sequence.subarray(1, 4);
  const lengthPrefix = 0xff; // reserved bits and a prefix of four bytes
  const oneSequence = 0xe1; // reserved bits and a count of one
  return box(
    'avc1',
    u32(0),
    u16(0, 1), // reserved and data_reference_index
    u32(0, 0, 0, 0),
    u16(width, height),
    u32(dotsPerInch, dotsPerInch, 0),
    u16(1), // frames per sample
    Buffer.alloc(32), // compressor name
    u16(24, 0xffff), // colour depth and no colour table
    box(
      'avcC',
      Buffer.from([1, ...profile, lengthPrefix, oneSequence]),
      u16(sequence.length),
      sequence,
      Buffer.from([1]),
      u16(picture.length),
      picture,
    ),
  );
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 8);
  return Buffer.concat([u32(length), text(type), ...parts]);
}

/** A box with a version (always 0) and flags. */
function fullBox(type: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(flags), ...parts);
}

function text(value: string): Buffer {
  return Buffer.from(value, 'latin1');
}

function u16(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 2);
  for (const [place, value] of values.entries()) buffer.writeUInt16BE(value, place * 2);
  return buffer;
}

function u32(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  for (const [place, value] of values.entries()) buffer.writeUInt32BE(value, place * 4);
  return buffer;
}
