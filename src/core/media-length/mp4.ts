/**
 * The length of MP4 and its relatives (M4A, MOV, 3GP), whole or in fragments: by the times of all samples, not by what a header claims. The
 * frames of AAC count too, since their times may be stated as shorter than what they hold.
 */
import { type FileBytes, hasText, MAX_STEPS, uint } from './bytes.ts';

export interface Stated {
  readonly seconds: number;
  readonly hasVideo: boolean;
}

interface Box {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** One sound, or one picture in motion, and how much of it was found so far. */
interface Track {
  readonly id: number;
  readonly isVideo: boolean;
  readonly ticksPerSecond: number;
  /** Seconds of an AAC frame; 0 for other codecs. */
  readonly frameSeconds: number;
  ticks: number;
  frames: number;
}

/** A recorder writes a fragment every second or so. */
const MAX_BOXES = 20_000;
/** A fragment with more samples than this has no known length. */
class Unreadable extends Error {}

/** Undefined for files that are damaged or too long to be read. */
export function mp4Length(file: FileBytes): Stated | undefined {
  try {
    const top = boxesIn(file, 0, file.size);
    const movie = top.find(({ type }) => type === 'moov');
    const parts = movie ? boxesIn(file, movie.start, movie.end) : [];
    const tracks = parts.filter(({ type }) => type === 'trak').map((track) => readTrack(file, track));
    if (tracks.length === 0) return undefined;
    addFragments(file, top, parts, tracks);
    const lengths = tracks.map((track) =>
      Math.max(track.ticks / track.ticksPerSecond, track.frames * track.frameSeconds),
    );
    return { seconds: Math.max(...lengths), hasVideo: tracks.some(({ isVideo }) => isVideo) };
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

function boxesIn(file: FileBytes, from: number, to: number): Box[] {
  const boxes: Box[] = [];
  for (let at = from; at + 8 <= to; ) {
    const size = uint(file, at, 4);
    const header = size === 1 ? 16 : 8;
    const end = size === 0 ? to : at + (size === 1 ? uint(file, at + 10, 6) : size);
    if (end < at + header || end > to || boxes.length >= MAX_BOXES) throw new Unreadable();
    boxes.push({ type: nameAt(file, at + 4), start: at + header, end });
    at = end;
  }
  return boxes;
}

const nameAt = (file: FileBytes, at: number): string =>
  String.fromCharCode(file.at(at), file.at(at + 1), file.at(at + 2), file.at(at + 3));

function inside(file: FileBytes, box: Box, ...path: string[]): Box {
  return path.reduce((outer, name) => {
    const found = boxesIn(file, outer.start, outer.end).find(({ type }) => type === name);
    if (!found) throw new Unreadable();
    return found;
  }, box);
}

function readTrack(file: FileBytes, track: Box): Track {
  const header = inside(file, track, 'tkhd').start;
  const media = inside(file, track, 'mdia');
  const mediaHeader = inside(file, media, 'mdhd').start;
  const kind = nameAt(file, inside(file, media, 'hdlr').start + 8);
  const table = inside(file, media, 'minf', 'stbl');
  const entry = inside(file, table, 'stsd').start + 8;
  const times = inside(file, table, 'stts');
  const rate = uint(file, entry + 32, 2);
  const ticksPerSecond = uint(file, mediaHeader + (file.at(mediaHeader) === 1 ? 20 : 12), 4);
  if (ticksPerSecond === 0) throw new Unreadable();
  return {
    id: uint(file, header + (file.at(header) === 1 ? 20 : 12), 4),
    isVideo: kind === 'vide',
    ticksPerSecond,
    frameSeconds: hasText(file, entry + 4, 'mp4a') && rate > 0 ? 1024 / rate : 0,
    ...sumOf(file, times),
  };
}

/** Runs of samples of the same length. */
function sumOf(file: FileBytes, { start, end }: Box): { ticks: number; frames: number } {
  const runs = uint(file, start + 4, 4);
  if (runs > MAX_STEPS || start + 8 + runs * 8 > end) throw new Unreadable();
  let [ticks, frames] = [0, 0];
  for (let at = start + 8; at < start + 8 + runs * 8; at += 8) {
    const count = uint(file, at, 4);
    frames += count;
    ticks += count * uint(file, at + 4, 4);
  }
  return { ticks, frames };
}

const TRACK_FLAGS = { dataOffset: 0x1, description: 0x2, duration: 0x8 } as const;
const RUN_FLAGS = { dataOffset: 0x1, firstFlags: 0x4, duration: 0x100, others: [0x200, 0x400, 0x800] } as const;

function addFragments(file: FileBytes, top: readonly Box[], movie: readonly Box[], tracks: readonly Track[]): void {
  const defaults = new Map(
    movie
      .filter(({ type }) => type === 'mvex')
      .flatMap(({ start, end }) => boxesIn(file, start, end).filter(({ type }) => type === 'trex'))
      .map(({ start }) => [uint(file, start + 4, 4), uint(file, start + 12, 4)]),
  );
  let steps = 0;
  for (const fragment of top.filter(({ type }) => type === 'moof'))
    for (const part of boxesIn(file, fragment.start, fragment.end).filter(({ type }) => type === 'traf')) {
      const header = inside(file, part, 'tfhd').start;
      const id = uint(file, header + 4, 4);
      const track = tracks.find((one) => one.id === id);
      if (!track) throw new Unreadable();
      const ticks = defaultTicks(file, header) ?? defaults.get(id) ?? 0;
      for (const run of boxesIn(file, part.start, part.end).filter(({ type }) => type === 'trun')) {
        steps += uint(file, run.start + 4, 4);
        if (steps > MAX_STEPS) throw new Unreadable();
        addRun(file, run, ticks, track);
      }
    }
}

function defaultTicks(file: FileBytes, header: number): number | undefined {
  const flags = uint(file, header + 1, 3);
  const at = header + 8 + (flags & TRACK_FLAGS.dataOffset ? 8 : 0) + (flags & TRACK_FLAGS.description ? 4 : 0);
  return flags & TRACK_FLAGS.duration ? uint(file, at, 4) : undefined;
}

function addRun(file: FileBytes, { start, end }: Box, ticks: number, track: Track): void {
  const flags = uint(file, start + 1, 3);
  const count = uint(file, start + 4, 4);
  track.frames += count;
  if (!(flags & RUN_FLAGS.duration)) {
    track.ticks += count * ticks;
    return;
  }
  const size = 4 + 4 * RUN_FLAGS.others.filter((flag) => flags & flag).length;
  const first = start + 8 + (flags & RUN_FLAGS.dataOffset ? 4 : 0) + (flags & RUN_FLAGS.firstFlags ? 4 : 0);
  if (first + count * size > end) throw new Unreadable();
  for (let at = first; at < first + count * size; at += size) track.ticks += uint(file, at, 4);
}
