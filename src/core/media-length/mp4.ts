/**
 * The length of MP4 and its relatives, whole or in fragments: by the
 * times of all samples, and the frames of AAC, not by a header.
 */
import { type FileBytes, type FileSteps, hasText, uint } from './bytes.ts';

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
  readonly isVideo: boolean;
  readonly ticksPerSecond: number;
  /** Seconds of an AAC frame; 0 for other codecs. */
  readonly frameSeconds: number;
  ticks: number;
  frames: number;
}

class Unreadable extends Error {}

/** Undefined for files that are damaged or too long to be read. */
export function mp4Length(file: FileBytes, steps: FileSteps): Stated | undefined {
  try {
    return new Movie(file, steps).length();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

const TRACK_FLAGS = { dataOffset: 0x1, description: 0x2, duration: 0x8 } as const;
const RUN_FLAGS = { dataOffset: 0x1, firstFlags: 0x4, duration: 0x100, others: [0x200, 0x400, 0x800] } as const;

class Movie {
  readonly #file: FileBytes;
  readonly #steps: FileSteps;
  readonly #tracks = new Map<number, Track>();

  constructor(file: FileBytes, steps: FileSteps) {
    this.#file = file;
    this.#steps = steps;
  }

  length(): Stated | undefined {
    const top = this.#boxesIn({ start: 0, end: this.#file.size });
    const movie = top.find(({ type }) => type === 'moov');
    const parts = movie ? this.#boxesIn(movie) : [];
    for (const part of parts) {
      if (part.type === 'trak') this.#addTrack(part);
    }
    if (this.#tracks.size === 0) return undefined;
    this.#addFragments(top, parts);
    let [seconds, hasVideo] = [0, false];
    for (const { ticks, ticksPerSecond, frames, frameSeconds, isVideo } of this.#tracks.values()) {
      seconds = Math.max(seconds, ticks / ticksPerSecond, frames * frameSeconds);
      hasVideo ||= isVideo;
    }
    return { seconds, hasVideo };
  }

  #boxesIn({ start, end: last }: Pick<Box, 'start' | 'end'>): Box[] {
    const boxes: Box[] = [];
    for (let at = start; at + 8 <= last; ) {
      this.#take();
      const size = this.#uint(at, 4);
      const header = size === 1 ? 16 : 8;
      const end = size === 0 ? last : at + (size === 1 ? this.#uint(at + 10, 6) : size);
      if (end < at + header || end > last) throw new Unreadable();
      boxes.push({ type: this.#nameAt(at + 4), start: at + header, end });
      at = end;
    }
    return boxes;
  }

  #take(steps = 1): void {
    if (!this.#steps.take(steps)) throw new Unreadable();
  }

  #uint(at: number, bytes: number): number {
    return uint(this.#file, at, bytes);
  }

  #nameAt(at: number): string {
    const file = this.#file;
    return String.fromCharCode(file.at(at), file.at(at + 1), file.at(at + 2), file.at(at + 3));
  }

  /** The boxes of these names inside a box; each is the first of its name. */
  #inside<N extends string>(box: Box, ...names: N[]): Record<N, Box> {
    const boxes = this.#boxesIn(box);
    const found = names.map((name) => [name, boxes.find(({ type }) => type === name)] as const);
    if (found.some(([, one]) => !one)) throw new Unreadable();
    return Object.fromEntries(found) as Record<N, Box>;
  }

  #addTrack(box: Box): void {
    const file = this.#file;
    const { tkhd: header, mdia: media } = this.#inside(box, 'tkhd', 'mdia');
    const { mdhd: mediaHeader, hdlr, minf } = this.#inside(media, 'mdhd', 'hdlr', 'minf');
    const { stsd, stts } = this.#inside(this.#inside(minf, 'stbl').stbl, 'stsd', 'stts');
    const entry = stsd.start + 8;
    const rate = this.#uint(entry + 32, 2);
    const ticksPerSecond = this.#uint(mediaHeader.start + (file.at(mediaHeader.start) === 1 ? 20 : 12), 4);
    const id = this.#uint(header.start + (file.at(header.start) === 1 ? 20 : 12), 4);
    if (ticksPerSecond === 0) throw new Unreadable();
    // Fragments belong to the first track of an id.
    this.#tracks.set(this.#tracks.has(id) ? -this.#tracks.size : id, {
      isVideo: this.#nameAt(hdlr.start + 8) === 'vide',
      ticksPerSecond,
      frameSeconds: hasText(file, entry + 4, 'mp4a') && rate > 0 ? 1024 / rate : 0,
      ...this.#sumOf(stts),
    });
  }

  /** Runs of samples of the same length. */
  #sumOf({ start, end }: Box): { ticks: number; frames: number } {
    const runs = this.#uint(start + 4, 4);
    if (start + 8 + runs * 8 > end) throw new Unreadable();
    this.#take(runs);
    let [ticks, frames] = [0, 0];
    for (let at = start + 8; at < start + 8 + runs * 8; at += 8) {
      const count = this.#uint(at, 4);
      frames += count;
      ticks += count * this.#uint(at + 4, 4);
    }
    return { ticks, frames };
  }

  #addFragments(top: readonly Box[], movie: readonly Box[]): void {
    const defaults = new Map<number, number>();
    for (const { start } of this.#partsOf(movie, 'mvex', 'trex')) {
      defaults.set(this.#uint(start + 4, 4), this.#uint(start + 12, 4));
    }
    for (const part of this.#partsOf(top, 'moof', 'traf')) this.#addFragment(part, defaults);
  }

  /** One by one, because each box that is read costs a step. */
  *#partsOf(boxes: readonly Box[], outer: string, inner: string): Generator<Box> {
    for (const box of boxes) {
      if (box.type !== outer) continue;
      for (const part of this.#boxesIn(box)) {
        if (part.type === inner) yield part;
      }
    }
  }

  #addFragment(part: Box, defaults: ReadonlyMap<number, number>): void {
    const boxes = this.#boxesIn(part);
    const header = boxes.find(({ type }) => type === 'tfhd')?.start;
    if (header === undefined) throw new Unreadable();
    const id = this.#uint(header + 4, 4);
    const track = this.#tracks.get(id);
    if (!track) throw new Unreadable();
    const ticks = this.#defaultTicks(header) ?? defaults.get(id) ?? 0;
    for (const box of boxes) {
      if (box.type === 'trun') this.#addRun(box, ticks, track);
    }
  }

  #defaultTicks(header: number): number | undefined {
    const flags = this.#uint(header + 1, 3);
    const at = header + 8 + (flags & TRACK_FLAGS.dataOffset ? 8 : 0) + (flags & TRACK_FLAGS.description ? 4 : 0);
    return flags & TRACK_FLAGS.duration ? this.#uint(at, 4) : undefined;
  }

  #addRun({ start, end }: Box, ticks: number, track: Track): void {
    const flags = this.#uint(start + 1, 3);
    const count = this.#uint(start + 4, 4);
    track.frames += count;
    if (!(flags & RUN_FLAGS.duration)) {
      track.ticks += count * ticks;
      return;
    }
    const size = 4 + 4 * RUN_FLAGS.others.filter((flag) => flags & flag).length;
    const first = start + 8 + (flags & RUN_FLAGS.dataOffset ? 4 : 0) + (flags & RUN_FLAGS.firstFlags ? 4 : 0);
    if (first + count * size > end) throw new Unreadable();
    this.#take(count);
    for (let at = first; at < first + count * size; at += size) track.ticks += this.#uint(at, 4);
  }
}
