/** One download into the mirror. Readers of this process follow it; a broken one leaves no file. */
import { BrokenTransfer, exactly } from './byte-stream.ts';
import { type FileClaim, HEAD_BYTES, headOf, type MirrorFolder } from './mirror-folder.ts';
import { LocalProgress } from './mirror-reading.ts';
import type { ResultFacts } from './result.ts';
import type { UpstreamFile } from './upstream-source.ts';

export type Fetch = () => Promise<UpstreamFile>;

export interface DownloadOptions {
  readonly folder: MirrorFolder;
  readonly name: string;
  readonly claim: FileClaim;
  readonly fetch: Fetch;
  /** Makes room for a file of this size. False when the mirror does not take it. */
  readonly admit: (bytes: number) => Promise<boolean>;
}

export class MirrorDownload {
  readonly progress = new LocalProgress();
  /** Undefined when the mirror does not take the result. Rejects when the download does not begin. */
  readonly facts: Promise<ResultFacts | undefined>;
  /** Resolves when the download is over, also when it broke. */
  readonly over: Promise<void>;
  /** Reserved on disk; 0 until it is known. */
  bytes = 0;
  failure: unknown;
  readonly #options: DownloadOptions;
  readonly #facts = Promise.withResolvers<ResultFacts | undefined>();
  #file: UpstreamFile | undefined;
  #isAborted = false;

  constructor(options: DownloadOptions) {
    this.#options = options;
    this.facts = this.#facts.promise;
    // The reader that began the download may be gone.
    this.facts.catch(() => {});
    this.over = this.#run();
  }

  get path(): string {
    return this.#options.claim.path;
  }

  abort(): void {
    this.#isAborted = true;
    this.#file?.body.close();
  }

  async #run(): Promise<void> {
    const { folder, claim, name, fetch } = this.#options;
    try {
      this.#file = await fetch();
      if (this.#isAborted) throw new BrokenTransfer('CLOSED');
      const facts = await this.#admit(this.#file);
      if (!facts) {
        this.#facts.resolve(undefined);
        return await folder.abandon(claim);
      }
      await claim.handle.write(headOf(facts), 0, HEAD_BYTES, 0);
      this.#facts.resolve(facts);
      await this.#copy(this.#file, facts);
      await folder.finish(claim, name);
      await claim.handle.close();
    } catch (error) {
      this.failure = error;
      await folder.abandon(claim);
      this.#facts.reject(error);
      this.progress.fail(error);
    } finally {
      this.#file?.body.close();
    }
  }

  async #admit({ size, type }: UpstreamFile): Promise<ResultFacts | undefined> {
    if (size === undefined || !(await this.#options.admit(size))) return undefined;
    this.bytes = size;
    return { size, type };
  }

  /** Each piece is on its way to the disk before the next is read, so that a slow disk slows the provider down. */
  async #copy({ body }: UpstreamFile, { size }: ResultFacts): Promise<void> {
    const { handle } = this.#options.claim;
    const source = exactly(body, size);
    let position = HEAD_BYTES;
    for (let chunk = await source.next(); chunk; chunk = await source.next()) {
      for (let from = 0; from < chunk.length; ) {
        const { bytesWritten } = await handle.write(chunk, from, chunk.length - from, position);
        from += bytesWritten;
        position += bytesWritten;
      }
      this.progress.advance(chunk.length);
    }
  }
}
