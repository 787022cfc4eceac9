/** Files that are served from memory, with their compressed form. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Call, idHeaders } from '../../platform/web/index.ts';

export interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Undefined when compression saves nothing. */
  readonly gzipped: Buffer | undefined;
  readonly etag: string;
}

export async function staticFile(type: string, bytes: Buffer, isText = true): Promise<StaticFile> {
  const smaller = isText ? await promisify(gzip)(bytes) : undefined;
  return {
    type,
    bytes,
    gzipped: smaller && smaller.length < bytes.length ? smaller : undefined,
    // Weak, because the compressed form has the same one.
    etag: `W/"${hash('sha256', bytes, 'hex').slice(0, 32)}"`,
  };
}

/** Not at all when the client has it. */
export function sendStaticFile(call: Call, file: StaticFile, own: Readonly<Record<string, string>>): void {
  const { type, bytes, gzipped, etag } = file;
  const headers = { ...idHeaders(call), ...own, etag, vary: 'accept-encoding' };
  if (call.header('if-none-match')?.includes(etag)) {
    call.response.writeHead(304, headers);
    call.response.end();
    return;
  }
  const takesGzip = gzipped !== undefined && /\bgzip\b/.test(call.header('accept-encoding') ?? '');
  const body = takesGzip ? gzipped : bytes;
  call.response.writeHead(200, {
    ...headers,
    'content-type': type,
    'content-length': body.length,
    ...(takesGzip && { 'content-encoding': 'gzip' }),
  });
  call.response.end(body);
}
