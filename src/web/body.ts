/** Reader of request bodies: applies the size limit, decompresses, and returns raw bytes. Never parses them. */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ApiError, concatBuffers, fail, type MaybePromise } from '../core/index.ts';
import type { Call } from './call.ts';
import type { IncomingRequest } from './request.ts';

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Reads the body, at most `limit` bytes after decompression. Returns it synchronously when it has already arrived. */
export function readBody(call: Call, limit: number): MaybePromise<Buffer> {
  if (call.body) return call.body;
  const { request } = call;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return collect(request, limit);
  const decoder = DECODERS[encoding]?.();
  if (!decoder) {
    throw fail(
      'unsupported_media_type',
      `content-encoding: "${encoding.slice(0, 40)}" is not supported; use gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    );
  }
  return decode(request, decoder, limit).catch((error: unknown) => {
    // A decoder fails only on bad input, so the error belongs to the client.
    throw error instanceof ApiError
      ? error
      : fail('invalid_request', `The body is not valid ${encoding} data.`, { cause: error });
  });
}

const connectionClosed = () => fail('invalid_request', 'The connection closed before the whole body arrived.');

const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the limit of this endpoint.`);

function collect(request: IncomingRequest, limit: number): MaybePromise<Buffer> {
  const { completeBody } = request;
  if (completeBody) {
    if (completeBody.length > limit) throw tooLarge(limit);
    return completeBody;
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.read({
    onData(chunk) {
      size += chunk.length;
      if (size <= limit) return chunks.push(chunk) > 0;
      reject(tooLarge(limit));
      return false;
    },
    onEnd: () => resolve(concatBuffers(chunks)),
    onAborted: () => reject(connectionClosed()),
  });
  return promise;
}

function decode(request: IncomingRequest, decoder: NodeJS.ReadWriteStream & Readable, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  decoder.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) return void chunks.push(chunk);
    decoder.destroy();
    reject(tooLarge(limit));
  });
  decoder.once('end', () => resolve(Buffer.concat(chunks)));
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
