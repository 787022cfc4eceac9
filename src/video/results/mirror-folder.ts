/**
 * Files of the mirror in a folder that replicas may share. A finished file is a head of fixed size and the bytes of the
 * result. A file in progress has another name, created exclusively: the replica that creates it downloads, the others
 * wait. A crash leaves only such files. Never creates the folder: without its mount it would fill another disk.
 */
import { type FileHandle, open, opendir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/index.ts';
import { RESULT_MIRROR } from '../../rules/index.ts';
import type { ResultFacts } from './result.ts';

/** Bytes before the result: facts as JSON, padded with spaces. */
export const HEAD_BYTES = 512;

/** A file that can be read at any position that is written already. */
export interface MirrorFile {
  readonly handle: FileHandle;
  readonly facts: ResultFacts;
}

/** A download in progress, claimed by this process. */
export interface FileClaim {
  readonly path: string;
  readonly handle: FileHandle;
}

const FINISHED = /^[0-9a-f]{40}$/;
const IN_PROGRESS = /^[0-9a-f]{40}\.\d+\.part$/;
/** Abandoned downloads of one result that are passed over; the clean-up removes them. */
const MAX_ABANDONED = 20;
/** Only the user of this process may read results. */
const MODE = 0o600;

export class MirrorFolder {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** The finished file of a result. A damaged one is removed. The caller closes the handle. */
  async find(name: string): Promise<MirrorFile | undefined> {
    const handle = await openExisting(this.#path(name));
    if (!handle) return undefined;
    const facts = await readHead(handle).catch(() => undefined);
    const isWhole = facts && (await handle.stat()).size === HEAD_BYTES + facts.size;
    if (isWhole) return { handle, facts };
    await handle.close();
    await this.remove(name);
    return undefined;
  }

  /**
   * Claims the download of a result. Each abandoned claim is passed over by the next number,
   * so that of several replicas that find it abandoned exactly one gets the new claim.
   * Returns the path of the claim of another replica if that one is at work.
   */
  async claim(name: string): Promise<FileClaim | { readonly busy: string }> {
    for (let n = 0; n < MAX_ABANDONED; n += 1) {
      const path = join(this.#folder, `${name}.${n}.part`);
      const handle = await createExclusively(path);
      if (handle) return { path, handle };
      const age = await this.#ageOf(path);
      if (age !== undefined && age < RESULT_MIRROR.abandonedMs) return { busy: path };
    }
    throw Object.assign(new Error('too many abandoned downloads'), { code: 'EEXIST' });
  }

  /** The file that another replica is writing, once its head is written. The caller closes the handle. */
  async follow(path: string): Promise<MirrorFile | undefined> {
    const handle = await openExisting(path);
    if (!handle) return undefined;
    const facts = await readHead(handle).catch(() => undefined);
    if (facts) return { handle, facts };
    await handle.close();
    return undefined;
  }

  /** Makes the claimed file the finished one, on disk before it is visible. */
  async finish({ path, handle }: FileClaim, name: string): Promise<void> {
    await handle.sync();
    await rename(path, this.#path(name));
  }

  async abandon({ path, handle }: FileClaim): Promise<void> {
    await handle.close().catch(() => {});
    await unlink(path).catch(() => {});
  }

  async remove(name: string): Promise<void> {
    await unlink(this.#path(name)).catch(ignoreMissing);
  }

  /** All files of the mirror, the oldest first. Other files in the folder are not ours. */
  async list(): Promise<readonly ListedFile[]> {
    const files: ListedFile[] = [];
    for await (const { name } of await opendir(this.#folder)) {
      const isFinished = FINISHED.test(name);
      if (!isFinished && !IN_PROGRESS.test(name)) continue;
      const path = join(this.#folder, name);
      const found = await stat(path).catch(ignoreMissing);
      if (found) files.push({ path, name: name.slice(0, 40), isFinished, bytes: found.size, changedAt: found.mtimeMs });
    }
    return files.sort((one, other) => one.changedAt - other.changedAt);
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  async #ageOf(path: string): Promise<number | undefined> {
    const found = await stat(path).catch(ignoreMissing);
    return found && this.#clock.now() - found.mtimeMs;
  }
}

export interface ListedFile {
  readonly path: string;
  readonly name: string;
  readonly isFinished: boolean;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** True when the file was removed by this call. */
export const removeFile = (path: string): Promise<boolean> =>
  unlink(path).then(
    () => true,
    () => false,
  );

export const headOf = (facts: ResultFacts): Buffer =>
  Buffer.from(JSON.stringify({ version: 1, ...facts }).padEnd(HEAD_BYTES));

async function readHead(handle: FileHandle): Promise<ResultFacts | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  if (bytesRead < HEAD_BYTES) return undefined;
  const { version, size, type } = JSON.parse(buffer.toString('utf8')) as Record<string, unknown>;
  const isValid = version === 1 && Number.isSafeInteger(size) && typeof type === 'string';
  return isValid ? { size: size as number, type } : undefined;
}

const openExisting = (path: string): Promise<FileHandle | undefined> => open(path, 'r').catch(ignoreMissing);

/** Undefined when the file exists already. */
const createExclusively = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'wx+', MODE).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  });

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
