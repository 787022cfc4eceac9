/** The real server, byte by byte: it reads what Node's server reads, or refuses and closes. Never two readings, never silence. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { renderError } from '../../src/api/index.ts';
import { createLog, systemClock } from '../../src/core/index.ts';
import {
  type AnyOperation,
  createMetrics,
  createWeb,
  type Handler,
  ROUTES,
  readBody,
  sendJson,
  type Web,
} from '../../src/web/index.ts';
import { type Peer, type ReadRequest, startPeer } from '../support/peer.ts';
import { jsonOf, type RawAnswer, request, Wire } from '../support/raw.ts';
import { anyRequestsTo } from './messages.ts';
import { laterLaw } from './runs.ts';

let web: Web;
let url: string;
let peer: Peer;
const bugs: string[] = [];

/** Answers with the request as the server has read it. */
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
  const log = createLog('error', { write: (line: string) => void bugs.push(line) });
  web = createWeb({ handlers, renderError, log, clock: systemClock, metrics: createMetrics(), trustedProxies: [] });
  const { port } = await web.listen('127.0.0.1', 0);
  url = `http://127.0.0.1:${port}`;
  peer = await startPeer();
});
after(async () => {
  await Promise.all([web.drain(0), peer.stop()]);
  assert.deepEqual(bugs, []);
});

const asEchoed = ({ method, target, fields, body }: ReadRequest): unknown => ({
  method,
  target,
  fields,
  body: body.toString('latin1'),
});
const isLast = (answer: RawAnswer): boolean => answer.headers.get('connection') === 'close';

/** In pieces that the server reads one by one, as far as a network can promise that. */
async function sendCut(wire: Wire, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let at = 0;
  for (const cut of [...cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    if (cut <= at) continue;
    wire.send(bytes.subarray(at, cut));
    at = cut;
    await nextTurn();
  }
}

/** Up to `wanted` answers; fewer when the server closes before. */
async function answersOn(wire: Wire, wanted: number): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  while (answers.length < wanted) {
    const answer = await wire.answer();
    if (!answer) break;
    answers.push(answer);
    if (isLast(answer)) break;
  }
  return answers;
}

/** What still comes after the client has said that it sends no more. */
async function restOn(wire: Wire): Promise<RawAnswer[]> {
  wire.socket.end();
  const rest = await answersOn(wire, 100);
  await wire.closed();
  assert.equal(await wire.answer(), undefined, 'nothing comes after the last answer');
  return rest;
}

test('any bytes give the answers that Node would have given, or a refusal and the end', async () => {
  const texts = anyRequestsTo([
    'POST /v1/messages',
    'GET /v1/models?a=b',
    'DELETE /v1/responses/x',
    'GET /nowhere',
    'PUT /v1/models',
  ]);
  const seen = { whole: 0, rejected: 0 };
  await laterLaw(fc.tuple(texts, fc.array(fc.nat(), { maxLength: 4 })), async ([text, cuts]) => {
    const bytes = Buffer.from(text, 'latin1');
    const node = await peer.asServer(bytes);
    // An answer to HEAD looks as if it had a body, and only here nobody knows beforehand what was asked.
    fc.pre(node.requests.every(({ method }) => method !== 'HEAD'));
    const wire = new Wire(url);
    await sendCut(wire, bytes, cuts);
    const answers = await answersOn(wire, node.requests.length);
    answers.push(...(await restOn(wire)));
    for (const [n, answer] of answers.entries()) {
      const asked = node.requests[n];
      if (answer.status === 200) assert.deepEqual(jsonOf(answer), asked && asEchoed(asked), 'both have read the same');
      else assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`);
      // A body that is not wanted is not waited for.
      assert.ok(
        n < node.begun || isLast(answer),
        'what Node does not understand is rejected, and the connection closed',
      );
    }
    const isRefused = answers.some(isLast);
    if (!isRefused) assert.ok(answers.length >= node.requests.length, 'who is not rejected is answered');
    seen[isRefused ? 'rejected' : 'whole'] += 1;
  });
  assert.ok(Math.min(seen.whole, seen.rejected) > (seen.whole + seen.rejected) / 10, JSON.stringify(seen));
});

const SMUGGLED = request('GET /v1/models HTTP/1.1');
const head = (...lines: string[]): string => ['POST /v1/messages HTTP/1.1', 'host: a', ...lines, '', ''].join('\r\n');
const CHUNKED = head('transfer-encoding: chunked');

for (const [about, bytes] of [
  // Two that say how long it is.
  [
    'a length that hides a request behind chunks',
    `${head('content-length: 60', 'transfer-encoding: chunked')}0\r\n\r\n`,
  ],
  ['chunks that hide a request behind a length', `${head('transfer-encoding: chunked', 'content-length: 4')}5c\r\n`],
  ['a length and an empty coding', `${head('content-length: 5', 'transfer-encoding:')}abcde`],
  ['a length and a coding that is unknown', `${head('content-length: 5', 'transfer-encoding: x')}abcde`],
  ['one length twice', `${head('content-length: 5', 'content-length: 5')}abcde`],
  ['a length and an empty one', `${head('content-length: 5', 'content-length:')}abcde`],
  // Chunked, nearly.
  ['a coding before a tab and a colon', `${head('transfer-encoding\t: chunked')}0\r\n\r\n`],
  ['a coding whose colon is in the next line', `${head('transfer-encoding', ' : chunked')}0\r\n\r\n`],
  ['a coding whose value is in the next line', `${head('transfer-encoding:', ' chunked')}0\r\n\r\n`],
  ['a coding behind a bare line feed', `${head('x: y\ntransfer-encoding: chunked')}0\r\n\r\n`],
  ['a coding behind a bare carriage return', `${head('x: y\rtransfer-encoding: chunked')}0\r\n\r\n`],
  ['a coding behind a zero byte', `${head('\0transfer-encoding: chunked')}0\r\n\r\n`],
  ['a coding in one line, chunked twice', `${head('transfer-encoding: chunked, chunked')}0\r\n\r\n`],
  ['chunked, and then identity', `${head('transfer-encoding: chunked', 'transfer-encoding: identity')}0\r\n\r\n`],
  ['identity, and then chunked', `${head('transfer-encoding: identity', 'transfer-encoding: chunked')}0\r\n\r\n`],
  ['chunked, and then nothing', `${head('transfer-encoding: chunked', 'transfer-encoding:')}0\r\n\r\n`],
  ['chunked with a comma', `${head('transfer-encoding: chunked,')}0\r\n\r\n`],
  ['chunked with a parameter', `${head('transfer-encoding: chunked;q=1')}0\r\n\r\n`],
  ['chunked in quotes', `${head('transfer-encoding: "chunked"')}0\r\n\r\n`],
  ['chunked behind a space that is none', `${head('transfer-encoding: \xa0chunked')}0\r\n\r\n`],
  ['chunked before a form feed', `${head('transfer-encoding: chunked\x0c')}0\r\n\r\n`],
  // Lengths that are none.
  ['a length of 0x0', head('content-length: 0x0')],
  ['an empty length', head('content-length:')],
  ['a length with a point', head('content-length: 0.0')],
  ['a length with an exponent', head('content-length: 0e0')],
  ['a length of two words', head('content-length: 0 0')],
  ['a length with a parameter', head('content-length: 0;x')],
  ['a length with a digit of another script', `${head('content-length: \xb2')}ab`],
  ['a length beyond all numbers', head('content-length: 18446744073709551616')],
  // Chunks that are none.
  ['a size with a sign', `${CHUNKED}+1\r\nx\r\n0\r\n\r\n`],
  ['a size below nothing', `${CHUNKED}-1\r\nx\r\n0\r\n\r\n`],
  ['a size as a program writes it', `${CHUNKED}0x1\r\nx\r\n0\r\n\r\n`],
  ['a size after a space', `${CHUNKED} 1\r\nx\r\n0\r\n\r\n`],
  ['a size before a space', `${CHUNKED}1 \r\nx\r\n0\r\n\r\n`],
  ['a size that is too large to be one', `${CHUNKED}10000000000000001\r\nx\r\n0\r\n\r\n`],
  ['a size before a bare line feed', `${CHUNKED}1\nx\r\n0\r\n\r\n`],
  ['a size before two carriage returns', `${CHUNKED}1\r\r\nx\r\n0\r\n\r\n`],
  ['an extension with a line feed', `${CHUNKED}1;a\nx\r\n0\r\n\r\n`],
  ['an extension with a line feed in quotes', `${CHUNKED}1;a="\n"\r\nx\r\n0\r\n\r\n`],
  ['an extension with a carriage return', `${CHUNKED}1;a\rb\r\nx\r\n0\r\n\r\n`],
  ['an extension with a zero byte', `${CHUNKED}1;a\0\r\nx\r\n0\r\n\r\n`],
  ['an extension without a name', `${CHUNKED}1;\r\nx\r\n0\r\n\r\n`],
  ['an extension whose quote is never closed', `${CHUNKED}1;a="\r\nx\r\n0\r\n\r\n`],
  ['endless extensions', `${CHUNKED}1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${CHUNKED}1\r\nxy\r\n0\r\n\r\n`],
  ['a chunk that is shorter than its size', `${CHUNKED}3\r\nx\r\n0\r\n\r\n`],
  ['a chunk before a bare line feed', `${CHUNKED}1\r\nx\n0\r\n\r\n`],
  ['a chunk before a bare carriage return', `${CHUNKED}1\r\nx\r0\r\n\r\n`],
  ['a last chunk that ends in a bare line feed', `${CHUNKED}0\n\n`],
  ['a last line that ends in a bare line feed', `${CHUNKED}0\r\n\n`],
  // Trailers.
  ['a request in place of trailers', `${CHUNKED}0\r\n`],
  ['a length among the trailers', `${CHUNKED}0\r\ncontent-length: 40\r\n\r\n`],
  ['a coding among the trailers', `${CHUNKED}0\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a trailer in two lines', `${CHUNKED}0\r\nx: y\r\n z\r\n\r\n`],
  ['a trailer before a bare line feed', `${CHUNKED}0\r\nx: y\n\r\n`],
  ['endless trailers', `${CHUNKED}0\r\n${'x: y\r\n'.repeat(5_000)}\r\n`],
  // Lines.
  ['a request line with two spaces', 'GET  /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line with a tab', 'GET\t/v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line with a space behind it', 'GET /v1/models HTTP/1.1 \r\nhost: a\r\n\r\n'],
  ['a request line with a space before it', ' GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line behind a bare line feed', '\nGET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line behind a bare carriage return', '\rGET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a request line behind a zero byte', '\0GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a space', 'GET /v1/models x HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a letter beyond ASCII', 'GET /v1/models/\xe9 HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a zero byte', 'GET /v1/\0models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target with a whole request in it', 'GET /v1/models HTTP/1.1\nhost: a\n\nGET / HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a target that names a host alone', 'GET //a@b:80 HTTP/1.1\r\n\r\n'],
  ['a target that names a port', 'CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a method in small letters', 'get /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a version in small letters', 'GET /v1/models http/1.1\r\nhost: a\r\n\r\n'],
  ['a version with one digit too many', 'GET /v1/models HTTP/1.10\r\nhost: a\r\n\r\n'],
  ['a version that does not exist', 'GET /v1/models HTTP/1.2\r\nhost: a\r\n\r\n'],
  ['no version', 'GET /v1/models\r\nhost: a\r\n\r\n'],
  ['HTTP/2 that begins without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a Host header and an empty one', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nhost:\r\n\r\n'],
  ['two empty Host headers', 'GET /v1/models HTTP/1.1\r\nhost:\r\nhost:\r\n\r\n'],
  ['a header that is a blank line', 'GET /v1/models HTTP/1.1\r\nhost: a\r\n \r\n\r\n'],
  ['a first header that goes on from the request line', 'GET /v1/models HTTP/1.1\r\n host: a\r\n\r\n'],
  ['a name with a letter beyond ASCII', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nx\xe9: y\r\n\r\n'],
  ['a header without a colon', 'GET /v1/models HTTP/1.1\r\nhost: a\r\nx\r\n\r\n'],
] as const)
  test(`${about} is rejected, and nothing behind it is answered`, async () => {
    const wire = new Wire(url);
    wire.send(Buffer.from(bytes + SMUGGLED + SMUGGLED, 'latin1'));
    const answer = await wire.answer();
    assert.equal(answer?.status, 400);
    assert.ok(isLast(answer));
    assert.deepEqual(await restOn(wire), []);
  });

test('a request behind one that asked for the end is not answered', async () => {
  const wire = new Wire(url);
  wire.send(request('GET /v1/models HTTP/1.1', [['connection', 'close']]) + SMUGGLED);
  const answer = await wire.answer();
  assert.equal(answer?.status, 200);
  assert.ok(isLast(answer));
  assert.deepEqual(await restOn(wire), []);
});

test('a body that breaks off is rejected, and never handled as if it were whole', async () => {
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
    const rest = await restOn(wire);
    assert.deepEqual(
      rest.map(({ status }) => status),
      [400],
      bytes,
    );
    assert.ok(rest.every(isLast));
  }
});

test('a request that comes with the end of a body that nobody wanted is answered', async () => {
  const wire = new Wire(url);
  wire.send(request('PUT /v1/models HTTP/1.1', [['content-length', '3']]));
  assert.equal((await wire.answer())?.status, 405);
  wire.send(`abc${SMUGGLED}${SMUGGLED}`);
  assert.deepEqual(
    (await answersOn(wire, 2)).map(({ status }) => status),
    [200, 200],
  );
  wire.end();
});

test('very many tiny chunks are one body, and the next request is read behind them', async () => {
  const wire = new Wire(url);
  wire.send(`${CHUNKED}${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n${SMUGGLED}`);
  const first = await wire.answer();
  assert.equal(first?.status, 200);
  assert.equal((jsonOf(first) as { body: string }).body.length, 100_000);
  assert.equal((await wire.answer())?.status, 200);
  wire.end();
});

test('a request that comes byte by byte is the same request', async () => {
  const text = `${CHUNKED}3;a="b"\r\nabc\r\n0\r\nx: y\r\n\r\n${SMUGGLED}`;
  const wire = new Wire(url);
  await sendCut(
    wire,
    Buffer.from(text),
    [...text].map((_, n) => n),
  );
  const [first, second] = await answersOn(wire, 2);
  assert.ok(first && second);
  assert.equal((jsonOf(first) as { body: string }).body, 'abc');
  assert.equal((jsonOf(second) as { target: string }).target, '/v1/models');
  wire.end();
});
