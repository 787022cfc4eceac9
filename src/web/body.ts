/** Reader of request bodies: applies the size limit, decompresses, and returns raw bytes. Never parses them. */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ApiError, concatBuffers, fail, type MaybePromise } from '../core/index.ts';
import type { BodyReservation } from './body-budget.ts';
import type { Call } from './call.ts';
import type { IncomingRequest } from './request.ts';

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/**
 * Reads the body, at most `limit` bytes after decompression. Returns it synchronously when it has already arrived. With a reservation,
 * every byte is taken from the budget before it is kept.
 */
export function readBody(call: Call, limit: number, reservation?: BodyReservation): MaybePromise<Buffer> {
  if (call.body) return call.body;
  const { request } = call;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity')
    return collect(request, new Chunks(limit, reservation));
  const decoder = DECODERS[encoding]?.();
  if (!decoder) {
    throw fail(
      'unsupported_media_type',
      `content-encoding: "${encoding.slice(0, 40)}" is not supported; use gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    );
  }
  return decode(request, decoder, new Chunks(limit, reservation)).catch((error: unknown) => {
    // A decoder fails only on bad input, so the error belongs to the client.
    throw error instanceof ApiError
      ? error
      : fail('invalid_request', `The body is not valid ${encoding} data.`, { cause: error });
  });
}

const connectionClosed = () => fail('invalid_request', 'The connection closed before the whole body arrived.');

const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the limit of this endpoint.`);

/** The bytes of a body so far. `add` throws when there are too many. */
class Chunks {
  readonly #limit: number;
  readonly #reservation: BodyReservation | undefined;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(limit: number, reservation: BodyReservation | undefined) {
    this.#limit = limit;
    this.#reservation = reservation;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limit) throw tooLarge(this.#limit);
    this.#reservation?.add(chunk.length);
    this.#chunks.push(chunk);
  }

  join(): Buffer {
    return concatBuffers(this.#chunks);
  }
}

function collect(request: IncomingRequest, chunks: Chunks): MaybePromise<Buffer> {
  const { completeBody } = request;
  if (completeBody) {
    chunks.add(completeBody);
    return completeBody;
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  request.read({
    onData(chunk) {
      try {
        chunks.add(chunk);
        return true;
      } catch (error) {
        reject(error);
        return false;
      }
    },
    onEnd: () => resolve(chunks.join()),
    onAborted: () => reject(connectionClosed()),
  });
  return promise;
}

function decode(request: IncomingRequest, decoder: NodeJS.ReadWriteStream & Readable, chunks: Chunks): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  decoder.on('data', (chunk: Buffer) => {
    try {
      chunks.add(chunk);
    } catch (error) {
      decoder.destroy();
      reject(error);
    }
  });
  decoder.once('end', () => resolve(chunks.join()));
  decoder.once('error', reject);
  decoder.on('drain', () => request.resume());
  request.read({
    onData: (chunk) => decoder.write(chunk),
    onEnd: () => decoder.end(),
    onAborted: () => {
      decoder.destroy();
      reject(connectionClosed());
    },
  });
  return promise;
}

/** `application/json; charset=utf-8` -> `application/json`. The endpoint chooses the parser; this header never does. */
export const mediaType = (call: Call): string =>
  (call.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

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
