/** One situation that a conversion must master, as data, and the proof that it does. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { ApiError, readSse } from '../../src/core/index.ts';
import {
  type ConvertedRequest,
  codecOf,
  convertReply,
  encodeRequestFor,
  type HubEvent,
  type HubRequest,
  openConversion,
} from '../../src/dialects/index.ts';
import type { CapabilityOverrides, Dialect } from '../../src/rules/index.ts';
import { deepFreeze, type WireEvent } from '../support/dialects/codecs.ts';
import { answerTo, bytesOf, convert, pairOf, readAs, targetFor } from './dialect-pairs.ts';
import { assertMatches, at, matches } from './matching.ts';
import { plain } from './normalize.ts';

type Json = Record<string, unknown>;

/** What goes to the upstream, or why nothing does. */
export interface Written {
  readonly body?: Json;
  readonly headers?: Json;
  readonly absent?: readonly string[];
  /** Words that stand in no field at all. */
  readonly nowhere?: readonly string[];
  readonly droppedFields?: readonly string[];
  readonly dropped?: readonly string[];
  /** Stop sequences that the gateway has to watch for itself. */
  readonly watched?: readonly string[];
}
export interface Refused {
  readonly code: string;
  readonly param?: string;
  readonly message?: string;
  readonly reason?: string;
}

/** What comes back to the client. */
export interface Answered {
  readonly body?: Json;
  readonly error?: unknown;
  readonly absent?: readonly string[];
  readonly nowhere?: readonly string[];
  /** Events that the stream must hold, in this order, others between them. */
  readonly stream?: readonly unknown[];
  /** Events that it must not hold. */
  readonly never?: readonly unknown[];
  /** Kinds of hub events, where the pipeline decides on them. */
  readonly hub?: readonly string[];
}

export interface Vector {
  readonly client: Dialect;
  readonly upstream: Dialect;
  readonly head?: { readonly headers: Record<string, string> };
  readonly target?: Place;
  readonly request?: Json;
  /** Only so many entries of the conversation were sent before: they must be written the same then. */
  readonly prefix?: number;
  readonly refused?: Refused;
  readonly events?: readonly WireEvent[];
  readonly unary?: unknown;
  readonly failure?: { readonly status: number; readonly headers?: Record<string, string>; readonly body: unknown };
  readonly fault?: { readonly kind: string; readonly code: string };
  /** Of a request what is written, of an answer what the client hears. */
  readonly expect?: Written & Answered;
  /** The piece of arguments with this number is cut at every place. */
  readonly cutAt?: number;
  /** The client goes on: its answer and these entries are added to the conversation. */
  readonly next?: {
    readonly add: readonly Json[];
    readonly upstream?: Dialect;
    readonly target?: Place;
    readonly expect?: Written;
    readonly refused?: Refused;
  };
}

export interface Place {
  readonly model?: string;
  readonly account?: string;
  readonly capabilities?: CapabilityOverrides;
}

/** Runs it both ways: what is written for the upstream, what the client hears, and what goes back when the client goes on. */
export function checkVector(vector: Vector): void {
  const isAnswer = vector.events !== undefined || vector.unary !== undefined || vector.failure !== undefined;
  if (!isAnswer) checkWritten(vector, vector.request ?? {}, vector);
  if (vector.prefix !== undefined) checkPrefix(vector, vector.prefix);
  if (vector.failure) checkFailure(vector);
  if (vector.events || vector.unary !== undefined) checkAnswer(vector);
}

// ---------------------------------------------------------------- requests

const CONVERSATION: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};

/** A request that only exists to be answered says as little as its dialect allows. */
const LEAST: Readonly<Record<Dialect, Json>> = {
  messages: { model: 'm', max_tokens: 4_000 },
  chat: { model: 'm' },
  responses: { model: 'm' },
  generate: {},
};

function read({ client, head }: Vector, request: Json): HubRequest {
  const hi = client === 'generate' ? { role: 'user', parts: [{ text: 'hi' }] } : { role: 'user', content: 'hi' };
  const body = { ...LEAST[client], [CONVERSATION[client]]: [hi], ...request };
  return deepFreeze(codecOf(client).client.decodeRequest(body, { headers: {}, model: 'asked-for', ...head }));
}

function write(
  vector: Vector,
  request: Json,
  upstream = vector.upstream,
  place: Place = vector.target ?? {},
): ConvertedRequest {
  const { model = 'some-model', account, capabilities } = place;
  const target = { ...targetFor(upstream, model, capabilities), ...(account !== undefined && { account }) };
  return encodeRequestFor(pairOf({ client: vector.client, upstream }), read(vector, request), target);
}

/** The request of a situation, read and written; what its answer is told with. */
export function asked(vector: Vector): { readonly request: HubRequest; readonly encoded: ConvertedRequest } {
  const body = vector.request ?? {};
  return { request: read(vector, body), encoded: write(vector, body) };
}

interface Outcome {
  readonly expect?: Written;
  readonly refused?: Refused;
}

function checkWritten(vector: Vector, request: Json, outcome: Outcome, upstream?: Dialect, place?: Place): void {
  if (outcome.refused) {
    const { code, param, message, reason } = outcome.refused;
    assert.throws(
      () => write(vector, request, upstream, place),
      (error) => {
        assert.ok(error instanceof ApiError, String(error));
        assert.equal(error.code, code);
        if (param !== undefined) assert.equal(error.details.param, param);
        if (message !== undefined) assert.match(error.message, new RegExp(message));
        if (reason !== undefined) assert.equal(error.details.reason, reason);
        return true;
      },
    );
    return;
  }
  const encoded = write(vector, request, upstream, place);
  const expected = outcome.expect ?? {};
  if (expected.body) assertMatches(encoded.body, expected.body, 'the body');
  if (expected.headers) assertMatches(encoded.headers, expected.headers, 'the headers');
  checkAbsent(encoded.body, expected);
  if (expected.watched) assert.deepEqual(encoded.emulateStop, expected.watched);
  if (expected.droppedFields) assert.deepEqual(encoded.droppedFields, expected.droppedFields);
  if (expected.dropped) assert.deepEqual(encoded.dropped, expected.dropped);
}

function checkAbsent(body: unknown, { absent = [], nowhere = [] }: Pick<Written, 'absent' | 'nowhere'>): void {
  for (const path of absent) assert.equal(at(body, path), undefined, `${path} must not be there`);
  for (const words of nowhere) assert.ok(!JSON.stringify(body).includes(words), `${words} must stand nowhere`);
}

function checkPrefix(vector: Vector, length: number): void {
  const { client, upstream, request = {} } = vector;
  const entries = request[CONVERSATION[client]] as unknown[];
  const before = { ...request, [CONVERSATION[client]]: entries.slice(0, length) };
  const written = (one: Json) =>
    (write(vector, one).body[CONVERSATION[upstream]] as unknown[]).map((entry) => JSON.stringify(entry));
  const short = written(before);
  assert.deepEqual(written(request).slice(0, short.length), short);
}

// ---------------------------------------------------------------- failures

function checkFailure({ client, upstream, failure, fault, expect }: Vector): void {
  assert.ok(failure);
  const body = typeof failure.body === 'string' ? failure.body : JSON.stringify(failure.body);
  const read = codecOf(upstream).upstream.decodeError({ status: failure.status, headers: failure.headers ?? {}, body });
  assert.deepEqual({ kind: read.kind, code: read.error.code }, fault);
  const request = deepFreeze(
    codecOf(client).client.decodeRequest(
      { ...LEAST[client], [CONVERSATION[client]]: [{ role: 'user', content: 'hi' }] },
      { headers: {}, model: 'm' },
    ),
  );
  const told = readAs(
    client,
    codecOf(client).client.openEncoder(answerTo(request, upstream)).push({ kind: 'error', error: read.error }),
    request,
  );
  assert.equal(told.end, 'error');
  if (told.end === 'error') assertMatches(told.error, expect?.error, 'the error');
}

// ---------------------------------------------------------------- answers

function checkAnswer(vector: Vector): void {
  const { client, upstream, expect: answered = {} } = vector;
  const { request, encoded } = asked(vector);
  let body: unknown;
  for (const events of variantsOf(vector)) {
    const { hub, text } = convert({ client, upstream }, events, request, encoded);
    assert.equal(throughBytes(vector, events, request, encoded), text, 'the same through any bytes');
    if (answered.hub) assert.deepEqual([...new Set(hub.map((event) => event.kind))], answered.hub);
    checkStream(text, answered);
    const told = readAs(client, text, request);
    if (told.end === 'error') assertMatches(told.error, answered.error ?? 'no error', 'the error');
    else body = checkBody(told.body, answered);
  }
  if (vector.unary !== undefined) {
    const whole = convertReply(pairOf(vector), encoded, vector.unary, FROM, answerTo(request, upstream)).body;
    checkBody(whole, answered);
    if (body !== undefined)
      assert.deepEqual(plain(client, body), plain(client, whole), 'the stream adds up to the whole answer');
    body ??= whole;
  }
  if (vector.next) checkNext(vector, body as Json);
}

const FROM = { requestId: 'req_law' };

function* variantsOf({ events = [], cutAt }: Vector): Generator<readonly WireEvent[]> {
  if (events.length > 0) yield events;
  const piece =
    cutAt === undefined ? undefined : (events[cutAt]?.data as { delta: { partial_json: string } } | undefined);
  if (cutAt === undefined || !piece) return;
  const { partial_json } = piece.delta;
  for (let cut = 1; cut < partial_json.length; cut += 1) {
    const part = (json: string): WireEvent => ({ data: { ...piece, delta: { ...piece.delta, partial_json: json } } });
    yield [
      ...events.slice(0, cutAt),
      part(partial_json.slice(0, cut)),
      part(partial_json.slice(cut)),
      ...events.slice(cutAt + 1),
    ];
  }
}

/** Byte by byte, with the other line ends, and without the last blank line where servers forget it. */
function throughBytes(
  vector: Vector,
  events: readonly WireEvent[],
  request: HubRequest,
  encoded: ConvertedRequest,
): string {
  const { client, upstream } = vector;
  const keepTail = upstream === 'chat' || upstream === 'generate';
  const conversion = openConversion(pairOf({ client, upstream }), encoded, FROM, answerTo(request, upstream));
  let text = '';
  const tell = (told: readonly HubEvent[]): void => {
    for (const event of told) text += conversion.encode(event);
  };
  const reader = readSse((data, event) => tell(conversion.decode(data, event)));
  const bytes = bytesOf(upstream, events, '\r\n');
  const sent = keepTail && bytes.length > 4 ? bytes.subarray(0, -4) : bytes;
  for (let byte = 0; byte < sent.length; byte += 1) reader.feed(sent.subarray(byte, byte + 1));
  reader.end({ keepTail });
  tell(conversion.end());
  return text;
}

function checkBody(body: unknown, answered: Answered): unknown {
  assert.equal(answered.error, undefined, 'an answer where an error was expected');
  if (answered.body !== undefined) assertMatches(body, answered.body, 'the answer');
  checkAbsent(body, answered);
  return body;
}

function checkStream(text: string, { stream = [], never = [], nowhere = [] }: Answered): void {
  for (const words of nowhere) assert.ok(!text.includes(words), `${words} must not be told`);
  const events = text
    .split('\n\n')
    .flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? [])
    .map((data): unknown => (data === '[DONE]' ? data : JSON.parse(data)));
  let from = 0;
  for (const expected of stream) {
    const found = events.findIndex((event, n) => n >= from && matches(event, expected));
    assert.ok(found >= 0, `no event ${JSON.stringify(expected)} in its place in\n${text}`);
    from = found + 1;
  }
  for (const unwanted of never) {
    assert.ok(!events.some((event) => matches(event, unwanted)), `${JSON.stringify(unwanted)} must not be told`);
  }
}

/** What the client adds to its conversation after an answer. */
const OWN_TURN: Readonly<Record<Dialect, (body: Json) => Json[]>> = {
  messages: (body) => [{ role: 'assistant', content: body.content }],
  chat: (body) => (body.choices as { message: Json }[]).map(({ message }) => message),
  responses: (body) => body.output as Json[],
  generate: (body) => (body.candidates as { content: Json }[]).map(({ content }) => content),
};

function checkNext(vector: Vector, body: Json): void {
  const { client, request = {}, next } = vector;
  assert.ok(next && body);
  const before = (request[CONVERSATION[client]] as Json[] | undefined) ?? [{ role: 'user', content: 'hi' }];
  const entries = [...before, ...OWN_TURN[client](body), ...next.add];
  checkWritten(
    vector,
    { ...request, [CONVERSATION[client]]: entries },
    next,
    next.upstream,
    next.target ?? vector.target,
  );
}

// ---------------------------------------------------------------- on disk

/** A recorded situation, with the numbers of those it stands for. */
export interface PairVector extends Vector {
  readonly name: string;
  readonly about: string;
  readonly refs: readonly number[];
}

const FOLDER = new URL('../vectors/conversions/', import.meta.url);

export const readPair = (name: string): PairVector => ({
  name,
  ...(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Omit<PairVector, 'name'>),
});

export const readPairs = (): PairVector[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map(readPair);
