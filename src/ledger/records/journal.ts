/**
 * Usage on disk before an answer ends. Records that are appended in one turn of the event loop leave in one write; once the
 * kernel has them, the end of the process loses nothing. Segments go away when all their records are in the database.
 */
import { close, fdatasync, openSync, writeSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import type { OnStep } from '../crash-points.ts';
import { decodeRecord, encodeRecord, type UsageRecord } from '../usage-record.ts';

export interface JournalOptions {
  /** A folder of this process alone. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly segmentBytes?: number;
  /** Waits for the disk too, so that a power cut loses nothing either. */
  readonly sync?: boolean;
  readonly onStep?: OnStep;
  readonly openSegment?: (path: string) => SegmentFile;
}

/**
 * What is needed of a file. Writes are synchronous: the kernel copies a few hundred bytes to its cache in microseconds, and handing
 * them to another thread costs several times that.
 */
export interface SegmentFile {
  /** How many of the bytes from `offset` on were taken. */
  write(bytes: Uint8Array, offset: number): number;
  datasync(): Promise<void>;
  close(): void;
}

interface Segment {
  readonly path: string;
  readonly file: SegmentFile;
  bytes: number;
  /** Records in it that are not in the database yet. */
  left: number;
}

/** Large enough to be rare, small enough to be read whole after a crash. */
const SEGMENT_BYTES = 16 * 1024 * 1024;
/** A full disk is looked at again this often; until then records wait in memory. */
const RETRY_MS = 1_000;
const SEGMENT_NAME = /^\d{8}\.log$/;

export class Journal {
  readonly #options: JournalOptions;
  readonly #limit: number;
  #dir: string;
  /**
   * Oldest first: everything that is not in the database. The first `#head` are done with. As text: records live long enough for the
   * garbage collector to move them twice, and a text is one thing to move where a record is ten.
   */
  #texts: string[] = [];
  #head = 0;
  /** Those before this index have been written. */
  #written = 0;
  /** Where the written ones are, oldest first; the last one may be the one that is written to. */
  #segments: Segment[] = [];
  #segment: Segment | undefined;
  #number = 0;
  /** The next write, of those who appended since the last one. */
  #gathering: Cycle | undefined;
  /** Written, and on its way to the disk. */
  #running: Cycle | undefined;
  /** Of all segments that were not removed. */
  #bytes = 0;
  #onPending: (pending: number) => void = () => {};
  #isFailing = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#dir = options.dir;
    this.#limit = options.segmentBytes ?? SEGMENT_BYTES;
  }

  /** Cheap and synchronous; `flushed()` says when it is safe. */
  append(record: UsageRecord): void {
    this.#texts.push(encodeRecord(record));
    this.#options.onStep?.('record.appended');
    this.#gather();
    this.#onPending(this.pending);
  }

  /** Resolves when everything appended so far is with the kernel; rejects when it cannot be written now (it is kept and tried again). */
  flushed(): Promise<void> {
    return (this.#gathering ?? this.#running)?.promise ?? NOTHING_WAITS;
  }

  /** As `flushed`, but resolves also when the disk refuses, for who has to go on in any case. One for all who wait. */
  tried(): Promise<void> {
    return (this.#gathering ?? this.#running)?.tried ?? NOTHING_WAITS;
  }

  onPending(listener: (pending: number) => void): void {
    this.#onPending = listener;
  }

  /** The disk refused the last write; what it should hold is in memory only. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Records that are not in the database yet. */
  get pending(): number {
    return this.#texts.length - this.#head;
  }

  /** What the journal takes of the disk; what was moved leaves it segment by segment. */
  get bytes(): number {
    return this.#bytes;
  }

  /** When the oldest of them was made, in milliseconds since 1970. */
  get pendingSince(): number | undefined {
    const oldest = this.#texts[this.#head];
    return oldest === undefined ? undefined : decodeRecord(oldest).at;
  }

  /** The oldest of them. */
  peek(limit: number): UsageRecord[] {
    return this.#texts.slice(this.#head, this.#head + limit).map(decodeRecord);
  }

  /** The oldest `count` are in the database: segments that hold nothing else are removed. */
  moved(count: number): void {
    // What was moved before it was written is in none of them.
    let left = Math.min(count, this.#written - this.#head);
    for (const segment of this.#segments) {
      const taken = Math.min(left, segment.left);
      segment.left -= taken;
      left -= taken;
      if (segment.left === 0 && segment !== this.#segment) this.#remove(segment);
    }
    this.#head += count;
    this.#written = Math.max(this.#written, this.#head);
    if (this.#head < 1024 && this.#head < this.#texts.length) return;
    this.#texts = this.#texts.slice(this.#head);
    this.#written -= this.#head;
    this.#head = 0;
  }

  /** The folder belongs to another process now: begins in a new one, with all that is not in the database. */
  async renew(dir: string): Promise<void> {
    await this.#running?.promise.catch(() => {});
    this.#dir = dir;
    this.#leaveSegment();
    this.#bytes = 0;
    this.#segments = [];
    this.#written = this.#head;
    if (this.pending > 0) this.#gather();
    await this.flushed();
  }

  /** After the last record was moved; the folder itself is its maker's. */
  async close(): Promise<void> {
    await this.flushed().catch(() => {});
    this.#segment?.file.close();
    this.#segment = undefined;
  }

  #gather(): void {
    if (this.#gathering) return;
    const cycle = Promise.withResolvers<void>();
    // Those who wait see the failure; if nobody waits it is not an unhandled one.
    this.#gathering = { ...cycle, tried: cycle.promise.catch(() => {}) };
    if (!this.#running) this.#writeSoon();
  }

  /** After the input of this turn has been handled, so that all that ends in it leaves together. */
  #writeSoon(): void {
    setImmediate(() => this.#write());
  }

  #write(): void {
    const cycle = this.#gathering;
    if (!cycle || this.#running) return;
    this.#gathering = undefined;
    try {
      const segment = this.#writeOut();
      if (!segment || !this.#options.sync) return cycle.resolve();
      this.#running = cycle;
      void this.#sync(segment, cycle);
    } catch (error) {
      this.#failed(error, cycle);
    }
  }

  async #sync(segment: Segment, cycle: Cycle): Promise<void> {
    try {
      await segment.file.datasync();
      cycle.resolve();
    } catch (error) {
      this.#failed(error, cycle);
    } finally {
      this.#running = undefined;
      if (this.#gathering) this.#writeSoon();
    }
  }

  #failed(error: unknown, cycle: Cycle): void {
    // A torn frame may stand at its end now: nothing may follow it there.
    this.#leaveSegment();
    this.#isFailing = true;
    cycle.reject(error);
    this.#options.log.error('journal.failed', { pending: this.pending, ...errorFields(error) });
    this.#options.clock.after(RETRY_MS, () => this.#gather());
  }

  /** Everything that is not on disk yet, in one write. */
  #writeOut(): Segment | undefined {
    const batch = this.#texts.slice(this.#written);
    // Nothing waits for the disk any more; whether it has recovered the next record will show.
    this.#isFailing = false;
    if (batch.length === 0) return undefined;
    if (this.#segment && this.#segment.bytes >= this.#limit) this.#leaveSegment();
    this.#segment ??= this.#openSegment();
    const segment = this.#segment;
    const bytes = Buffer.from(batch.map(frameOf).join(''));
    this.#options.onStep?.('journal.writing');
    for (let at = 0; at < bytes.length; ) at += segment.file.write(bytes, at);
    segment.bytes += bytes.length;
    this.#bytes += bytes.length;
    segment.left += batch.length;
    if (this.#segments.at(-1) !== segment) this.#segments.push(segment);
    this.#written += batch.length;
    this.#options.onStep?.('journal.written');
    return segment;
  }

  #openSegment(): Segment {
    const { openSegment = openForAppend, onStep } = this.#options;
    this.#number += 1;
    const path = join(this.#dir, `${String(this.#number).padStart(8, '0')}.log`);
    const segment = { path, file: openSegment(path), bytes: 0, left: 0 };
    onStep?.('journal.rotated');
    return segment;
  }

  #leaveSegment(): void {
    const segment = this.#segment;
    this.#segment = undefined;
    if (!segment) return;
    segment.file.close();
    if (segment.left === 0) this.#remove(segment);
  }

  #remove(segment: Segment): void {
    this.#options.onStep?.('journal.removing');
    this.#segments = this.#segments.filter((other) => other !== segment);
    this.#bytes -= segment.bytes;
    // What stays behind is read again at the next start, and changes nothing then.
    rm(segment.path, { force: true }).catch(() => {});
  }
}

/** One write, and those who wait for it. */
interface Cycle extends PromiseWithResolvers<void> {
  readonly tried: Promise<void>;
}

const NOTHING_WAITS = Promise.resolve();
const datasync = promisify(fdatasync);

/** Fails when the folder is gone, rather than writing where nobody will look. */
function openForAppend(path: string): SegmentFile {
  const fd = openSync(path, 'ax', 0o600);
  return {
    write: (bytes, offset) => writeSync(fd, bytes, offset),
    datasync: () => datasync(fd),
    // What could fail now failed when it was written.
    close: () => close(fd, () => {}),
  };
}

export interface SegmentContents {
  readonly records: readonly UsageRecord[];
  /** Lines in the middle that are not what was written. A torn end is none: it was never acknowledged. */
  readonly damaged: number;
}

/** Files of a folder, oldest first. */
export async function segmentsOf(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => SEGMENT_NAME.test(name)).sort();
  return names.map((name) => join(dir, name));
}

export async function readSegment(path: string): Promise<SegmentContents> {
  const bytes = await readFile(path);
  const records: UsageRecord[] = [];
  let damaged = 0;
  for (let at = 0; at < bytes.length; ) {
    // The text has no line breaks, so that a damaged line costs itself only.
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) break;
    const record = readFrame(bytes.subarray(at, end));
    if (record) records.push(record);
    else damaged += 1;
    at = end + 1;
  }
  return { records, damaged };
}

const NEWLINE = 10;
const HEAD = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
const HEAD_BYTES = 18;

/** Length and checksum in hexadecimal, the text, a line break. */
const frameOf = (text: string): string => `${hex(Buffer.byteLength(text))} ${hex(crc32(text))} ${text}\n`;
/** By a table: Node writes out numbers of 32 bits one digit at a time. */
const hex = (number: number): string =>
  `${PAIRS[number >>> 24]}${PAIRS[(number >>> 16) & 255]}${PAIRS[(number >>> 8) & 255]}${PAIRS[number & 255]}`;
const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function readFrame(line: Buffer): UsageRecord | undefined {
  const [, length, sum] = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES)) ?? [];
  const text = line.subarray(HEAD_BYTES);
  if (length !== hex(text.length) || sum !== hex(crc32(text))) return undefined;
  return decodeRecord(text.toString());
}
