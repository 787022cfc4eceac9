/**
 * The usage journal of one process: records are on disk, written together,
 * before the response ends, and leave it once they are in the database.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import { crashPoint } from '../crash-points.ts';
import { decodeRecord, encodeRecord, type UsageRecord } from '../usage-record.ts';
import { frameOf, openForAppend, type SegmentFile, segmentName } from './segment.ts';

export interface JournalOptions {
  /** A folder that only this process writes to. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly segmentBytes?: number;
  /** Also waits for fdatasync, so that records survive a power failure. */
  readonly sync?: boolean;
  readonly openSegment?: (path: string) => SegmentFile;
}

interface Segment {
  readonly path: string;
  readonly file: SegmentFile;
  bytes: number;
  pending: number;
}

/** One write, and the callers that wait for it. */
interface WriteCycle extends PromiseWithResolvers<void> {
  /** Resolves also when the write fails. */
  readonly done: Promise<void>;
}

/** Large enough that rotation is rare, small enough to be read whole after a crash. */
const SEGMENT_BYTES = 16 * 1024 * 1024;
/**
 * Interval of new attempts while the disk rejects writes.
 * Until one succeeds, records stay in memory and new calls are refused.
 */
const RETRY_MS = 100;
/**
 * Records that wait for the end of a turn of the event loop;
 * the next one writes them first. Under a flood a turn takes seconds.
 */
const MAX_UNWRITTEN = 64;

export class Journal {
  readonly #options: JournalOptions;
  readonly #segmentBytes: number;
  #dir: string;
  /**
   * What is not in the database, oldest first; the first `#head` are flushed.
   * As text: one object for the garbage collector, where a record is ten.
   */
  #texts: string[] = [];
  #head = 0;
  #written = 0;
  /** Segments with written records, oldest first; the last one may be the open one. */
  #segments: Segment[] = [];
  #segment: Segment | undefined;
  #number = 0;
  /** The next write, for all records appended since the last one. */
  #next: WriteCycle | undefined;
  #syncing: WriteCycle | undefined;
  #bytes = 0;
  #onPending: (pending: number) => void = () => {};
  #isFailing = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#dir = options.dir;
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
  }

  /** Synchronous. `whenWritten()` resolves once the record is on disk. */
  append(record: UsageRecord): void {
    // Before this record is added: if this write fails, its caller waits for the next attempt.
    if (this.#texts.length - this.#written >= MAX_UNWRITTEN && !this.#isFailing) this.#write();
    this.#texts.push(encodeRecord(record));
    crashPoint('record.appended');
    this.#scheduleWrite();
    this.#onPending(this.pending);
  }

  /**
   * Resolves when everything appended so far is written.
   * Rejects when the write fails; the records are kept and retried.
   */
  whenWritten(): Promise<void> {
    return (this.#next ?? this.#syncing)?.promise ?? ALL_WRITTEN;
  }

  /** As `whenWritten`, but resolves also when the write fails. All callers share one promise. */
  whenWrittenOrFailed(): Promise<void> {
    return (this.#next ?? this.#syncing)?.done ?? ALL_WRITTEN;
  }

  onPending(listener: (pending: number) => void): void {
    this.#onPending = listener;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  get pending(): number {
    return this.#texts.length - this.#head;
  }

  /** Disk space of all segments. It shrinks only when a whole segment is flushed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Time of the oldest pending record, in milliseconds since 1970. */
  get pendingSince(): number | undefined {
    const oldest = this.#texts[this.#head];
    return oldest === undefined ? undefined : decodeRecord(oldest).at;
  }

  /** The oldest pending records without the first `skipped`, at most `limit`. */
  peek(limit: number, skipped = 0): UsageRecord[] {
    const from = this.#head + skipped;
    return this.#texts.slice(from, from + limit).map(decodeRecord);
  }

  /** The oldest `count` records are in the database. Removes segments that hold no other records. */
  markFlushed(count: number): void {
    // Records that were flushed before they were written are in no segment.
    let left = Math.min(count, this.#written - this.#head);
    for (const segment of this.#segments) {
      const flushed = Math.min(left, segment.pending);
      segment.pending -= flushed;
      left -= flushed;
      if (segment.pending === 0 && segment !== this.#segment) this.#remove(segment);
    }
    this.#head += count;
    this.#written = Math.max(this.#written, this.#head);
    if (this.#head < 1024 && this.#head < this.#texts.length) return;
    this.#texts = this.#texts.slice(this.#head);
    this.#written -= this.#head;
    this.#head = 0;
  }

  /** Continues in a new folder with all pending records, because another process owns the old folder now. */
  async moveTo(dir: string): Promise<void> {
    await this.#syncing?.done;
    this.#dir = dir;
    this.#closeSegment();
    this.#bytes = 0;
    this.#segments = [];
    this.#written = this.#head;
    if (this.pending > 0) this.#scheduleWrite();
    await this.whenWritten();
  }

  /** Closes the open segment. The caller removes the folder. */
  async close(): Promise<void> {
    await this.whenWrittenOrFailed();
    this.#segment?.file.close();
    this.#segment = undefined;
  }

  #scheduleWrite(): void {
    if (this.#next) return;
    const cycle = Promise.withResolvers<void>();
    // `done` also handles the rejection when no caller waits.
    this.#next = { ...cycle, done: cycle.promise.catch(() => {}) };
    if (!this.#syncing) this.#writeSoon();
  }

  /** setImmediate runs after the input of this turn, so all calls that end in one turn share one write. */
  #writeSoon(): void {
    setImmediate(() => this.#write());
  }

  #write(): void {
    const cycle = this.#next;
    if (!cycle || this.#syncing) return;
    this.#next = undefined;
    try {
      const segment = this.#writePending();
      if (!segment || !this.#options.sync) return cycle.resolve();
      this.#syncing = cycle;
      void this.#sync(segment, cycle);
    } catch (error) {
      this.#onWriteFailed(error, cycle);
    }
  }

  async #sync(segment: Segment, cycle: WriteCycle): Promise<void> {
    try {
      await segment.file.datasync();
      cycle.resolve();
    } catch (error) {
      this.#onWriteFailed(error, cycle);
    } finally {
      this.#syncing = undefined;
      if (this.#next) this.#writeSoon();
    }
  }

  #onWriteFailed(error: unknown, cycle: WriteCycle): void {
    // The segment may end with a torn frame now, and nothing may follow it.
    this.#closeSegment();
    // Once: the log may be on the same disk.
    if (!this.#isFailing) this.#options.log.error('journal.failed', { pending: this.pending, ...errorFields(error) });
    this.#isFailing = true;
    cycle.reject(error);
    this.#options.clock.after(RETRY_MS, () => this.#scheduleWrite());
  }

  #writePending(): Segment | undefined {
    const batch = this.#texts.slice(this.#written);
    // With nothing left to write the journal counts as healthy; the next record shows whether the disk has recovered.
    if (batch.length === 0) {
      this.#isFailing = false;
      return undefined;
    }
    if (this.#segment && this.#segment.bytes >= this.#segmentBytes) this.#closeSegment();
    this.#segment ??= this.#openSegment();
    const segment = this.#segment;
    const bytes = Buffer.from(batch.map(frameOf).join(''));
    crashPoint('journal.writing');
    for (let at = 0; at < bytes.length; ) at += segment.file.write(bytes, at);
    segment.bytes += bytes.length;
    this.#bytes += bytes.length;
    segment.pending += batch.length;
    if (this.#segments.at(-1) !== segment) this.#segments.push(segment);
    this.#written += batch.length;
    this.#isFailing = false;
    crashPoint('journal.written');
    return segment;
  }

  #openSegment(): Segment {
    const { openSegment = openForAppend } = this.#options;
    this.#number += 1;
    const path = join(this.#dir, segmentName(this.#number));
    const segment = { path, file: openSegment(path), bytes: 0, pending: 0 };
    crashPoint('journal.rotated');
    return segment;
  }

  #closeSegment(): void {
    const segment = this.#segment;
    this.#segment = undefined;
    if (!segment) return;
    segment.file.close();
    if (segment.pending === 0) this.#remove(segment);
  }

  #remove(segment: Segment): void {
    crashPoint('journal.removing');
    this.#segments = this.#segments.filter((other) => other !== segment);
    this.#bytes -= segment.bytes;
    // A segment that stays behind is read at the next start, and its records are recognised as recorded.
    rm(segment.path, { force: true }).catch(() => {});
  }
}

const ALL_WRITTEN = Promise.resolve();
