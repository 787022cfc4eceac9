/** Reading request bodies: bounded, decoded when compressed, as raw bytes. Nothing is parsed here. */
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ApiError, fail } from '../core/index.ts';
import type { Call } from './call.ts';

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** The whole body, at most `limit` bytes after decoding. */
export async function readBody(call: Call, limit: number): Promise<Buffer> {
  if (call.body) return call.body;
  const { request } = call;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') {
    return collect(request, limit).catch(asFailure(CUT_OFF));
  }
  const decoder = DECODERS[encoding]?.();
  if (!decoder) {
    throw fail(
      'unsupported_media_type',
      `content-encoding: "${encoding.slice(0, 40)}" is not understood; use gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    );
  }
  request.once('error', (error) => decoder.destroy(error));
  request.once('close', () => request.complete || decoder.destroy());
  request.pipe(decoder);
  return collect(decoder, limit).catch(asFailure(`The body is not valid ${encoding} data.`));
}

const CUT_OFF = 'The connection closed before the whole body arrived.';

/** What a stream reports is the caller's doing, never a bug of ours. */
const asFailure =
  (sentence: string) =>
  (error: unknown): never => {
    throw error instanceof ApiError ? error : fail('invalid_request', sentence, { cause: error });
  };
const tooLarge = (limit: number) =>
  fail('request_too_large', `The body is larger than ${limit} bytes, the most this endpoint takes.`);

/** By hand rather than `for await`: an async iterator costs more than everything else on the way of a small body. */
function collect(stream: Readable, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) return void chunks.push(chunk);
    stream.pause();
    reject(tooLarge(limit));
  });
  stream.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)));
  stream.once('error', reject);
  // Comes after every end as well; an error is not made in vain.
  stream.once('close', () => stream.readableEnded || reject(fail('invalid_request', CUT_OFF)));
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
