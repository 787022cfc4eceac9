/** Reader of request bodies: applies the size limit, decompresses, and hands on raw bytes. Never parses them. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { type ApiError, concatBuffers, fail, type MaybePromise, mediaTypeOf } from '../../core/index.ts';
import { DECOMPRESSION } from '../../rules/index.ts';
import type { IncomingRequest } from '../http/index.ts';
import { type BodyReservation, SMALL_BODY_BYTES } from './body-budget.ts';
import type { Call } from './call.ts';

const DECODERS: ReadonlyMap<string, () => NodeJS.ReadWriteStream & Readable> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
] as const);

/**
 * Reads the body, at most `limit` bytes after decompression. Returns it synchronously when it has already arrived.
 * Its bytes are taken from the memory budget before they are kept, as often as the work with them copies them:
 * from the given reservation, else, when the body is large, from one that ends with the call.
 */
export function readBody(
  call: Call,
  limit: number,
  { reservation: given, copies = 1 }: { readonly reservation?: BodyReservation; readonly copies?: number } = {},
): MaybePromise<Buffer> {
  if (call.body) return call.body;
  const reserve = given ? () => given : () => call.reserveMemory();
  const chunks = new Chunks({ limit, reserve, uncountedBytes: given ? 0 : SMALL_BODY_BYTES, copies });
  const { completeBody } = call.request;
  if (completeBody && !isEncoded(call.request)) {
    chunks.add(completeBody);
    call.tap?.request.add(completeBody);
    return completeBody;
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  receiveBody(call, limit, {
    add: (chunk) => chunks.add(chunk),
    end: () => resolve(chunks.join()),
    fail: reject,
  });
  return promise;
}

/** Where a body goes while it arrives. Exactly one of `end` and `fail` comes last. */
export interface BodySink {
  /** Returns false to pause the sender; `resume` of the transfer continues. Throws to reject the body. */
  add(chunk: Buffer): boolean;
  end(): void;
  fail(error: unknown): void;
}
export interface BodyTransfer {
  resume(): void;
}

/**
 * Decompresses the body and passes it on as it arrives.
 * Throws when the announced size or the encoding is not acceptable.
 */
export function receiveBody(call: Call, limit: number, target: BodySink): BodyTransfer {
  const { request, tap } = call;
  const begunMs = call.elapsedMs();
  const sink: BodySink = {
    add(chunk) {
      // A capture has the body as it is after decompression.
      tap?.request.add(chunk);
      return target.add(chunk);
    },
    end() {
      call.trace.uploadMs = call.elapsedMs() - begunMs;
      target.end();
    },
    fail: (error) => target.fail(error),
  };
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const encoding = encodingOf(request);
  if (encoding === '') return collect(request, sink);
  const decoder = DECODERS.get(encoding)?.();
  if (!decoder) {
    throw fail(
      'unsupported_media_type',
      `content-encoding: "${encoding.slice(0, 40)}" is not supported; use gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    );
  }
  return decode(request, decoder, sink, (cause) =>
    fail('invalid_request', `The body is not valid ${encoding} data.`, { cause }),
  );
}

const expandsTooFar = () =>
  fail(
    'request_too_large',
    `content-encoding: the body expands to more than ${DECOMPRESSION.ratio} times its compressed size, ` +
      `the limit above ${DECOMPRESSION.bytes} bytes; send it without compression.`,
    { param: 'content-encoding' },
  );

const encodingOf = ({ headers }: IncomingRequest): string => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return encoding === 'identity' ? '' : encoding;
};
const isEncoded = (request: IncomingRequest): boolean => encodingOf(request) !== '';

const connectionClosed = () => fail('invalid_request', 'The connection closed before the whole body arrived.');

export const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the limit of this endpoint.`);

/**
 * Chunks below this size are joined: each takes hundreds of bytes of its own,
 * which a client that sends single bytes would exploit.
 */
const SMALL_CHUNK_BYTES = 1024;
/** So many small chunks in a row become one. */
const JOINED_CHUNKS = 256;

/** Copied in one turn of the event loop: some 3 ms. */
const PIECE_BYTES = 4 * 2 ** 20;

interface ChunkOptions {
  readonly limit: number;
  readonly reserve: () => BodyReservation;
  /** A body up to this size takes no part in the budget, so that most requests do not pay for it. */
  readonly uncountedBytes: number;
  readonly copies: number;
}

/** The bytes of a body so far. `add` throws when there are too many. */
class Chunks {
  readonly #options: ChunkOptions;
  #reservation: BodyReservation | undefined;
  #chunks: Buffer[] = [];
  /** How many of the last chunks are small. */
  #smallChunks = 0;
  #size = 0;

  constructor(options: ChunkOptions) {
    this.#options = options;
  }

  add(chunk: Buffer): boolean {
    const { limit, uncountedBytes } = this.#options;
    this.#size += chunk.length;
    try {
      if (this.#size > limit) throw tooLarge(limit);
      if (this.#size > uncountedBytes) this.#count(chunk.length);
    } catch (error) {
      // A rejected body must not stay in memory until its client has read the error.
      this.#chunks = [];
      throw error;
    }
    this.#chunks.push(chunk);
    this.#smallChunks = chunk.length < SMALL_CHUNK_BYTES ? this.#smallChunks + 1 : 0;
    if (this.#smallChunks === JOINED_CHUNKS) this.#joinSmall();
    return true;
  }

  #joinSmall(): void {
    this.#chunks.push(Buffer.concat(this.#chunks.splice(-JOINED_CHUNKS)));
    this.#smallChunks = 0;
  }

  /** The first count includes the bytes before it. */
  #count(bytes: number): void {
    const counted = this.#reservation ? bytes : this.#size;
    this.#reservation ??= this.#options.reserve();
    this.#reservation.add(counted * this.#options.copies);
  }

  join(): MaybePromise<Buffer> {
    return this.#size > PIECE_BYTES ? this.#joinInPieces() : concatBuffers(this.#chunks);
  }

  /** Other work runs between the pieces. */
  async #joinInPieces(): Promise<Buffer> {
    const body = Buffer.allocUnsafeSlow(this.#size);
    let end = 0;
    let copied = 0;
    for (const chunk of this.#chunks) {
      end += chunk.copy(body, end);
      copied += chunk.length;
      if (copied < PIECE_BYTES) continue;
      copied = 0;
      await nextTurn();
    }
    // What follows reads the whole body once more.
    await nextTurn();
    return body;
  }
}

function collect(request: IncomingRequest, sink: BodySink): BodyTransfer {
  request.read({
    onData(chunk) {
      try {
        return sink.add(chunk);
      } catch (error) {
        sink.fail(error);
        return false;
      }
    },
    onEnd: () => sink.end(),
    onAborted: () => sink.fail(connectionClosed()),
  });
  return { resume: () => request.resume() };
}

/** Bounds the expansion too: a few kilobytes could otherwise fill the memory of the endpoint's limit. */
function decode(
  request: IncomingRequest,
  decoder: NodeJS.ReadWriteStream & Readable,
  sink: BodySink,
  invalid: (cause: Error) => ApiError,
): BodyTransfer {
  let compressed = 0;
  let bytes = 0;
  decoder.on('data', (chunk: Buffer) => {
    try {
      bytes += chunk.length;
      if (bytes > Math.max(DECOMPRESSION.bytes, compressed * DECOMPRESSION.ratio)) throw expandsTooFar();
      if (!sink.add(chunk)) decoder.pause();
    } catch (error) {
      decoder.destroy();
      sink.fail(error);
    }
  });
  decoder.once('end', () => sink.end());
  // A decoder fails only on bad input, so the error belongs to the client.
  decoder.once('error', (error) => sink.fail(invalid(error)));
  decoder.on('drain', () => request.resume());
  request.read({
    onData: (chunk) => {
      compressed += chunk.length;
      return decoder.write(chunk);
    },
    onEnd: () => decoder.end(),
    onAborted: () => {
      decoder.destroy();
      sink.fail(connectionClosed());
    },
  });
  return { resume: () => decoder.resume() };
}

/** `application/json; charset=utf-8` -> `application/json`. The endpoint chooses the parser; this header never does. */
export const mediaType = (call: Call): string => mediaTypeOf(call.header('content-type'));

/** Accepts JSON types, no type, and the types that plain curl sends by default. Throws for any other type. */
export function expectJson(call: Call): void {
  const type = mediaType(call);
  if (
    type === '' ||
    type === 'application/json' ||
    type === 'application/x-www-form-urlencoded' ||
    type === 'text/plain' ||
    /^application\/[\w.-]+\+json$/.test(type)
  )
    return;
  throw fail(
    'unsupported_media_type',
    `content-type: "${type.slice(0, 80)}" is not supported by this endpoint; send application/json.`,
    { param: 'content-type' },
  );
}
