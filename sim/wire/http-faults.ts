/** Faults of the HTTP message itself: its head, its framing, its speed and its end. They take the socket over. */
import { STATUS_CODES } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Recorded } from './recorded-response.ts';

/** The connection of the faulty response. */
export interface WireSocket {
  write(bytes: Buffer | string): Promise<void>;
  /** Waits, or returns early when the client disconnects. */
  pause(ms: number): Promise<void>;
  untilClosed(): Promise<void>;
  /** Ends the connection properly. */
  end(): void;
  reset(): void;
  readonly isOpen: boolean;
}

export interface HttpFault {
  /** `value` is the number after the colon of `wire=name:number`, or the default. */
  play(response: Recorded, socket: WireSocket, value: number): Promise<void>;
  value?: number;
}

/** Time for what was written to arrive before a reset discards it. */
const ARRIVAL_MS = 20;
const ERROR_BYTES = 10_000_000;

type Headers = Record<string, string>;

/** Announces the end of the connection, so that no other request is sent on it and fails by chance. */
const headLines = (status: number, headers: Headers): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${Object.entries(
    status < 200 ? headers : { connection: 'close', ...headers },
  )
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

const withoutLength = ({ headers }: Recorded): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-length'));

/** The head of the response with a body of this length. */
const sizedHead = (response: Recorded, length = response.body.length, more: Headers = {}): string =>
  headLines(response.status, { ...withoutLength(response), 'content-length': String(length), ...more });
const chunkedHead = (response: Recorded): string =>
  headLines(response.status, { ...withoutLength(response), 'transfer-encoding': 'chunked' });
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const part = (body: Buffer, percent: number): Buffer => body.subarray(0, Math.ceil((body.length * percent) / 100));

type Ending = 'end' | 'reset' | 'silence';
type Pieces = (response: Recorded, value: number) => readonly (string | Buffer)[];

/** Writes the pieces one after the other, then ends or resets the connection, or sends nothing more. */
const pieces = (make: Pieces, ending: Ending = 'end', value?: number): HttpFault => ({
  ...(value !== undefined && { value }),
  async play(response, socket, given) {
    for (const piece of make(response, given)) {
      if (!socket.isOpen) return;
      await socket.write(piece);
    }
    if (ending === 'silence') return socket.untilClosed();
    if (ending === 'end') return socket.end();
    await socket.pause(ARRIVAL_MS);
    socket.reset();
  },
});

/** Another head, with the whole body. */
const head = (make: (response: Recorded) => string, ending?: Ending): HttpFault =>
  pieces((response) => [make(response), response.body], ending);
/** Other headers. */
const headers = (more: Headers): HttpFault => head((response) => sizedHead(response, undefined, more));
/** The whole head, and `value` percent of the body. */
const cut = (ending: Ending): HttpFault =>
  pieces((response, percent) => [sizedHead(response), part(response.body, percent)], ending, 50);

function* inSlices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % 7) + 1) yield bytes.subarray(at, at + size);
}

export const HTTP_FAULTS: Record<string, HttpFault> = {
  // One byte of the head every `value` ms.
  head_drip: {
    value: 50,
    async play(response, socket, ms) {
      for (const byte of sizedHead(response)) {
        if (!socket.isOpen) return;
        await socket.write(byte);
        await socket.pause(ms);
      }
      await socket.write(response.body);
      socket.end();
    },
  },
  head_silence: pieces((response) => [sizedHead(response)], 'silence'),
  head_cut: pieces((response) => [sizedHead(response).slice(0, 40)]),
  head_reset: pieces((response) => [sizedHead(response)], 'reset'),
  body_cut: cut('end'),
  body_reset: cut('reset'),
  body_stall: cut('silence'),
  // Without its last chunk.
  chunked_cut: pieces(
    (response, percent) => [chunkedHead(response), chunk(part(response.body, percent))],
    undefined,
    50,
  ),
  // A body without a length, which ends with the connection.
  close_delimited: head((response) => headLines(response.status, withoutLength(response))),
  sliced: pieces((response) => [...inSlices(Buffer.concat([Buffer.from(sizedHead(response)), response.body]))]),
  short_length: head((response) => sizedHead(response, response.body.length >> 1)),
  long_length: head((response) => sizedHead(response, response.body.length + 100)),
  long_length_open: head((response) => sizedHead(response, response.body.length + 100), 'silence'),
  // A malformed chunk after `value` percent of the body.
  chunk_garbage: pieces(
    (response, percent) => [
      chunkedHead(response),
      ...(percent > 0 ? [chunk(part(response.body, percent))] : []),
      'zz-not-a-size\r\nmore\r\n',
    ],
    undefined,
    50,
  ),
  // A chunk that is longer than its size says.
  chunk_size_lie: pieces((response) => [
    chunkedHead(response),
    `${(response.body.length >> 1).toString(16)}\r\n`,
    response.body,
    '\r\n0\r\n\r\n',
  ]),
  two_lengths: head(({ status, headers: own, body: { length } }) =>
    headLines(status, { ...own, 'content-length': String(length), 'Content-Length': String(length - 1) }),
  ),
  length_and_chunked: headers({ 'transfer-encoding': 'chunked' }),
  bad_status_line: head(() => 'NOT/HTTP yes\r\n\r\n'),
  bad_header: head((response) => sizedHead(response).replace('\r\n', '\r\nthis is no header\r\n')),
  bare_line_feed: head((response) => sizedHead(response).replaceAll('\r\n', '\n')),
  huge_head: headers({ 'x-padding': 'x'.repeat(80_000) }),
  many_headers: headers(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-header-${n}`, '1']))),
  early_hints: pieces(
    (response, count) => [
      ...Array.from({ length: count }, () => headLines(103, { link: '</style.css>; rel=preload' })),
      sizedHead(response),
      response.body,
    ],
    undefined,
    3,
  ),
  // 101 to a request that did not ask for it.
  switching: head(() => headLines(101, { upgrade: 'other', connection: 'Upgrade' })),
  redirect: head(() => headLines(307, { location: 'http://127.0.0.1:9/', 'content-length': '0' })),
  no_content: head(() => headLines(204, {})),
  unknown_status: head((response) => sizedHead({ ...response, status: 799 })),
  // `value` is the status.
  huge_error: pieces(
    (response, status) => [
      sizedHead({ ...response, status }, ERROR_BYTES, { 'content-type': 'application/json' }),
      Buffer.alloc(ERROR_BYTES, 'x'),
    ],
    undefined,
    500,
  ),
  // Compressed, though nobody asked for it.
  gzip: gzipped((body) => body),
  gzip_cut: gzipped((body) => body.subarray(0, body.length >> 1)),
  not_gzip: headers({ 'content-encoding': 'gzip' }),
  unknown_encoding: headers({ 'content-encoding': 'x-zip' }),
  no_type: head((response) => {
    const { 'content-type': _type, ...others } = withoutLength(response);
    return headLines(response.status, { ...others, 'content-length': String(response.body.length) });
  }),
  // A second response that nobody asked for.
  surplus: pieces((response) => {
    const one = Buffer.concat([Buffer.from(sizedHead(response)), response.body]);
    return [Buffer.concat([one, one])];
  }),
};

function gzipped(sent: (body: Buffer) => Buffer): HttpFault {
  return pieces((response) => {
    const body = gzipSync(response.body);
    return [sizedHead(response, body.length, { 'content-encoding': 'gzip' }), sent(body)];
  });
}
