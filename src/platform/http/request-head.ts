/** Writer of request heads. Rejects values that could end the head early or change the framing of the body. */
import type { HttpRequest } from './client.ts';
import { HttpParseError, headerLine } from './headers.ts';

/** Characters that could end the request line. */
const UNSAFE_PATH = /[^!-~\x80-\xff]/;
/** Written by this module only, because a second value could contradict the first. */
const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding']);

/** Formats the head of a request. Throws `HttpParseError`. `host` is the host of the URL. */
export function requestHead({ method, path, headers, body }: HttpRequest, host: string): string {
  if (!path.startsWith('/') || UNSAFE_PATH.test(path)) throw new HttpParseError('invalid request path');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let n = 0; n < headers.length; n += 2) {
    const name = headers[n] ?? '';
    if (FRAMING.has(name)) throw new HttpParseError(`header ${name} must not be set by the caller`);
    text += headerLine(name, headers[n + 1] ?? '');
  }
  // Some servers wait for a body when a POST has no content-length.
  if (body !== null || method === 'POST') text += `content-length: ${byteLength(body)}\r\n`;
  return `${text}\r\n`;
}

function byteLength(body: HttpRequest['body']): number {
  if (body === null) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}
