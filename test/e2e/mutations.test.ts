/** Twenty thousand requests that nobody honest would send. Set MUTATION_SEED to repeat a run, MUTATIONS for more of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ENDPOINTS, errorFormatOf, OPERATIONS, OPERATOR_ENDPOINTS } from '../../src/rules/index.ts';
import { codeIn } from '../support/envelope.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { type RawAnswer, Wire } from '../support/raw.ts';

const COUNT = Number(process.env.MUTATIONS ?? 20_000);
const SEED = Number(process.env.MUTATION_SEED ?? Date.now() % 2 ** 31);
const LANES = 16;
/** On a busy machine fewer are sent rather than waited for; the number is printed. */
const BUDGET_MS = 50_000;

let gateway: TestGateway;
let keys: string[];

before(async () => {
  gateway = await startGateway();
  keys = Object.values(await gateway.apply(basicSetup()));
});
after(() => gateway.stop());

/** mulberry32: small, fast, and the same everywhere. */
class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }
  chance(part: number): boolean {
    return this.next() < part;
  }
  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}

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
const HONEST =
  '{"model":"demo-responses","input":"hi","messages":[{"role":"user","content":"hi"}],"contents":[{"parts":[{"text":"hi"}]}]}';

function mutatePath(dice: Dice, path: string): string {
  let text = path.replaceAll(/\{\w+\}/g, () => dice.of(SEGMENTS));
  if (dice.chance(0.25)) {
    const at = dice.below(text.length + 1);
    text =
      text.slice(0, at) +
      dice.of(['/', '//', '%', '%2F', '\\', ':', '?', 'é', '.', '*', '\u007f', 'A']) +
      text.slice(at + dice.below(3));
  }
  if (dice.chance(0.05)) text = dice.of(['http://x.test/healthz', '*', '', ' /healthz', '/healthz HTTP/1.1 x', 'x']);
  return dice.chance(0.25) ? text + dice.of(QUERIES) : text;
}

function body(dice: Dice): Buffer {
  const kind = dice.below(14);
  if (kind < 3) return Buffer.alloc(0);
  if (kind === 3) return Buffer.from(HONEST.slice(0, dice.below(HONEST.length)));
  if (kind === 4) return Buffer.from(dice.of(['[', '{"a":']).repeat(1 + dice.below(3_000)));
  if (kind === 5) return Buffer.from(`{"model":${'['.repeat(400)}${']'.repeat(400)}}`);
  if (kind === 6) return Buffer.from(Array.from({ length: 1 + dice.below(200) }, () => dice.below(256)));
  if (kind === 7) return Buffer.from(`{"model":"demo-responses","input":"${'x'.repeat(dice.below(100_000))}"}`);
  if (kind === 8)
    return Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xc0, 0xed, 0xa0, 0x80]), Buffer.from('"}')]);
  if (kind === 9)
    return Buffer.from(
      dice.of([
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
      ]),
    );
  if (kind === 10) return gzipSync(HONEST);
  if (kind === 11)
    return Buffer.from(
      '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\ndemo-image\r\n--x--\r\n'.slice(
        0,
        20 + dice.below(60),
      ),
    );
  const text = [...HONEST];
  for (let n = 1 + dice.below(6); n > 0; n -= 1)
    text[dice.below(text.length)] = dice.of(['"', '{', '}', '[', '\\', '0', 'é', '\u0000', ',', '']);
  return Buffer.from(text.join(''));
}

interface Mutant {
  readonly bytes: Buffer;
  readonly isHead: boolean;
  readonly path: string;
}

function mutant(dice: Dice): Mutant {
  const [usual, plain] = dice.of(ROUTES);
  const method = dice.chance(0.85) ? usual : dice.of(METHODS);
  const target = mutatePath(dice, plain);
  const content = body(dice);
  const lines: string[] = [];
  const add = (name: string, value: string): void => void lines.push(`${name}: ${value}\r\n`);
  if (!dice.chance(0.02)) add('host', 'gateway.test');
  if (dice.chance(0.6))
    add('authorization', `${dice.of(['Bearer ', 'bearer ', 'Basic ', ''])}${dice.chance(0.8) ? dice.of(keys) : 'x'}`);
  if (dice.chance(0.2))
    add(dice.of(['x-api-key', 'x-goog-api-key']), dice.chance(0.5) ? dice.of(keys) : 'y'.repeat(dice.below(400)));
  if (dice.chance(0.7)) add('content-type', dice.chance(0.6) ? 'application/json' : dice.of(TYPES));
  if (dice.chance(0.1)) add('content-encoding', dice.of(ENCODINGS));
  for (let n = dice.chance(0.3) ? 1 + dice.below(3) : 0; n > 0; n -= 1) add(...dice.of(HEADERS));
  const isChunked = content.length > 0 && dice.chance(0.15);
  if (isChunked) add('transfer-encoding', 'chunked');
  else if (content.length > 0 || dice.chance(0.5)) add('content-length', String(content.length));
  const version = dice.chance(0.97) ? 'HTTP/1.1' : dice.of(['HTTP/1.0', 'HTTP/2.0', 'http/1.1', '']);
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1');
  const chunked = isChunked
    ? [Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n0\r\n\r\n')]
    : [content];
  return { bytes: Buffer.concat([head, ...chunked]), isHead: method === 'HEAD', path: target };
}

/** Statuses by number of answers; `0` counts connections that were closed without one. */
const seen = new Map<number, number>();

function judge(answer: RawAnswer | undefined, { path, isHead }: Mutant): void {
  const status = answer?.status ?? 0;
  seen.set(status, (seen.get(status) ?? 0) + 1);
  if (!answer) return;
  const bug =
    status === 500 &&
    gateway.log.find(
      ({ msg, request }) => msg === 'request.internal_error' && request === answer.headers.get('x-request-id'),
    );
  assert.ok(status !== 500, JSON.stringify(bug || answer.text));
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_/, `an id on ${status}`);
  if (status < 400 || isHead) return;
  const parsed: unknown = JSON.parse(answer.text);
  if (path.startsWith('/readyz')) return;
  // What the parser refuses never had a path.
  const isBroken = [400, 408, 431].includes(status) && answer.headers.get('connection') === 'close';
  const plain = path.split(/[?#]/, 1)[0] ?? '';
  const isOpenAi = typeof (parsed as { error?: { param?: unknown } }).error?.param !== 'undefined';
  codeIn(isBroken && isOpenAi ? 'openai' : errorFormatOf(plain), status, parsed);
}

async function lane(seed: number, count: number, deadline: number): Promise<void> {
  const dice = new Dice(seed);
  for (let n = 0; n < count && performance.now() < deadline; n += 1) {
    const mutation = mutant(dice);
    // A connection of its own: a mutant may be two requests, or half of one, and what is left of it goes with it.
    const wire = new Wire(gateway.url);
    try {
      wire.send(mutation.bytes);
      judge(await next(wire, mutation), mutation);
    } catch (error) {
      const shown = mutation.bytes.toString('latin1').slice(0, 400);
      throw new Error(`number ${n} of lane ${seed}: ${String(error)}\n${shown}`, { cause: error });
    } finally {
      wire.end();
    }
  }
}

/** A request may promise more bytes than it has; ending our side tells the server that no more come. */
async function next(wire: Wire, { isHead }: Mutant): Promise<RawAnswer | undefined> {
  const answer = wire.answer({ head: isHead });
  const timer = setTimeout(() => wire.socket.end(), 300);
  return answer.finally(() => clearTimeout(timer));
}

test('twenty thousand mutated requests are all answered, none with a 500, and the server lives', {
  timeout: 120_000,
}, async (t) => {
  t.diagnostic(`MUTATION_SEED=${SEED}`);
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: LANES }, (_, n) => lane(SEED + n, Math.ceil(COUNT / LANES), begun + BUDGET_MS)),
  );
  const sent = [...seen.values()].reduce((sum, count) => sum + count, 0);
  t.diagnostic(
    `${sent} in ${Math.round(performance.now() - begun)} ms: ${JSON.stringify(Object.fromEntries([...seen].sort()))}`,
  );
  assert.deepEqual(
    gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
    [],
  );
  assert.ok(sent >= COUNT / 4, `only ${sent} were sent in time`);
  for (const status of [200, 400, 401, 404, 405]) assert.ok(seen.has(status), `some were ${status}`);
  assert.ok((seen.get(0) ?? 0) < sent / 10, 'few connections were closed without a word');
  assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
});
