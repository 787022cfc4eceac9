/** The head of a request as it goes over the wire. Nothing leaves in it that could end it early or frame its body anew. */
import { HttpParseError, headerLine } from '../core/index.ts';

export interface RequestHead {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Flat name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
}

/** What could end the request line. */
const UNSAFE_PATH = /[^!-~\x80-\xff]/;
/** Said here alone: said twice, they might contradict one another. */
const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding']);

/** Throws an HttpFault. `host` is as the URL writes it; `body` follows the head. */
export function requestHead(
  { method, path, headers }: RequestHead,
  host: string,
  body: Buffer | string | null,
): string {
  if (!path.startsWith('/') || UNSAFE_PATH.test(path)) throw new HttpParseError('a path that no request line may hold');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let n = 0; n < headers.length; n += 2) {
    const name = headers[n] ?? '';
    if (FRAMING.has(name)) throw new HttpParseError(`${name} is not for the caller to say`);
    text += headerLine(name, headers[n + 1] ?? '');
  }
  // A POST without a length is taken for one that is still coming by some servers.
  if (body !== null || method === 'POST') text += `content-length: ${body === null ? 0 : Buffer.byteLength(body)}\r\n`;
  return `${text}\r\n`;
}
