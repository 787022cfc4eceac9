/**
 * Scanner of a multipart form while it arrives: finds the parts and their byte spans,
 * keeps the text fields and the first bytes of files.
 * Strict, because a form that two parsers read differently could be checked as one request and paid as another.
 */
import { type ApiError, fail, SIGNATURE_BYTES, type Span } from '../../core/index.ts';
import { MULTIPART } from '../../rules/index.ts';

export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  /** Of a file, as its part says. */
  readonly filename: string | undefined;
  readonly type: string;
  /** The content, without the line break before the next boundary. */
  readonly content: Span;
  /** From the part's own boundary to the next one: cutting it out removes the part. */
  readonly whole: Span;
  /** The content of a text field; of a file its first bytes. */
  readonly bytes: Buffer;
}

/** What the scanner reads next. */
type Stage = 'preamble' | 'boundary' | 'header' | 'content' | 'epilogue';

interface OpenPart extends Pick<FormPart, 'name' | 'isFile' | 'filename' | 'type'> {
  readonly start: number;
  readonly contentStart: number;
  /** Grows by doubling: a list of chunks would take far more memory when a client sends single bytes. */
  kept: Buffer;
  keptBytes: number;
}

const CRLF = '\r\n';
const EMPTY = Buffer.alloc(0);

export class FormScanner {
  readonly parts: FormPart[] = [];
  readonly #delimiter: Buffer;
  #stage: Stage = 'preamble';
  /**
   * Bytes that are not consumed yet.
   * They begin as if a line break came before the form, which the first boundary needs.
   */
  #rest: Buffer = Buffer.from(CRLF);
  /** Offset of `#rest` in the form. */
  #at = -CRLF.length;
  #open: OpenPart | undefined;
  #partStart = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`${CRLF}--${boundary}`, 'latin1');
  }

  push(chunk: Buffer): void {
    if (this.#stage === 'epilogue') return;
    this.#rest = this.#rest.length === 0 || this.#skipRest(chunk) ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#step());
  }

  end(): void {
    if (this.#stage !== 'epilogue') throw invalidForm('The multipart form ends before its closing boundary.');
  }

  /** In a file the rest is rarely the beginning of a boundary; then the chunk is not copied. */
  #skipRest(chunk: Buffer): boolean {
    const length = this.#rest.length;
    if (this.#stage !== 'content' || length >= this.#delimiter.length) return false;
    const overlap = Buffer.concat([this.#rest, chunk.subarray(0, this.#delimiter.length - 1)]);
    // A chunk that is shorter than a boundary may still be a part of one.
    if (chunk.length < this.#delimiter.length || overlap.includes(this.#delimiter)) return false;
    this.#takeContent(length);
    this.#consume(length);
    return true;
  }

  /** Returns false when the next step needs more bytes. */
  #step(): boolean {
    switch (this.#stage) {
      case 'preamble':
      case 'content':
        return this.#toBoundary();
      case 'boundary':
        return this.#afterBoundary();
      case 'header':
        return this.#header();
      case 'epilogue':
        return false;
    }
  }

  #toBoundary(): boolean {
    const found = this.#rest.indexOf(this.#delimiter);
    // The last bytes may be the beginning of a boundary.
    const length = found < 0 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : found;
    this.#takeContent(length);
    this.#consume(length);
    if (found < 0) return false;
    this.#closePart();
    this.#partStart = this.#at + CRLF.length;
    this.#consume(this.#delimiter.length);
    this.#stage = 'boundary';
    return true;
  }

  #takeContent(length: number): void {
    const part = this.#open;
    if (!part) return;
    // In an empty part, the line break that ends the header also begins the next boundary.
    const from = Math.max(0, part.contentStart - this.#at);
    const bytes = this.#rest.subarray(from, Math.max(from, length));
    const limit = part.isFile ? SIGNATURE_BYTES : MULTIPART.fieldBytes;
    const kept = bytes.subarray(0, Math.max(0, limit - part.keptBytes));
    if (kept.length < bytes.length && !part.isFile)
      throw fail('invalid_request', `${part.name}: the field is longer than ${MULTIPART.fieldBytes} bytes.`, {
        param: part.name,
      });
    keep(part, kept);
  }

  #closePart(): void {
    const part = this.#open;
    if (!part) return;
    this.parts.push({
      name: part.name,
      isFile: part.isFile,
      filename: part.filename,
      type: part.type,
      content: { start: part.contentStart, end: Math.max(this.#at, part.contentStart) },
      whole: { start: part.start, end: this.#at + CRLF.length },
      bytes: Buffer.from(part.kept.subarray(0, part.keptBytes)),
    });
    this.#open = undefined;
  }

  #afterBoundary(): boolean {
    const next = this.#rest.toString('latin1', 0, MAX_PADDING);
    if (next.startsWith('--')) {
      this.#stage = 'epilogue';
      this.#rest = Buffer.alloc(0);
      return false;
    }
    if (/^[ \t]*\r\n/.test(next)) {
      if (this.parts.length === MULTIPART.parts)
        throw invalidForm(`The multipart form has more than ${MULTIPART.parts} parts.`);
      this.#stage = 'header';
      return true;
    }
    if (/^(?:-|[ \t]*\r?)$/.test(next) && next.length < MAX_PADDING) return false;
    throw invalidForm('A boundary line of the multipart form is followed by other characters.');
  }

  /** The header of a part with the line breaks around it. */
  #header(): boolean {
    const end = this.#rest.indexOf(HEADER_END);
    if (end < 0 && this.#rest.length <= MULTIPART.headerBytes) return false;
    if (end < 0 || end > MULTIPART.headerBytes)
      throw invalidForm(
        `A part of the multipart form has an unterminated header (limit ${MULTIPART.headerBytes / 1024} KiB).`,
      );
    const head = readHeader(this.#rest.toString('utf8', 0, end));
    this.#consume(end + CRLF.length);
    const contentStart = this.#at + CRLF.length;
    this.#open = { ...head, start: this.#partStart, contentStart, kept: EMPTY, keptBytes: 0 };
    this.#stage = 'content';
    return true;
  }

  #consume(length: number): void {
    this.#rest = this.#rest.subarray(length);
    this.#at += length;
  }
}

/** Copies, so that the chunk does not stay in memory for a few bytes of it. */
function keep(part: OpenPart, bytes: Buffer): void {
  const needed = part.keptBytes + bytes.length;
  if (needed > part.kept.length) {
    const larger = Buffer.alloc(Math.max(needed, 2 * part.kept.length));
    part.kept.copy(larger);
    part.kept = larger;
  }
  bytes.copy(part.kept, part.keptBytes);
  part.keptBytes = needed;
}

const HEADER_END = Buffer.from(CRLF + CRLF);
/** White space that may follow a boundary; no client sends any. */
const MAX_PADDING = 64;

const PARAMETER = /;[ \t]*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))[ \t]*/y;

/** Reads the name of a part, and whether it is a file. */
function readHeader(header: string): Pick<FormPart, 'name' | 'isFile' | 'filename' | 'type'> {
  const lines = header.split(CRLF).map((line) => /^([^:\s]+):[ \t]*(.*)$/.exec(line));
  const headerValue = (name: string): string | undefined => {
    const found = lines.filter((line) => line?.[1]?.toLowerCase() === name);
    if (found.length > 1) throw invalidForm(`A part of the multipart form has two ${name} headers.`);
    return found[0]?.[2];
  };
  const disposition = headerValue('content-disposition') ?? '';
  const type = headerValue('content-type') ?? '';
  const parameters = readParameters(disposition);
  const name = parameters.get('name');
  if (name === undefined || name.length > 64)
    throw invalidForm('A part of the multipart form has no content-disposition header with a name.');
  const hasFilename = parameters.has('filename') || parameters.has('filename*');
  const filename = parameters.get('filename');
  return { name, filename, type, isFile: hasFilename || /^(?:image\/|application\/octet-stream)/i.test(type) };
}

function readParameters(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  let at = /^form-data[ \t]*/i.exec(disposition)?.[0].length ?? -1;
  while (at >= 0 && at < disposition.length) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(disposition);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || parameters.has(name)) at = -1;
    else {
      parameters.set(name, match?.[2] ?? match?.[3] ?? '');
      at = PARAMETER.lastIndex;
    }
  }
  if (at < 0) throw invalidForm('A content-disposition header of the multipart form is malformed.');
  return parameters;
}

export function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw fail('invalid_request', 'content-type: the multipart boundary is missing.', { param: 'content-type' });
  return boundary;
}

const invalidForm = (message: string): ApiError => fail('invalid_request', message);
