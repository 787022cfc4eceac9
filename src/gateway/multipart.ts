/**
 * A multipart form that passes through: read just far enough to find the `model` field, then streamed on byte for byte with
 * the boundary it came with. Files are never decoded and never touch a disk.
 */
import { Readable } from 'node:stream';
import { fail } from '../core/index.ts';
import { MULTIPART } from '../rules/index.ts';
import { type Call, mediaType } from '../web/index.ts';

export interface Form {
  readonly model: string | undefined;
  readonly isStream: boolean;
  /** The whole form with the model's name replaced. Streams the rest of the upload the first time, if it is still coming. */
  bodyFor(model: string): Buffer | Readable;
}

const MAX_PART_HEADER = 8 * 1024;

export async function readMultipart(call: Call, limit: number): Promise<Form> {
  if (mediaType(call) !== 'multipart/form-data') {
    throw fail('unsupported_media_type', 'content-type: this endpoint takes multipart/form-data.', {
      param: 'content-type',
    });
  }
  if (Number(call.header('content-length') ?? 0) > limit) throw tooLarge(limit);
  const boundary = boundaryOf(call.header('content-type') ?? '');
  const inlet = new Inlet(call, limit);
  const fields = new FieldFinder(boundary);
  // Stops at the model, or at the end of the form when there is none.
  while (!fields.has('model') && (await inlet.more())) fields.look(inlet.bytes);
  const model = fields.get('model');
  if (!model && !fields.isClosed) throw fail('invalid_request', 'The multipart form ends before its closing boundary.');
  return {
    model: model?.value,
    isStream: fields.get('stream')?.value === 'true',
    bodyFor: (name) => inlet.stream(model && model.value !== name ? { ...model, bytes: Buffer.from(name) } : undefined),
  };
}

const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the most this endpoint takes.`);

function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw fail('invalid_request', 'content-type: the multipart boundary is missing.', { param: 'content-type' });
  return boundary;
}

/** What has arrived so far, in one growing buffer, and the rest as it comes. Kept whole, so that another account can be tried. */
class Inlet {
  readonly #limit: number;
  readonly #source: AsyncIterator<Buffer>;
  #buffer: Buffer;
  #size = 0;
  #ended = false;

  constructor(call: Call, limit: number) {
    this.#limit = limit;
    this.#source = call.request[Symbol.asyncIterator]();
    this.#buffer = Buffer.allocUnsafe(Number(call.header('content-length') ?? FIRST_BYTES));
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Takes in one more chunk; false at the end. */
  async more(): Promise<boolean> {
    if (this.#ended) return false;
    const { value, done } = await this.#source.next();
    this.#ended = done === true;
    if (done) return false;
    const size = this.#size + value.length;
    if (size > this.#limit) throw tooLarge(this.#limit);
    if (size > this.#buffer.length) this.#buffer = Buffer.concat([this.bytes], Math.max(size, this.#buffer.length * 2));
    value.copy(this.#buffer, this.#size);
    this.#size = size;
    return true;
  }

  stream(change: { start: number; end: number; bytes: Buffer } | undefined): Buffer | Readable {
    const known = this.bytes;
    const head = change
      ? Buffer.concat([known.subarray(0, change.start), change.bytes, known.subarray(change.end)])
      : known;
    return this.#ended ? head : Readable.from(this.#rest(head, known.length), { objectMode: false });
  }

  async *#rest(head: Buffer, from: number): AsyncGenerator<Buffer> {
    yield head;
    for (let sent = from; this.#size > sent || (await this.more()); sent = this.#size) {
      if (this.#size > sent) yield Buffer.from(this.bytes.subarray(sent));
    }
  }
}

const FIRST_BYTES = 64 * 1024;

interface Field {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Finds small text fields in a form that is still arriving. */
class FieldFinder {
  readonly #delimiter: Buffer;
  readonly #fields = new Map<string, Field>();
  #at = 0;
  /** Up to here the end of the present part has been looked for in vain. */
  #searched = 0;
  #parts = 0;
  isClosed = false;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`--${boundary}`);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  get(name: string): Field | undefined {
    return this.#fields.get(name);
  }

  /** Reads on from where it stopped; stops again where a part is not complete yet. */
  look(bytes: Buffer): void {
    while (!this.isClosed) {
      const open = bytes.indexOf(this.#delimiter, this.#at);
      if (open < 0) return;
      const start = open + this.#delimiter.length;
      if (bytes.length < start + 2) return;
      if (bytes.toString('latin1', start, start + 2) === '--') {
        this.isClosed = true;
        return;
      }
      const headerEnd = bytes.indexOf('\r\n\r\n', start);
      if (headerEnd < 0) {
        if (bytes.length - start > MAX_PART_HEADER)
          throw fail('invalid_request', 'A part of the multipart form has an endless header.');
        return;
      }
      const end = bytes.indexOf(this.#delimiter, Math.max(headerEnd + 4, this.#searched));
      if (end < 0) {
        this.#searched = bytes.length - this.#delimiter.length;
        return;
      }
      this.#take(bytes, bytes.toString('latin1', start, headerEnd), headerEnd + 4, end - 2);
      this.#at = end;
    }
  }

  #take(bytes: Buffer, header: string, start: number, end: number): void {
    this.#parts += 1;
    if (this.#parts > MULTIPART.parts)
      throw fail('invalid_request', `The multipart form has more than ${MULTIPART.parts} parts.`);
    const name = /\bname="([^"]{0,64})"/i.exec(header)?.[1];
    if (name === undefined || /\bfilename\*?=/i.test(header)) return;
    if (end - start > MULTIPART.fieldBytes)
      throw fail('invalid_request', `${name}: the field is longer than ${MULTIPART.fieldBytes} bytes.`, {
        param: name,
      });
    this.#fields.set(name, { value: bytes.toString('utf8', start, end), start, end });
  }
}
