/** Differential tests of the HTTP server: it parses what Node's server parses, or rejects the bytes and closes the connection. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { renderError } from '../../src/api/caller/index.ts';
import { createLog, systemClock } from '../../src/core/index.ts';
import { bindPort } from '../../src/platform/http/index.ts';
import {
  type AnyOperation,
  BodyBudget,
  connectionLimits,
  createMetrics,
  createWeb,
  type Handler,
  ROUTES,
  readBody,
  sendJson,
  type Web,
} from '../../src/platform/web/index.ts';
import { type Peer, type ReadRequest, startPeer } from '../support/peer.ts';
import { jsonOf, type RawResponse, request, Wire } from '../support/raw.ts';
import { anyRequestsTo } from './messages.ts';
import { asyncLaw } from './runs.ts';

let web: Web;
let url: string;
let peer: Peer;
const logged: string[] = [];

/** Returns the request as the server parsed it. */
const echo: Handler = async (call) => {
  const { method, url: target, rawHeaders: fields } = call.request;
  const body = await readBody(call, 2 ** 20);
  sendJson(call, 200, { method, target, fields, body: body.toString('latin1') });
};

before(async () => {
  const handlers = Object.fromEntries(ROUTES.map(({ operation }) => [operation, echo])) as Record<
    AnyOperation,
    Handler
  >;
  const log = createLog('error', { write: (line: string) => void logged.push(line) });
  web = createWeb({
    handlers,
    renderError,
    log,
    clock: systemClock,
    metrics: createMetrics(),
    trustedProxies: [],
    bodyBudget: new BodyBudget(2 ** 30),
    connectionLimits: connectionLimits({ total: 1_000, perAddress: 1_000 }, []),
  });
  const port = await web.listen((await bindPort('127.0.0.1', 0)).sockets);
  url = `http://127.0.0.1:${port}`;
  peer = await startPeer();
});
after(async () => {
  await Promise.all([web.drain(0), peer.stop()]);
  assert.deepEqual(logged, []);
});

const echoOf = ({ method, target, fields, body }: ReadRequest): unknown => ({
  method,
  target,
  fields,
  body: body.toString('latin1'),
});
const isLast = (response: RawResponse): boolean => response.headers.get('connection') === 'close';

/** Sends the bytes in several writes, so that the server usually reads them in several chunks. */
async function sendCut(wire: Wire, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let at = 0;
  for (const cut of [...cuts.map((position) => position % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    if (cut <= at) continue;
    wire.send(bytes.subarray(at, cut));
    at = cut;
    await nextTurn();
  }
}

/** Reads up to `maxCount` responses; fewer if the server closes first. */
async function readResponses(wire: Wire, maxCount: number): Promise<RawResponse[]> {
  const responses: RawResponse[] = [];
  while (responses.length < maxCount) {
    const response = await wire.response();
    if (!response) break;
    responses.push(response);
    if (isLast(response)) break;
  }
  return responses;
}

/** Half-closes the connection and reads the remaining responses. */
async function readRemaining(wire: Wire): Promise<RawResponse[]> {
  wire.socket.end();
  const remaining = await readResponses(wire, 100);
  await wire.closed();
  assert.equal(await wire.response(), undefined, 'no bytes follow the last response');
  return remaining;
}

test('any bytes get the responses that Node would send, or a rejection and a closed connection', async () => {
  const texts = anyRequestsTo([
    'POST /v1/messages',
    'GET /v1/models?a=b',
    'DELETE /v1/responses/x',
    'GET /nowhere',
    'PUT /v1/models',
  ]);
  const seen = { accepted: 0, rejected: 0 };
  await asyncLaw(fc.tuple(texts, fc.array(fc.nat(), { maxLength: 4 })), async ([text, cuts]) => {
    const bytes = Buffer.from(text, 'latin1');
    const node = await peer.asServer(bytes);
    // A response to HEAD has a Content-Length without a body, and this reader does not know which request was HEAD.
    fc.pre(node.requests.every(({ method }) => method !== 'HEAD'));
    const wire = new Wire(url);
    await sendCut(wire, bytes, cuts);
    const responses = await readResponses(wire, node.requests.length);
    responses.push(...(await readRemaining(wire)));
    for (const [n, response] of responses.entries()) {
      const parsed = node.requests[n];
      if (response.status === 200)
        assert.deepEqual(jsonOf(response), parsed && echoOf(parsed), 'both servers parse the same request');
      else assert.ok(response.status >= 400 && response.status < 500, `${response.status}`);
      // The server may respond before it has read an unused body.
      assert.ok(
        n < node.begun || isLast(response),
        'bytes that Node rejects are rejected, and the connection is closed',
      );
    }
    const isRejected = responses.some(isLast);
    if (!isRejected)
      assert.ok(responses.length >= node.requests.length, 'every request that is not rejected gets a response');
    seen[isRejected ? 'rejected' : 'accepted'] += 1;
  });
  assert.ok(Math.min(seen.accepted, seen.rejected) > (seen.accepted + seen.rejected) / 10, JSON.stringify(seen));
});

const SMUGGLED = request('GET /v1/models HTTP/1.1');
const head = (...lines: string[]): string => ['POST /v1/messages HTTP/1.1', 'host: a', ...lines, '', ''].join('\r\n');
const CHUNKED = head('transfer-encoding: chunked');

for (const [about, bytes] of [
  // Two framings.
  [
    'a Content-Length that hides a request behind chunks',
    `${head('content-length: 60', 'transfer-encoding: chunked')}0\r\n\r\n`,
  ],
  [
    'chunks that hide a request behind a Content-Length',
    `${head('transfer-encoding: chunked', 'content-length: 4')}5c\r\n`,
  ],
  ['a length and an empty transfer coding', `${head('content-length: 5', 'transfer-encoding:')}abcde`],
  ['a length and an unknown transfer coding', `${head('content-length: 5', 'transfer-encoding: x')}abcde`],
  ['a repeated length', `${head('content-length: 5', 'content-length: 5')}abcde`],
  ['a length and an empty one', `${head('content-length: 5', 'content-length:')}abcde`],
  // Malformed transfer codings.
  ['a header name followed by a tab', `${head('transfer-encoding\t: chunked')}0\r\n\r\n`],
  ['a folded header whose colon is on the next line', `${head('transfer-encoding', ' : chunked')}0\r\n\r\n`],
  ['a folded header whose value is on the next line', `${head('transfer-encoding:', ' chunked')}0\r\n\r\n`],
  ['a transfer coding after a bare line feed', `${head('x: y\ntransfer-encoding: chunked')}0\r\n\r\n`],
  ['a transfer coding after a bare carriage return', `${head('x: y\rtransfer-encoding: chunked')}0\r\n\r\n`],
  ['a transfer coding after a NUL byte', `${head('\0transfer-encoding: chunked')}0\r\n\r\n`],
  ['chunked twice in one header', `${head('transfer-encoding: chunked, chunked')}0\r\n\r\n`],
  ['chunked followed by identity', `${head('transfer-encoding: chunked', 'transfer-encoding: identity')}0\r\n\r\n`],
  ['identity followed by chunked', `${head('transfer-encoding: identity', 'transfer-encoding: chunked')}0\r\n\r\n`],
  ['chunked followed by an empty coding', `${head('transfer-encoding: chunked', 'transfer-encoding:')}0\r\n\r\n`],
  ['chunked with a comma', `${head('transfer-encoding: chunked,')}0\r\n\r\n`],
  ['chunked with a parameter', `${head('transfer-encoding: chunked;q=1')}0\r\n\r\n`],
  ['chunked in quotes', `${head('transfer-encoding: "chunked"')}0\r\n\r\n`],
  ['chunked after a non-breaking space', `${head('transfer-encoding: \xa0chunked')}0\r\n\r\n`],
  ['chunked before a form feed', `${head('transfer-encoding: chunked\x0c')}0\r\n\r\n`],
  ['chunked before a tab', `${head('transfer-encoding: chunked\t')}0\r\n\r\n`],
  // Malformed lengths.
  ['a length of 0x0', head('content-length: 0x0')],
  ['an empty length', head('content-length:')],
  ['a length with a decimal point', head('content-length: 0.0')],
  ['a length with an exponent', head('content-length: 0e0')],
  ['a length of two numbers', head('content-length: 0 0')],
  ['a length with a parameter', head('content-length: 0;x')],
  ['a length with a superscript digit', `${head('content-length: \xb2')}ab`],
  ['a length of 2^64', head('content-length: 18446744073709551616')],
  // Malformed chunks.
  ['a chunk size with a sign', `${CHUNKED}+1\r\nx\r\n0\r\n\r\n`],
  ['a negative chunk size', `${CHUNKED}-1\r\nx\r\n0\r\n\r\n`],
  ['a chunk size with the prefix 0x', `${CHUNKED}0x1\r\nx\r\n0\r\n\r\n`],
  ['a chunk size after a space', `${CHUNKED} 1\r\nx\r\n0\r\n\r\n`],
  ['a chunk size before a space', `${CHUNKED}1 \r\nx\r\n0\r\n\r\n`],
  ['a chunk size above 2^64', `${CHUNKED}10000000000000001\r\nx\r\n0\r\n\r\n`],
  ['a chunk size before a bare line feed', `${CHUNKED}1\nx\r\n0\r\n\r\n`],
  ['a chunk size before two carriage returns', `${CHUNKED}1\r\r\nx\r\n0\r\n\r\n`],
  ['an extension with a line feed', `${CHUNKED}1;a\nx\r\n0\r\n\r\n`],
  ['an extension with a line feed in quotes', `${CHUNKED}1;a="\n"\r\nx\r\n0\r\n\r\n`],
  ['an extension with a carriage return', `${CHUNKED}1;a\rb\r\nx\r\n0\r\n\r\n`],
  ['an extension with a NUL byte', `${CHUNKED}1;a\0\r\nx\r\n0\r\n\r\n`],
  ['an extension without a name', `${CHUNKED}1;\r\nx\r\n0\r\n\r\n`],
  ['an extension with an unclosed quote', `${CHUNKED}1;a="\r\nx\r\n0\r\n\r\n`],
  ['an extension of 20,000 bytes', `${CHUNKED}1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${CHUNKED}1\r\nxy\r\n0\r\n\r\n`],
  ['a chunk that is shorter than its size', `${CHUNKED}3\r\nx\r\n0\r\n\r\n`],
  ['a chunk before a bare line feed', `${CHUNKED}1\r\nx\n0\r\n\r\n`],
  ['a chunk before a bare carriage return', `${CHUNKED}1\r\nx\r0\r\n\r\n`],
  ['a last chunk that ends in a bare line feed', `${CHUNKED}0\n\n`],
  ['a last line that ends in a bare line feed', `${CHUNKED}0\r\n\n`],
  // Trailers.
  ['a request in place of trailers', `${CHUNKED}0\r\n`],
  ['a Content-Length trailer', `${CHUNKED}0\r\ncontent-length: 40\r\n\r\n`],
  ['a Transfer-Encoding trailer', `${CHUNKED}0\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a Proxy-Connection trailer', `${CHUNKED}0\r\nproxy-connection: close\r\n\r\n`],
  ['an Upgrade trailer', `${CHUNKED}0\r\nupgrade: x\r\n\r\n`],
  ['a folded trailer', `${CHUNKED}0\r\nx: y\r\n z\r\n\r\n`],
  ['a trailer before a bare line feed', `${CHUNKED}0\r\nx: y\n\r\n`],
  ['5,000 trailers', `${CHUNKED}0\r\n${'x: y\r\n'.repeat(5_000)}\r\n`],
  // Malformed request lines and headers.
  ['a request line with two spaces', 'GET  /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line with a tab', 'GET\t/v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line with a trailing space', 'GET /v1/models HTTP/1.1 \r\nhost: a\r\n\r\n'],
  ['a request line with a leading space', ' GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line after a bare line feed', '\nGET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line after a bare carriage return', '\rGET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line after a NUL byte', '\0GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a space', 'GET /v1/models x HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a non-ASCII byte', 'GET /v1/models/\xe9 HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a NUL byte', 'GET /v1/\0models HTTP/1.1\r\nhost: a\r\n\r\n'],
  [
    'a target that contains a complete request',
    'GET /v1/models HTTP/1.1\nhost: a\n\nGET / HTTP/1.1\r\nhost: a\r\n\r\n',
  ],
  ['a network-path target without a Host header', 'GET //a@b:80 HTTP/1.1\r\n\r\n'],
  ['a CONNECT target', 'CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a CONNECT to a path', 'CONNECT /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a method of Icecast', 'SOURCE /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a method in lower case', 'get /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a version in lower case', 'GET /v1/models http/1.1\r\nhost: a\r\n\r\n'],
  ['the version 1.10', 'GET /v1/models HTTP/1.10\r\nhost: a\r\n\r\n'],
  ['the version 1.2', 'GET /v1/models HTTP/1.2\r\nhost: a\r\n\r\n'],
  ['a missing version', 'GET /v1/models\r\nhost: a\r\n\r\n'],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a Host header and an empty Host header', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nhost:\r\n\r\n'],
  ['two empty Host headers', 'GET /v1/models HTTP/1.1\r\nhost:\r\nhost:\r\n\r\n'],
  ['a header line of one space', 'GET /v1/models HTTP/1.1\r\nhost: a\r\n \r\n\r\n'],
  ['a folded request line', 'GET /v1/models HTTP/1.1\r\n host: a\r\n\r\n'],
  ['a header name with a non-ASCII byte', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nx\xe9: y\r\n\r\n'],
  ['a header without a colon', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nx\r\n\r\n'],
] as const)
  test(`${about} is rejected with 400 and closes the connection`, async () => {
    const wire = new Wire(url);
    wire.send(Buffer.from(bytes + SMUGGLED + SMUGGLED, 'latin1'));
    const response = await wire.response();
    assert.equal(response?.status, 400);
    assert.ok(isLast(response));
    assert.deepEqual(await readRemaining(wire), []);
  });

test('a request after one with `connection: close` gets no response', async () => {
  const wire = new Wire(url);
  wire.send(request('GET /v1/models HTTP/1.1', [['connection', 'close']]) + SMUGGLED);
  const response = await wire.response();
  assert.equal(response?.status, 200);
  assert.ok(isLast(response));
  assert.deepEqual(await readRemaining(wire), []);
});

test('a truncated body is rejected with 400', async () => {
  for (const bytes of [
    `${head('content-length: 10')}only`,
    `${CHUNKED}a\r\nonly`,
    `${CHUNKED}4\r\nonly\r\n`,
    `${CHUNKED}4\r\nonly\r\n0\r\n`,
    `${CHUNKED}4\r\nonly\r\n0\r\nx: y\r\n`,
  ]) {
    const wire = new Wire(url);
    wire.send(bytes);
    await nextTurn();
    const remaining = await readRemaining(wire);
    assert.deepEqual(
      remaining.map(({ status }) => status),
      [400],
      bytes,
    );
    assert.ok(remaining.every(isLast));
  }
});

test('a request that arrives together with the end of an unused body gets its response', async () => {
  const wire = new Wire(url);
  wire.send(request('PUT /v1/models HTTP/1.1', [['content-length', '3']]));
  assert.equal((await wire.response())?.status, 405);
  wire.send(`abc${SMUGGLED}${SMUGGLED}`);
  assert.deepEqual(
    (await readResponses(wire, 2)).map(({ status }) => status),
    [200, 200],
  );
  wire.end();
});

test('a body of 100,000 chunks is read, and so is the request after it', async () => {
  const wire = new Wire(url);
  wire.send(`${CHUNKED}${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n${SMUGGLED}`);
  const first = await wire.response();
  assert.equal(first?.status, 200);
  assert.equal((jsonOf(first) as { body: string }).body.length, 100_000);
  assert.equal((await wire.response())?.status, 200);
  wire.end();
});

test('a request that arrives byte by byte is parsed the same', async () => {
  const text = `${CHUNKED}3;a="b"\r\nabc\r\n0\r\nx: y\r\n\r\n${SMUGGLED}`;
  const wire = new Wire(url);
  await sendCut(
    wire,
    Buffer.from(text),
    [...text].map((_, n) => n),
  );
  const [first, second] = await readResponses(wire, 2);
  assert.ok(first && second);
  assert.equal((jsonOf(first) as { body: string }).body, 'abc');
  assert.equal((jsonOf(second) as { target: string }).target, '/v1/models');
  wire.end();
});
