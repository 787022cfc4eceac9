/**
 * Decodes a response that was compressed unasked. Keeps one decoder's buffers:
 * a listener that pauses stops the provider.
 */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import type { HttpHeaders } from './headers.ts';

type Decoder = NodeJS.ReadWriteStream & Readable;

/**
 * A decoder by the name of its encoding.
 * The first byte of a body distinguishes the two forms of `deflate` that servers send.
 */
const DECODERS: ReadonlyMap<string, (firstByte: number) => Decoder> = new Map<string, (firstByte: number) => Decoder>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', (firstByte) => ((firstByte & 0x0f) === ZLIB_METHOD ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress()],
]);
/** Low bits of the first byte of the zlib format (RFC 1950). */
const ZLIB_METHOD = 8;

/** The encoding of a body in lower case; undefined when it is not encoded. */
export function encodingOf(headers: HttpHeaders): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  return encoding === undefined || encoding === '' || encoding === 'identity' ? undefined : encoding;
}

export const canDecode = (encoding: string): boolean => DECODERS.has(encoding);

/** The head of the decoded response. */
export function withoutEncoding(headers: HttpHeaders): HttpHeaders {
  const { 'content-encoding': _encoding, 'content-length': _length, ...others } = headers;
  return others;
}

/** Exactly one of `onEnd` and `onError` comes last. */
export interface DecoderListener {
  /** Returns false to pause the decoder. */
  onData(chunk: Buffer): boolean;
  /** The decoder takes more bytes. */
  onDrain(): void;
  onEnd(): void;
  onError(error: Error): void;
}

export class ContentDecoder {
  readonly #encoding: string;
  readonly #listener: DecoderListener;
  /** Created with the first byte: an empty body is not compressed data. */
  #decoder: Decoder | undefined;
  #isOver = false;

  constructor(encoding: string, listener: DecoderListener) {
    this.#encoding = encoding;
    this.#listener = listener;
  }

  /** Returns false when it takes no more for now; `onDrain` follows. */
  write(chunk: Buffer): boolean {
    this.#decoder ??= this.#open(chunk[0] ?? 0);
    return this.#decoder.write(chunk);
  }

  end(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#listener.onEnd();
  }

  resume(): void {
    this.#decoder?.resume();
  }

  /** Nothing more is called. */
  close(): void {
    this.#isOver = true;
    this.#decoder?.destroy();
  }

  #open(firstByte: number): Decoder {
    const decoder = DECODERS.get(this.#encoding)?.(firstByte);
    if (!decoder) throw new TypeError(`no decoder for ${this.#encoding}`);
    decoder.on('data', (chunk: Buffer) =>
      this.#call(() => {
        if (!this.#listener.onData(chunk)) decoder.pause();
      }),
    );
    decoder.on('drain', () => this.#call(() => this.#listener.onDrain()));
    decoder.once('end', () =>
      this.#call(() => {
        this.#listener.onEnd();
        this.#isOver = true;
      }),
    );
    decoder.on('error', (error) => this.#fail(error));
    return decoder;
  }

  /** An error that the listener throws would end the process here. */
  #call(task: () => void): void {
    try {
      if (!this.#isOver) task();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.onError(error instanceof Error ? error : new Error('a non-error was thrown'));
  }
}
