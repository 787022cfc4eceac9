/** GET /openapi.json: built and compressed at the first request, then served from memory. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Call, type Handler, idHeaders } from '../../platform/web/index.ts';

interface OpenApiFile {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

export function openApiHandler(build: () => object): Handler {
  let loading: Promise<OpenApiFile> | undefined;
  return async (call) => {
    loading ??= toFile(build());
    send(call, await loading);
  };
}

async function toFile(document: object): Promise<OpenApiFile> {
  const bytes = Buffer.from(JSON.stringify(document));
  // Weak, because the compressed form has the same one.
  const etag = `W/"${hash('sha256', bytes, 'hex').slice(0, 32)}"`;
  return { bytes, gzipped: await promisify(gzip)(bytes), etag };
}

function send(call: Call, { bytes, gzipped, etag }: OpenApiFile): void {
  const headers = { ...idHeaders(call), 'cache-control': 'no-cache', etag, vary: 'accept-encoding' };
  if (call.header('if-none-match')?.includes(etag)) {
    call.response.writeHead(304, headers);
    call.response.end();
    return;
  }
  const takesGzip = /\bgzip\b/.test(call.header('accept-encoding') ?? '');
  const body = takesGzip ? gzipped : bytes;
  call.response.writeHead(200, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    ...(takesGzip && { 'content-encoding': 'gzip' }),
  });
  call.response.end(body);
}
