/**
 * An encoder for the smallest useful subset of H.264 baseline: one key frame per second, and frames that repeat it.
 * A key frame paints its first row of macroblocks and predicts all other rows from it, so files are small.
 */
import { BitWriter } from './bits.ts';
import { BAR_COUNT, type Color, colorAt } from './picture.ts';

export const FRAMES_PER_SECOND = 24;

const MACROBLOCK = 16;
const FRAME_NUMBER_BITS = 8;
const NAL = { slice: 0x21, keySlice: 0x65, sequence: 0x67, picture: 0x68 } as const;
const SLICE_TYPE = { predicted: 5, intra: 7 } as const;
const MB_TYPE = { vertical: 1, horizontal: 2, pcm: 25 } as const;
const CHROMA_PREDICTION = { horizontal: 1, vertical: 2 } as const;
const PCM_COEFFICIENTS = 16;

/** 5.1: enough for 4k at this rate. */
const LEVEL = 51;

export interface EncodedVideo {
  sequence: Buffer;
  picture: Buffer;
  /** One access unit per frame, each with a length prefix of four bytes. */
  samples: Buffer[];
  /** Indexes of the samples at which a player can start. */
  keyFrames: number[];
}

/** Width and height must be even: chroma has half the resolution. */
export function encodeVideo(width: number, height: number, frames: number, shift: number): EncodedVideo {
  const keySamples = new Map<number, Buffer>();
  const samples: Buffer[] = [];
  const keyFrames: number[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const sinceKey = frame % FRAMES_PER_SECOND;
    if (sinceKey > 0) {
      samples.push(prefixed(repeatedFrame(width, height, sinceKey)));
      continue;
    }
    const places = (shift + frame / FRAMES_PER_SECOND) % BAR_COUNT;
    const sample = keySamples.get(places) ?? prefixed(keyFrame(width, height, places));
    keySamples.set(places, sample);
    keyFrames.push(frame);
    samples.push(sample);
  }
  return { sequence: sequenceParameters(width, height), picture: pictureParameters(), samples, keyFrames };
}

function sequenceParameters(width: number, height: number): Buffer {
  const columns = macroblocks(width);
  const rows = macroblocks(height);
  const out = new BitWriter();
  out.bits(66, 8); // baseline profile
  out.bits(0xc0, 8); // constraint flags 0 and 1: constrained baseline
  out.bits(LEVEL, 8);
  out.unsigned(0); // seq_parameter_set_id
  out.unsigned(FRAME_NUMBER_BITS - 4);
  out.unsigned(2); // pic_order_cnt_type: frames are shown in decoding order
  out.unsigned(1); // max_num_ref_frames
  out.flag(false); // gaps_in_frame_num_value_allowed_flag
  out.unsigned(columns - 1);
  out.unsigned(rows - 1);
  out.flag(true); // frame_mbs_only_flag
  out.flag(true); // direct_8x8_inference_flag
  writeCropping(out, columns * MACROBLOCK - width, rows * MACROBLOCK - height);
  out.flag(false); // vui_parameters_present_flag
  return nal(NAL.sequence, out);
}

/** Cropping is counted in units of two pixels, because chroma is subsampled. */
function writeCropping(out: BitWriter, right: number, bottom: number): void {
  out.flag(right > 0 || bottom > 0);
  if (right === 0 && bottom === 0) return;
  for (const edge of [0, right, 0, bottom]) out.unsigned(edge / 2);
}

function pictureParameters(): Buffer {
  const out = new BitWriter();
  out.unsigned(0); // pic_parameter_set_id
  out.unsigned(0); // seq_parameter_set_id
  out.flag(false); // entropy_coding_mode_flag: CAVLC
  out.flag(false); // bottom_field_pic_order_in_frame_present_flag
  out.unsigned(0); // num_slice_groups_minus1
  out.unsigned(0); // num_ref_idx_l0_default_active_minus1
  out.unsigned(0); // num_ref_idx_l1_default_active_minus1
  out.flag(false); // weighted_pred_flag
  out.bits(0, 2); // weighted_bipred_idc
  for (let offset = 0; offset < 3; offset++) out.unsigned(0); // initial QP, QS and chroma QP offset
  out.flag(true); // deblocking_filter_control_present_flag: slices switch the filter off
  out.flag(false); // constrained_intra_pred_flag
  out.flag(false); // redundant_pic_cnt_present_flag
  return nal(NAL.picture, out);
}

function keyFrame(width: number, height: number, shift: number): Buffer {
  const columns = macroblocks(width);
  const rows = macroblocks(height);
  const out = new BitWriter();
  writeSliceStart(out, SLICE_TYPE.intra, 0);
  out.unsigned(shift % 2); // idr_pic_id differs between neighbours, because BAR_COUNT is even
  out.flag(false); // no_output_of_prior_pics_flag
  out.flag(false); // long_term_reference_flag
  writeSliceEnd(out);
  const colors = Array.from({ length: columns }, (_, column) => colorAt(column * MACROBLOCK, width, shift));
  const isPainted = (column: number, row: number) => row === 0 && colors[column] !== colors[column - 1];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const color = colors[column];
      if (color && isPainted(column, row)) writePainted(out, color);
      else writeCopied(out, row === 0 ? 'horizontal' : 'vertical', neighbourCoefficients(column, row, isPainted));
    }
  }
  return nal(NAL.keySlice, out);
}

/** A frame equal to the previous one: every macroblock is skipped. */
function repeatedFrame(width: number, height: number, frameNumber: number): Buffer {
  const out = new BitWriter();
  writeSliceStart(out, SLICE_TYPE.predicted, frameNumber);
  out.flag(false); // num_ref_idx_active_override_flag
  out.flag(false); // ref_pic_list_modification_flag_l0
  out.flag(false); // adaptive_ref_pic_marking_mode_flag
  writeSliceEnd(out);
  out.unsigned(macroblocks(width) * macroblocks(height)); // mb_skip_run
  return nal(NAL.slice, out);
}

function writeSliceStart(out: BitWriter, type: number, frameNumber: number): void {
  out.unsigned(0); // first_mb_in_slice
  out.unsigned(type);
  out.unsigned(0); // pic_parameter_set_id
  out.bits(frameNumber, FRAME_NUMBER_BITS);
}

function writeSliceEnd(out: BitWriter): void {
  out.unsigned(0); // slice_qp_delta
  out.unsigned(1); // disable_deblocking_filter_idc: the filter would blur the bars
}

/** A macroblock with raw samples, which are exact whatever the quantiser is. */
function writePainted(out: BitWriter, { video: [luma, blueDifference, redDifference] }: Color): void {
  out.unsigned(MB_TYPE.pcm);
  out.align();
  out.append(Buffer.alloc(256, luma));
  out.append(Buffer.alloc(64, blueDifference));
  out.append(Buffer.alloc(64, redDifference));
}

/** A macroblock predicted from its neighbour, without a residual. */
function writeCopied(out: BitWriter, from: 'horizontal' | 'vertical', nearby: number): void {
  out.unsigned(MB_TYPE[from]);
  out.unsigned(CHROMA_PREDICTION[from]);
  out.unsigned(0); // mb_qp_delta
  // coeff_token for "no coefficient"; its code depends on how many the neighbours have (table 9-5).
  if (nearby >= 8) out.bits(0b000011, 6);
  else out.bits(1, 1);
}

/** The mean coefficient count of the left and upper neighbours; a painted macroblock counts as full. */
function neighbourCoefficients(
  column: number,
  row: number,
  isPainted: (column: number, row: number) => boolean,
): number {
  const counts = [];
  if (column > 0) counts.push(isPainted(column - 1, row) ? PCM_COEFFICIENTS : 0);
  if (row > 0) counts.push(isPainted(column, row - 1) ? PCM_COEFFICIENTS : 0);
  const [first = 0, second] = counts;
  return second === undefined ? first : (first + second + 1) >> 1;
}

/** Ends the payload and escapes byte sequences that would look like a start code. */
function nal(type: number, out: BitWriter): Buffer {
  out.bits(1, 1); // rbsp_stop_one_bit
  out.align();
  const escaped = [type];
  let zeros = 0;
  for (const byte of out.bytes) {
    if (zeros >= 2 && byte <= 3) {
      escaped.push(3);
      zeros = 0;
    }
    escaped.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(escaped);
}

function prefixed(unit: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(unit.length);
  return Buffer.concat([length, unit]);
}

function macroblocks(pixels: number): number {
  if (pixels % 2 !== 0) throw new RangeError(`${pixels} is not an even number of pixels`);
  return Math.ceil(pixels / MACROBLOCK);
}
