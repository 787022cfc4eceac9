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
  about: string;
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
const sizedHead = (response: Recorded, length: number, more: Headers = {}): string =>
  headLines(response.status, { ...withoutLength(response), 'content-length': String(length), ...more });
const chunkedHead = (response: Recorded): string =>
  headLines(response.status, { ...withoutLength(response), 'transfer-encoding': 'chunked' });
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const part = (body: Buffer, percent: number): Buffer => body.subarray(0, Math.ceil((body.length * percent) / 100));

/** The body of a head that is replaced. */
const whole =
  (head: (response: Recorded) => string): HttpFault['play'] =>
  async (response, socket) => {
    await socket.write(head(response));
    await socket.write(response.body);
    socket.end();
  };

export const HTTP_FAULTS: Record<string, HttpFault> = {
  head_drip: {
    about: 'one byte of the head every N ms',
    value: 50,
    async play(response, socket, ms) {
      const head = sizedHead(response, response.body.length);
      for (const byte of head) {
        if (!socket.isOpen) return;
        await socket.write(byte);
        await socket.pause(ms);
      }
      await socket.write(response.body);
      socket.end();
    },
  },
  head_silence: {
    about: 'the head, then silence',
    async play(response, socket) {
      await socket.write(sizedHead(response, response.body.length));
      await socket.untilClosed();
    },
  },
  head_cut: {
    about: 'a clean end inside the head',
    async play(response, socket) {
      await socket.write(sizedHead(response, response.body.length).slice(0, 40));
      socket.end();
    },
  },
  head_reset: {
    about: 'a reset after the head',
    async play(response, socket) {
      await socket.write(sizedHead(response, response.body.length));
      await socket.pause(ARRIVAL_MS);
      socket.reset();
    },
  },
  body_cut: {
    about: 'a clean end of the connection after N percent of a body of announced length',
    value: 50,
    async play(response, socket, percent) {
      await socket.write(sizedHead(response, response.body.length));
      await socket.write(part(response.body, percent));
      socket.end();
    },
  },
  body_reset: {
    about: 'a reset after N percent of the body',
    value: 50,
    async play(response, socket, percent) {
      await socket.write(sizedHead(response, response.body.length));
      await socket.write(part(response.body, percent));
      await socket.pause(ARRIVAL_MS);
      socket.reset();
    },
  },
  body_stall: {
    about: 'silence after N percent of the body',
    value: 50,
    async play(response, socket, percent) {
      await socket.write(sizedHead(response, response.body.length));
      await socket.write(part(response.body, percent));
      await socket.untilClosed();
    },
  },
  chunked_cut: {
    about: 'a chunked body that ends after N percent, without its last chunk',
    value: 50,
    async play(response, socket, percent) {
      await socket.write(chunkedHead(response));
      await socket.write(chunk(part(response.body, percent)));
      socket.end();
    },
  },
  close_delimited: {
    about: 'a body without a length, which ends with the connection',
    play: whole((response) => headLines(response.status, { ...withoutLength(response), connection: 'close' })),
  },
  sliced: {
    about: 'the whole response in writes of one to seven bytes',
    async play(response, socket) {
      const bytes = Buffer.concat([Buffer.from(sizedHead(response, response.body.length)), response.body]);
      for (let at = 0, size = 1; at < bytes.length && socket.isOpen; at += size, size = (size % 7) + 1)
        await socket.write(bytes.subarray(at, at + size));
      socket.end();
    },
  },
  short_length: {
    about: 'a content-length below the length of the body',
    play: whole((response) => sizedHead(response, response.body.length >> 1)),
  },
  long_length: {
    about: 'a content-length above the length of the body',
    play: whole((response) => sizedHead(response, response.body.length + 100)),
  },
  long_length_open: {
    about: 'the same, and the connection stays open',
    async play(response, socket) {
      await socket.write(sizedHead(response, response.body.length + 100));
      await socket.write(response.body);
      await socket.untilClosed();
    },
  },
  chunk_garbage: {
    about: 'a malformed chunk after N percent of the body',
    value: 50,
    async play(response, socket, percent) {
      await socket.write(chunkedHead(response));
      if (percent > 0) await socket.write(chunk(part(response.body, percent)));
      await socket.write('zz-not-a-size\r\nmore\r\n');
      socket.end();
    },
  },
  chunk_size_lie: {
    about: 'a chunk that is longer than its size says',
    async play(response, socket) {
      await socket.write(chunkedHead(response));
      await socket.write(`${(response.body.length >> 1).toString(16)}\r\n`);
      await socket.write(response.body);
      await socket.write('\r\n0\r\n\r\n');
      socket.end();
    },
  },
  two_lengths: {
    about: 'two different content-length headers',
    play: whole(({ status, headers, body }) =>
      headLines(status, {
        ...headers,
        'content-length': String(body.length),
        'Content-Length': String(body.length - 1),
      }),
    ),
  },
  length_and_chunked: {
    about: 'content-length together with transfer-encoding',
    play: whole((response) => sizedHead(response, response.body.length, { 'transfer-encoding': 'chunked' })),
  },
  bad_status_line: {
    about: 'a status line that is not HTTP',
    play: whole(() => 'NOT/HTTP yes\r\n\r\n'),
  },
  bad_header: {
    about: 'a header line without a colon',
    play: whole((response) => sizedHead(response, response.body.length).replace('\r\n', '\r\nthis is no header\r\n')),
  },
  bare_line_feed: {
    about: 'a head whose lines end in LF',
    play: whole((response) => sizedHead(response, response.body.length).replaceAll('\r\n', '\n')),
  },
  huge_head: {
    about: 'headers of 80 KB',
    play: whole((response) => sizedHead(response, response.body.length, { 'x-padding': 'x'.repeat(80_000) })),
  },
  many_headers: {
    about: '300 headers',
    play: whole((response) =>
      sizedHead(
        response,
        response.body.length,
        Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-header-${n}`, '1'])),
      ),
    ),
  },
  early_hints: {
    about: 'N informational responses before the response',
    value: 3,
    async play(response, socket, count) {
      for (let n = 0; n < count; n += 1) await socket.write(headLines(103, { link: '</style.css>; rel=preload' }));
      await socket.write(sizedHead(response, response.body.length));
      await socket.write(response.body);
      socket.end();
    },
  },
  switching: {
    about: '101 to a request that did not ask for it',
    play: whole(() => headLines(101, { upgrade: 'other', connection: 'Upgrade' })),
  },
  redirect: {
    about: 'a redirect to another host',
    play: whole(() => headLines(307, { location: 'http://127.0.0.1:9/', 'content-length': '0' })),
  },
  no_content: { about: 'status 204', play: whole(() => headLines(204, {})) },
  unknown_status: {
    about: 'status 799',
    play: whole((response) => sizedHead({ ...response, status: 799 }, response.body.length)),
  },
  huge_error: {
    about: 'status N with a body of 10 MB',
    value: 500,
    async play(response, socket, status) {
      const body = Buffer.alloc(ERROR_BYTES, 'x');
      await socket.write(sizedHead({ ...response, status }, body.length, { 'content-type': 'application/json' }));
      await socket.write(body);
      socket.end();
    },
  },
  gzip: {
    about: 'a compressed body, though none was asked for',
    async play(response, socket) {
      const body = gzipSync(response.body);
      await socket.write(sizedHead(response, body.length, { 'content-encoding': 'gzip' }));
      await socket.write(body);
      socket.end();
    },
  },
  gzip_cut: {
    about: 'half of a compressed body',
    async play(response, socket) {
      const body = gzipSync(response.body);
      await socket.write(sizedHead(response, body.length, { 'content-encoding': 'gzip' }));
      await socket.write(body.subarray(0, body.length >> 1));
      socket.end();
    },
  },
  not_gzip: {
    about: 'a body that is announced as compressed and is not',
    play: whole((response) => sizedHead(response, response.body.length, { 'content-encoding': 'gzip' })),
  },
  unknown_encoding: {
    about: 'an unknown content-encoding',
    play: whole((response) => sizedHead(response, response.body.length, { 'content-encoding': 'x-zip' })),
  },
  no_type: {
    about: 'a response without a content-type',
    play: whole((response) => {
      const { 'content-type': _type, ...headers } = withoutLength(response);
      return headLines(response.status, { ...headers, 'content-length': String(response.body.length) });
    }),
  },
  surplus: {
    about: 'a second response that was not asked for',
    async play(response, socket) {
      const one = Buffer.concat([Buffer.from(sizedHead(response, response.body.length)), response.body]);
      await socket.write(Buffer.concat([one, one]));
      socket.end();
    },
  },
};
