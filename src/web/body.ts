/** Reading request bodies: bounded, decoded when compressed, as raw bytes. Nothing is parsed here. */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ApiError, concatBuffers, fail } from '../core/index.ts';
import type { Call } from './call.ts';
import type { IncomingRequest } from './request.ts';

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** The whole body, at most `limit` bytes after decoding; at once when it is here, as it mostly is. */
export function readBody(call: Call, limit: number): Buffer | Promise<Buffer> {
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
      `content-encoding: "${encoding.slice(0, 40)}" is not understood; use gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    );
  }
  return decode(request, decoder, limit).catch((error: unknown) => {
    // What a decoder reports is the caller's doing, never a bug of ours.
    throw error instanceof ApiError
      ? error
      : fail('invalid_request', `The body is not valid ${encoding} data.`, { cause: error });
  });
}

const cutOff = () => fail('invalid_request', 'The connection closed before the whole body arrived.');

const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the most this endpoint takes.`);

function collect(request: IncomingRequest, limit: number): Buffer | Promise<Buffer> {
  const { completeBody: whole } = request;
  if (whole) {
    if (whole.length > limit) throw tooLarge(limit);
    return whole;
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
    onCut: () => reject(cutOff()),
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
    onCut: () => {
      decoder.destroy();
      reject(cutOff());
    },
  });
  return promise;
}

/** `application/json; charset=utf-8` -> `application/json`. Checked by us, so that no parser is ever chosen by a caller's header. */
export const mediaType = (call: Call): string =>
  (call.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** SDKs name the type; plain curl forgets to (and says it is a form). JSON endpoints accept no type, that slip, and JSON. */
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
    `content-type: "${type.slice(0, 80)}" is not accepted here; send application/json.`,
    { param: 'content-type' },
  );
}
