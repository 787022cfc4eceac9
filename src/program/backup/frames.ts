/** The frames of an export: a letter, a length and a content. The last one has a SHA-256 of all bytes before it. */
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** A file that cannot be written or read, or that does not fit this version. Shown without a stack trace. */
export class BackupError extends Error {}

export const FORMAT = 'dragoman-export';

export const Header = z.strictObject({
  format: z.literal(FORMAT),
  /** Of the frames. The tables and columns are those of the migrations. */
  format_version: z.literal(1),
  dragoman: z.string(),
  exported_at: z.iso.datetime(),
  /** The migrations that the database had run. */
  migrations: z.array(z.string()).min(1),
  /** The sealed pepper: shows before anything is imported whether the master key is the right one. */
  pepper: z.string(),
  /** First days of the months and days of partitioned tables. */
  partitions: z.array(z.strictObject({ table: z.string(), day: z.iso.date() })),
});
export type Header = z.infer<typeof Header>;

export const TableStart = z.strictObject({ table: z.string(), columns: z.array(z.string()).min(1) });

export const Sequences = z.array(
  z.strictObject({ table: z.string(), column: z.string(), next: z.string().regex(/^\d{1,19}$/) }),
);
export type Sequences = z.infer<typeof Sequences>;

const End = z.strictObject({ rows: z.int(), sha256: z.string() });

/** The order in a file: header, then for each table its start, its rows and their end, then sequences and the end. */
export const FRAMES = { header: 'H', table: 'T', rows: 'R', tableEnd: 'E', sequences: 'S', end: 'Z' } as const;
type FrameName = keyof typeof FRAMES;

/** Letter and length. */
const HEAD_BYTES = 5;
/** Of a content. Frames of rows have 64 KiB, and the header names every partition. */
const MAX_CONTENT_BYTES = 4 * 2 ** 20;

export class FrameWriter {
  readonly #hash = createHash('sha256');

  json(name: FrameName, value: object): Buffer {
    return this.bytes(name, Buffer.from(JSON.stringify(value)));
  }

  bytes(name: FrameName, content: Buffer): Buffer {
    const head = Buffer.alloc(HEAD_BYTES);
    head.write(FRAMES[name], 'latin1');
    head.writeUInt32BE(content.length, 1);
    const frame = Buffer.concat([head, content]);
    this.#hash.update(frame);
    return frame;
  }

  end(rows: number): Buffer {
    return this.json('end', { rows, sha256: this.#hash.copy().digest('hex') });
  }
}

export interface Frame {
  readonly name: FrameName;
  readonly content: Buffer;
}

/** Reads frames. Never holds more than one frame and one chunk of the source. */
export class FrameReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async next(): Promise<Frame> {
    const head = await this.#take(HEAD_BYTES);
    const letter = head.toString('latin1', 0, 1);
    const name = (Object.keys(FRAMES) as FrameName[]).find((known) => FRAMES[known] === letter);
    const length = head.readUInt32BE(1);
    if (name === undefined || length > MAX_CONTENT_BYTES) throw new BackupError('the file is damaged');
    const content = await this.#take(length);
    if (name !== 'end') this.#hash.update(head).update(content);
    return { name, content };
  }

  async json<T>(name: FrameName, schema: z.ZodType<T>): Promise<T> {
    const frame = await this.next();
    if (frame.name !== name) throw new BackupError('the file is damaged');
    return parseContent(frame, schema);
  }

  /** Fails unless the file is complete and as it was written. */
  async verifyEnd(frame: Frame, rows: number): Promise<void> {
    const end = parseContent(frame, End);
    if (end.rows !== rows || end.sha256 !== this.#hash.digest('hex'))
      throw new BackupError('its checksum is wrong, so the file is damaged');
    const { done } = await this.#chunks.next();
    if (this.#rest.length > 0 || !done) throw new BackupError('it has bytes after its end');
  }

  /** Closes the source, also when not all of it was read. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let missing = bytes; missing > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done) throw new BackupError('the file ends too early');
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }
}

export function parseContent<T>({ content }: Frame, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(content.toString('utf8')));
  } catch (cause) {
    throw new BackupError('the file is damaged, or a newer version wrote it', { cause });
  }
}
