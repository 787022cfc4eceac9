/**
 * The mirror: results that are downloaded once and then read from a folder, which replicas may share.
 * It is bounded in size and age. When the folder fails, readers go on without it.
 */
import { type Clock, DAY_MS, errorFields, type Log, overloaded } from '../../core/index.ts';
import { RESULT_MIRROR, RESULT_READS } from '../../rules/index.ts';
import { type Fetch, MirrorDownload } from './mirror-download.ts';
import { type ListedFile, MirrorFolder, removeFile } from './mirror-folder.ts';
import { MirroredResult, POLL_MS, PolledProgress, sleep } from './mirror-reading.ts';
import type { Result } from './result.ts';

export interface MirrorOptions {
  readonly folder: string;
  readonly days: number;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Another replica downloads into the file `path`. */
interface Elsewhere {
  readonly path: string;
}

/** Other replicas add files too: the used bytes are counted again after this time. */
const COUNT_MS = 60_000;
/** Results that are not mirrored, kept in memory so that they are not downloaded twice for every read. */
const MAX_UNSUITABLE = 1_000;
/** Downloads that broke right after they began, until a reader goes on without the mirror. */
const MAX_BROKEN = 2;
/** At shutdown. A download that does not end by then leaves a file that is cleaned up later. */
const CLOSE_MS = 1_000;

export class Mirror {
  readonly #options: MirrorOptions;
  readonly #folder: MirrorFolder;
  readonly #begun = new Map<string, Promise<MirrorDownload | Elsewhere | undefined>>();
  readonly #downloads = new Map<string, MirrorDownload>();
  readonly #unsuitable = new Set<string>();
  #pausedUntil = 0;
  #used = { bytes: 0, countedAt: Number.NEGATIVE_INFINITY };

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#folder = new MirrorFolder(options.folder, options.clock);
  }

  /**
   * Opens a result, and begins its download if no replica has it or downloads it. Undefined when it cannot be mirrored.
   * Throws the error of `fetch`, or 503 when another replica takes too long.
   */
  async open(result: Result, fetch: Fetch): Promise<MirroredResult | undefined> {
    if (this.#options.clock.elapsed() < this.#pausedUntil) return undefined;
    try {
      return await this.#open(result, fetch);
    } catch (error) {
      if (!isDiskError(error)) throw error;
      this.#pause(error);
      return undefined;
    }
  }

  /** Also ends its download; that of another replica leaves a file that the clean-up removes later. */
  async remove({ name }: Result): Promise<void> {
    const download = this.#downloads.get(name);
    download?.abort();
    await download?.over;
    await this.#folder.remove(name).catch(() => {});
  }

  /**
   * Removes old and abandoned files, and the oldest ones while there are too many bytes. Returns how many it removed.
   */
  async cleanUp(): Promise<number> {
    const files = await this.#folder.list();
    const now = this.#options.clock.now();
    const active = new Set(files.filter((file) => !file.isFinished && !isAbandoned(file, now)).map(({ name }) => name));
    const isOver = (file: ListedFile): boolean =>
      file.isFinished
        ? now - file.changedAt > this.#options.days * DAY_MS
        : isAbandoned(file, now) && !active.has(file.name);
    const removed = await removeAll(files.filter(isOver));
    return removed + (await this.#trim(0));
  }

  async close(): Promise<void> {
    const downloads = [...this.#downloads.values()];
    for (const download of downloads) download.abort();
    await Promise.race([Promise.all(downloads.map(({ over }) => over)), sleep(CLOSE_MS)]);
  }

  async #open(result: Result, fetch: Fetch): Promise<MirroredResult | undefined> {
    const { clock } = this.#options;
    const deadline = clock.elapsed() + RESULT_READS.waitMs;
    for (let broken = 0; broken < MAX_BROKEN; ) {
      const found = await this.#folder.find(result.name);
      if (found) return new MirroredResult(found);
      if (this.#unsuitable.has(result.name)) return undefined;
      const begun = await this.#begin(result, fetch);
      if (begun instanceof MirrorDownload && !(await begun.facts)) return undefined;
      const file = begun && (await this.#folder.follow(begun.path));
      if (file) return new MirroredResult(file, progressOf(begun, file));
      if (clock.elapsed() >= deadline) throw overloaded(BUSY, RESULT_READS.retryAfterSeconds);
      if (begun instanceof MirrorDownload) broken += begun.failure === undefined ? 0 : 1;
      else await sleep(POLL_MS);
    }
    return undefined;
  }

  #pause(error: unknown): void {
    const { clock, log } = this.#options;
    if (clock.elapsed() < this.#pausedUntil) return;
    this.#pausedUntil = clock.elapsed() + RESULT_MIRROR.pauseMs;
    log.error('result.mirror_failed', { fault: errorFields(error).fault });
  }

  /** Joins or begins a download. Undefined when the file has just been finished. */
  #begin(result: Result, fetch: Fetch): Promise<MirrorDownload | Elsewhere | undefined> {
    const { name } = result;
    const known = this.#begun.get(name);
    if (known) return known;
    const begun = this.#claim(result, fetch);
    this.#begun.set(name, begun);
    const forget = (): void => void this.#begun.delete(name);
    begun.then((download) => (download instanceof MirrorDownload ? download.over : undefined)).then(forget, forget);
    return begun;
  }

  async #claim({ name, task }: Result, fetch: Fetch): Promise<MirrorDownload | Elsewhere | undefined> {
    const claim = await this.#folder.claim(name);
    if ('busy' in claim) return { path: claim.busy };
    const finished = await this.#folder.find(name);
    if (finished) {
      await finished.handle.close();
      await this.#folder.abandon(claim);
      return undefined;
    }
    const admit = (bytes: number): Promise<boolean> => this.#admit(name, bytes);
    const download = new MirrorDownload({ folder: this.#folder, name, claim, fetch, admit });
    this.#downloads.set(name, download);
    void download.over.then(() => this.#onOver(name, download, task.id));
    return download;
  }

  #onOver(name: string, { bytes, failure }: MirrorDownload, taskId: string): void {
    this.#downloads.delete(name);
    if (failure === undefined) {
      this.#used.bytes += bytes;
      this.#options.log.info('result.mirrored', { task: taskId, bytes });
    } else if (isDiskError(failure)) this.#pause(failure);
    else this.#options.log.warn('result.mirror_download_failed', { task: taskId, fault: errorFields(failure).fault });
  }

  async #admit(name: string, bytes: number): Promise<boolean> {
    const { maxBytes, clock } = this.#options;
    if (bytes > maxBytes) {
      if (this.#unsuitable.size >= MAX_UNSUITABLE) this.#unsuitable.clear();
      this.#unsuitable.add(name);
      return false;
    }
    const isFull = this.#used.bytes + this.#reserved() + bytes > maxBytes;
    if (isFull || clock.elapsed() - this.#used.countedAt > COUNT_MS) await this.#trim(bytes);
    return true;
  }

  /** Bytes of the downloads in progress. */
  #reserved(): number {
    return [...this.#downloads.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Counts the files, and removes the oldest until `wanted` bytes fit as well. Returns how many it removed. */
  async #trim(wanted: number): Promise<number> {
    const files = (await this.#folder.list()).filter(
      ({ isFinished, name }) => isFinished || !this.#downloads.has(name),
    );
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const surplus: ListedFile[] = [];
    for (const file of files) {
      if (bytes + this.#reserved() + wanted <= this.#options.maxBytes) break;
      if (!file.isFinished) continue;
      surplus.push(file);
      bytes -= file.bytes;
    }
    this.#used = { bytes, countedAt: this.#options.clock.elapsed() };
    return removeAll(surplus);
  }
}

const BUSY = 'The result is being fetched from the provider; try again shortly.';

const progressOf = (begun: MirrorDownload | Elsewhere, file: ConstructorParameters<typeof PolledProgress>[0]) =>
  begun instanceof MirrorDownload ? begun.progress : new PolledProgress(file);

const isAbandoned = ({ changedAt }: ListedFile, now: number): boolean => now - changedAt > RESULT_MIRROR.abandonedMs;

async function removeAll(files: readonly ListedFile[]): Promise<number> {
  let removed = 0;
  for (const { path } of files) if (await removeFile(path)) removed += 1;
  return removed;
}

/** Errors of system calls, such as a full disk or a missing folder. */
export const isDiskError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
