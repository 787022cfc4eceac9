// set: sweeps; thousands of mutated requests
/** Thousands of malformed and unusual requests. `LAWS_SEED` repeats a run, `LAWS_RUNS` sends more of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { ENDPOINTS, errorFormatOf, OPERATIONS, OPERATOR_ENDPOINTS } from '../../src/rules/index.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { runs, SEED } from '../support/properties.ts';
import { type RawResponse, Wire } from '../support/raw.ts';
import { HANGING_MS } from '../support/wait.ts';

const COUNT = runs(8_000);
/** Connections at a time. */
const LANES = 16;
/** A busy machine sends fewer requests instead of taking longer; the number is printed. */
const BUDGET_MS = 50_000;

let gateway: TestGateway;
let keys: string[];

before(async () => {
  gateway = await startGateway();
  keys = Object.values(await gateway.apply(basicSetup()));
});
after(() => gateway.stop());

const METHODS = [
  'GET',
  'POST',
  'DELETE',
  'PUT',
  'PATCH',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'BREW',
  'get',
  'G ET',
  '',
];
const ROUTES: readonly (readonly [string, string])[] = [
  ...OPERATIONS.flatMap((operation): [string, string][] => {
    const row = ENDPOINTS[operation];
    const paths = 'alias' in row ? [row.path, row.alias] : [row.path];
    return paths.map((path) => [row.method, path]);
  }),
  ...Object.values(OPERATOR_ENDPOINTS).map(({ method, path }): [string, string] => [method, path]),
  ['GET', '/'],
  ['POST', '/v1'],
  ['GET', '/nowhere'],
];
const SEGMENTS = [
  'demo-responses',
  'demo-x',
  'x',
  '%zz',
  '%00',
  '%2e%2e',
  '..',
  '.',
  '%ff',
  '%F0%9F%90%89',
  'a:b',
  ':',
  'a'.repeat(600),
  '__proto__',
  'constructor',
  '*',
  '%252f',
  ';',
  '~',
  "'--",
  '{model}',
];
const QUERIES = [
  '?',
  '?key=',
  '?key=nonsense',
  '?key=%',
  '?alt=sse',
  '?alt=sse&alt=json',
  '?a[b]=c&__proto__[x]=1',
  `?${'q=1&'.repeat(300)}`,
  '?\u0001',
  '?limit=-1&after=%ff',
  '#part',
];
const TYPES = [
  'application/json',
  'application/json; charset=utf-7',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '',
  ';;;',
  'a/b; c="',
  'application/json, text/html',
  '\u00ff',
  'application/vnd.x+json',
];
const ENCODINGS = ['gzip', 'br', 'deflate', 'zstd', 'identity', 'gzip, gzip', 'x', ''];
const HEADERS: readonly [string, string][] = [
  ['connection', 'upgrade'],
  ['upgrade', 'websocket'],
  ['upgrade', 'h2c'],
  ['sec-websocket-version', '13'],
  ['sec-websocket-key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ['expect', '100-continue'],
  ['expect', 'tea'],
  ['host', ''],
  ['host', 'other'],
  ['accept', 'text/event-stream'],
  ['accept-encoding', '\u00ff'],
  ['x-forwarded-for', '1.2.3.4, ::1, x'],
  ['range', 'bytes=0-1'],
  ['if-none-match', '*'],
  ['idempotency-key', 'k'.repeat(300)],
  ['x-request-id', '../../x'],
  ['anthropic-version', 'x'],
  ['anthropic-beta', ','.repeat(500)],
  ['traceparent', 'x'],
  ['cookie', 'a=b; __proto__=c'],
  ['te', 'trailers'],
  ['trailer', 'content-length'],
  ['content-length', '99999999999999999999'],
  ['content-length', '-1'],
  ['content-length', '3'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'gzip'],
  ['x-bad', 'a\u0000b'],
  ['x-bad', 'a\rb'],
  ['bad name', 'x'],
  ['x-long', 'l'.repeat(9_000)],
  ['__proto__', 'x'],
  ['constructor', 'x'],
];
const VALID_BODY =
  '{"model":"demo-responses","input":"hi","messages":[{"role":"user","content":"hi"}],"contents":[{"parts":[{"text":"hi"}]}]}';
const SMALL_BODIES = [
  'null',
  '1',
  '"x"',
  '[]',
  '{}',
  'true',
  'NaN',
  '\ufeff{}',
  '{"model":1}',
  '{"model":null}',
  '{"model":"\\ud800"}',
  '{"a":1,"a":2}',
  '1e999',
  '{"__proto__":{"x":1},"model":"demo-x"}',
  '{"model":"demo-x","stream":"yes"}',
  '{"model":"demo-x","messages":{}}',
  '{"model":"demo-x","input":[[[]]]}',
];
const FORM = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\ndemo-image\r\n--x--\r\n';

// ---------------------------------------------------------------- arbitrary requests

/** `often` in this percentage of cases, else `otherwise`. */
const mostly = <T>(percent: number, often: fc.Arbitrary<T>, otherwise: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: percent, arbitrary: often }, { weight: 100 - percent, arbitrary: otherwise });
const chance = (percent: number): fc.Arbitrary<boolean> => mostly(percent, fc.constant(true), fc.constant(false));
const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const insertion = fc.record({
  text: oneOf(['/', '//', '%', '%2F', '\\', ':', '?', 'é', '.', '*', '\u007f', 'A']),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat(2),
});

/** A route with its parameters filled in; sometimes with an inserted text or a query, sometimes replaced. */
const targetOf = (path: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      oneOf(SEGMENTS),
      mostly(75, fc.constant(undefined), insertion),
      mostly(
        95,
        fc.constant(undefined),
        oneOf(['http://x.test/healthz', '*', '', ' /healthz', '/healthz HTTP/1.1 x', 'x']),
      ),
      mostly(75, fc.constant(''), oneOf(QUERIES)),
    )
    .map(([segment, inserted, replacement, query]) => {
      const filled = path.replaceAll(/\{\w+\}/g, () => segment);
      return (replacement ?? (inserted ? insert(filled, inserted) : filled)) + query;
    });

function insert(text: string, { text: added, at, removed }: { text: string; at: number; removed: number }): string {
  const index = Math.round(at * text.length);
  return text.slice(0, index) + added + text.slice(index + removed);
}

const bytes = (text: string): Buffer => Buffer.from(text);

const body: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(Buffer.alloc(0)) },
  fc.nat(VALID_BODY.length).map((length) => bytes(VALID_BODY.slice(0, length))),
  fc.tuple(oneOf(['[', '{"a":']), fc.integer({ min: 1, max: 3_000 })).map(([text, times]) => bytes(text.repeat(times))),
  fc.constant(bytes(`{"model":${'['.repeat(400)}${']'.repeat(400)}}`)),
  fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }).map((values) => Buffer.from(values)),
  fc.nat(100_000).map((length) => bytes(`{"model":"demo-responses","input":"${'x'.repeat(length)}"}`)),
  fc.constant(Buffer.concat([bytes('{"model":"'), Buffer.from([0xff, 0xc0, 0xed, 0xa0, 0x80]), bytes('"}')])),
  oneOf(SMALL_BODIES).map(bytes),
  fc.constant(gzipSync(VALID_BODY)),
  fc.integer({ min: 20, max: FORM.length }).map((length) => bytes(FORM.slice(0, length))),
  {
    weight: 2,
    arbitrary: fc
      .array(fc.tuple(fc.nat(VALID_BODY.length - 1), oneOf(['"', '{', '}', '[', '\\', '0', 'é', '\u0000', ',', ''])), {
        minLength: 1,
        maxLength: 6,
      })
      .map((edits) => {
        const characters = [...VALID_BODY];
        for (const [index, character] of edits) characters[index] = character;
        return bytes(characters.join(''));
      }),
  },
);

type Header = readonly [name: string, value: string];

/** Headers of a request, without those that frame its body. Needs the keys, which exist once the gateway runs. */
const headersOf = (): fc.Arbitrary<Header[]> => {
  const none = fc.constant<Header[]>([]);
  const header = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Header[]> =>
    fc.tuple(name, value).map((one) => [one]);
  const credential = fc
    .tuple(oneOf(['Bearer ', 'bearer ', 'Basic ', '']), mostly(80, oneOf(keys), fc.constant('x')))
    .map((parts) => parts.join(''));
  const apiKey = mostly(
    50,
    oneOf(keys),
    fc.nat(400).map((length) => 'y'.repeat(length)),
  );
  return fc
    .tuple(
      mostly(98, header(fc.constant('host'), fc.constant('gateway.test')), none),
      mostly(60, header(fc.constant('authorization'), credential), none),
      mostly(20, header(oneOf(['x-api-key', 'x-goog-api-key']), apiKey), none),
      mostly(70, header(fc.constant('content-type'), mostly(60, fc.constant('application/json'), oneOf(TYPES))), none),
      mostly(10, header(fc.constant('content-encoding'), oneOf(ENCODINGS)), none),
      mostly(70, none, fc.array(oneOf(HEADERS), { minLength: 1, maxLength: 3 })),
    )
    .map((lists) => lists.flat());
};

interface Mutant {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: readonly Header[];
  readonly content: Buffer;
  readonly isChunked: boolean;
  readonly hasLength: boolean;
}

const mutants = (): fc.Arbitrary<Mutant> =>
  oneOf(ROUTES).chain(([method, path]) =>
    fc.record({
      method: mostly(85, fc.constant(method), oneOf(METHODS)),
      target: targetOf(path),
      version: mostly(97, fc.constant('HTTP/1.1'), oneOf(['HTTP/1.0', 'HTTP/2.0', 'http/1.1', ''])),
      headers: headersOf(),
      content: body,
      isChunked: chance(15),
      hasLength: chance(50),
    }),
  );

function serialize({ method, target, version, headers, content, isChunked, hasLength }: Mutant): Buffer {
  const isEmpty = content.length === 0;
  const framing: Header[] =
    isChunked && !isEmpty
      ? [['transfer-encoding', 'chunked']]
      : isEmpty && !hasLength
        ? []
        : [['content-length', String(content.length)]];
  const lines = [...headers, ...framing].map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1');
  if (!isChunked || isEmpty) return Buffer.concat([head, content]);
  return Buffer.concat([head, bytes(`${content.length.toString(16)}\r\n`), content, bytes('\r\n0\r\n\r\n')]);
}

// ---------------------------------------------------------------- responses

/** Number of responses by status; `0` counts connections that were closed without a response. */
const seen = new Map<number, number>();

/** Sends a request on its own connection, because a mutant may be two requests, or half of one. */
async function exchange(mutant: Mutant): Promise<RawResponse | undefined> {
  const wire = new Wire(gateway.url);
  wire.send(serialize(mutant));
  // A request may announce more bytes than it has; the end of the connection shows that no more follow.
  const timer = setTimeout(() => wire.socket.end(), 300);
  try {
    return await wire.response({ head: mutant.method === 'HEAD' });
  } finally {
    clearTimeout(timer);
    wire.end();
  }
}

function assertResponse(response: RawResponse | undefined, { target, method }: Mutant): void {
  const status = response?.status ?? 0;
  seen.set(status, (seen.get(status) ?? 0) + 1);
  if (!response) return;
  const id = response.headers.get('x-request-id');
  const bug =
    status === 500 && gateway.log.find(({ msg, request }) => msg === 'request.internal_error' && request === id);
  assert.ok(status !== 500, JSON.stringify(bug || response.text));
  assert.match(id ?? '', /^req_/, `a request id on ${status}`);
  if (status < 400 || method === 'HEAD') return;
  // For a person in a browser.
  if (response.headers.get('content-type')?.startsWith('text/html') && target.startsWith('/return/')) return;
  const parsed: unknown = JSON.parse(response.text);
  if (target.startsWith('/readyz')) return;
  // A request that the HTTP parser rejects has no path, so its error has the default format.
  const isMalformed = [400, 408, 431].includes(status) && response.headers.get('connection') === 'close';
  const path = target.split(/[?#]/, 1)[0] ?? '';
  const isOpenAi = typeof (parsed as { error?: { param?: unknown } }).error?.param !== 'undefined';
  // SDK families share these paths; the form of the key and other headers decide.
  const isShared = /^\/v1\/(?:models|files)(?:\/|$)/.test(path) && errorFormatOf(path) === 'openai';
  const isMessages = (parsed as { type?: unknown }).type === 'error';
  const shared = isMessages ? 'messages' : isOpenAi ? 'openai' : 'generate';
  const format = isShared ? shared : errorFormatOf(path);
  errorCode(isMalformed && isOpenAi ? 'openai' : format, status, parsed);
}

test('HTTP server responds to thousands of mutated requests without a 500 and stays ready', {
  timeout: 2 * HANGING_MS,
}, async (t) => {
  const begun = performance.now();
  const property = fc.asyncProperty(mutants(), async (mutant) => assertResponse(await exchange(mutant), mutant));
  await Promise.all(
    Array.from({ length: LANES }, (_, n) =>
      fc.assert(property, {
        seed: SEED + n,
        numRuns: Math.ceil(COUNT / LANES),
        interruptAfterTimeLimit: BUDGET_MS,
        markInterruptAsFailure: false,
      }),
    ),
  );
  const sent = [...seen.values()].reduce((sum, count) => sum + count, 0);
  t.diagnostic(
    `${sent} in ${Math.round(performance.now() - begun)} ms: ${JSON.stringify(Object.fromEntries([...seen].sort()))}`,
  );
  assert.deepEqual(
    gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
    [],
  );
  assert.ok(sent >= COUNT / 4, `only ${sent} requests were sent in time`);
  for (const status of [200, 400, 401, 404, 405]) assert.ok(seen.has(status), `some responses are ${status}`);
  assert.ok((seen.get(0) ?? 0) < sent / 10, 'few connections are closed without a response');
  assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
});
