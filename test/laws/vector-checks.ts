/** Runs a vector through the codecs and compares the result with what it expects. */
import assert from 'node:assert/strict';
import { ApiError, readSse } from '../../src/core/index.ts';
import {
  type ConvertedRequest,
  codecOf,
  encodeRequestFor,
  type HubEvent,
  type HubRequest,
  openDecoding,
  pairOf,
  readReply,
} from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { deepFreeze, type WireEvent } from '../support/dialects/codecs.ts';
import { convert, DECODE_CONTEXT, readStreamAs, replyContextFor, sseBytes, targetFor } from './dialect-pairs.ts';
import { assertMatches, at, matches } from './matching.ts';
import { normalize } from './normalize.ts';
import type { ExpectedRejection, ExpectedReply, ExpectedRequest, Json, TargetOptions, Vector } from './vector.ts';

/** Checks the upstream request, the response to the client, and the client's next request, as far as the vector has them. */
export function checkVector(vector: Vector): void {
  const isReply = vector.events !== undefined || vector.unary !== undefined || vector.failure !== undefined;
  if (!isReply) checkRequest(vector, vector.request ?? {}, vector);
  if (vector.prefix !== undefined) checkPrefix(vector, vector.prefix);
  if (vector.failure) checkFailure(vector);
  if (vector.events || vector.unary !== undefined) checkReply(vector);
}

// ---------------------------------------------------------------- requests

const CONVERSATION: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};

/** Required fields of each dialect, for vectors about replies. */
const MINIMAL: Readonly<Record<Dialect, Json>> = {
  messages: { model: 'm', max_tokens: 4_000 },
  chat: { model: 'm' },
  responses: { model: 'm' },
  generate: {},
};

const HI = { role: 'user', content: 'hi' };

function decodeRequest({ client, head }: Vector, request: Json): HubRequest {
  const hi = client === 'generate' ? { role: 'user', parts: [{ text: 'hi' }] } : HI;
  const body = { ...MINIMAL[client], [CONVERSATION[client]]: [hi], ...request };
  return deepFreeze(codecOf(client).client.decodeRequest(body, { headers: {}, model: 'asked-for', ...head }));
}

function encodeRequest(
  vector: Vector,
  request: Json,
  { upstream = vector.upstream, target: options = vector.target ?? {} }: Outcome = {},
): ConvertedRequest {
  const { model = 'some-model', account, capabilities } = options;
  const target = { ...targetFor(upstream, model, capabilities), ...(account !== undefined && { account }) };
  return encodeRequestFor(pairOf({ client: vector.client, upstream }), decodeRequest(vector, request), target);
}

/** The hub request of a vector and its encoded form; decoding the reply needs both. */
export function encodeRequestOf(vector: Vector): { readonly request: HubRequest; readonly encoded: ConvertedRequest } {
  const body = vector.request ?? {};
  return { request: decodeRequest(vector, body), encoded: encodeRequest(vector, body) };
}

interface Outcome {
  readonly expect?: ExpectedRequest;
  readonly rejected?: ExpectedRejection;
  readonly upstream?: Dialect;
  readonly target?: TargetOptions;
}

function checkRequest(vector: Vector, request: Json, outcome: Outcome): void {
  if (outcome.rejected) {
    const { code, param, message, reason } = outcome.rejected;
    assert.throws(
      () => encodeRequest(vector, request, outcome),
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
  const encoded = encodeRequest(vector, request, outcome);
  const expected = outcome.expect ?? {};
  if (expected.body) assertMatches(encoded.body, expected.body, 'the body');
  if (expected.headers) assertMatches(encoded.headers, expected.headers, 'the headers');
  checkAbsent(encoded.body, expected);
  if (expected.emulatedStop) assert.deepEqual(encoded.emulateStop, expected.emulatedStop);
  if (expected.droppedFields) assert.deepEqual(encoded.droppedFields, expected.droppedFields);
  if (expected.dropped) assert.deepEqual(encoded.dropped, expected.dropped);
}

function checkAbsent(body: unknown, { absent = [], nowhere = [] }: Pick<ExpectedRequest, 'absent' | 'nowhere'>): void {
  for (const path of absent) assert.equal(at(body, path), undefined, `${path} must be undefined`);
  for (const text of nowhere) assert.ok(!JSON.stringify(body).includes(text), `${text} must not occur in the body`);
}

function checkPrefix(vector: Vector, length: number): void {
  const { client, upstream, request = {} } = vector;
  const entries = request[CONVERSATION[client]] as unknown[];
  const before = { ...request, [CONVERSATION[client]]: entries.slice(0, length) };
  const encodedEntries = (body: Json) =>
    (encodeRequest(vector, body).body[CONVERSATION[upstream]] as unknown[]).map((entry) => JSON.stringify(entry));
  const short = encodedEntries(before);
  assert.deepEqual(encodedEntries(request).slice(0, short.length), short);
}

// ---------------------------------------------------------------- failures

function checkFailure({ client, upstream, failure, fault, expect }: Vector): void {
  assert.ok(failure);
  const body = typeof failure.body === 'string' ? failure.body : JSON.stringify(failure.body);
  const pair = pairOf({ client, upstream });
  const decoded = pair.upstream.decodeError({ status: failure.status, headers: failure.headers ?? {}, body });
  assert.deepEqual({ kind: decoded.kind, code: decoded.error.code }, fault);
  const request = deepFreeze(
    pair.client.decodeRequest({ ...MINIMAL[client], [CONVERSATION[client]]: [HI] }, { headers: {}, model: 'm' }),
  );
  const encoder = pair.client.openEncoder(replyContextFor(request, upstream));
  const result = readStreamAs(client, encoder.push({ kind: 'error', error: decoded.error }), request);
  assert.equal(result.end, 'error');
  if (result.end === 'error') assertMatches(result.error, expect?.error, 'the error');
}

// ---------------------------------------------------------------- replies

function checkReply(vector: Vector): void {
  const { client, upstream, expect: expected = {} } = vector;
  const { request, encoded } = encodeRequestOf(vector);
  let body: unknown;
  for (const events of variantsOf(vector)) {
    const { hub, text } = convert({ client, upstream }, events, request, encoded);
    assert.equal(convertByteByByte(vector, events, request, encoded), text, 'the same text when fed byte by byte');
    if (expected.hub) assert.deepEqual([...new Set(hub.map((event) => event.kind))], expected.hub);
    checkStream(text, expected);
    const result = readStreamAs(client, text, request);
    if (result.end === 'error') assertMatches(result.error, expected.error ?? 'no error', 'the error');
    else body = checkBody(result.body, expected);
  }
  if (vector.unary !== undefined) {
    const pair = pairOf(vector);
    const reply = readReply(pair.upstream, encoded, vector.unary, DECODE_CONTEXT);
    const unary = pair.client.encodeReply(reply, replyContextFor(request, upstream));
    checkBody(unary, expected);
    if (body !== undefined)
      assert.deepEqual(normalize(client, body), normalize(client, unary), 'the stream adds up to the unary response');
    body ??= unary;
  }
  if (vector.next) checkNext(vector, body as Json);
}

/** The events as they are, then with the tool input of event `cutAt` cut at every position. */
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

/** Feeds single bytes, with CRLF, and without the last blank line for dialects whose servers omit it. */
function convertByteByByte(
  vector: Vector,
  events: readonly WireEvent[],
  request: HubRequest,
  encoded: ConvertedRequest,
): string {
  const { client, upstream } = vector;
  const keepTail = upstream === 'chat' || upstream === 'generate';
  const pair = pairOf({ client, upstream });
  const encoder = pair.client.openEncoder(replyContextFor(request, upstream));
  const decoding = openDecoding(pair.upstream, encoded, DECODE_CONTEXT);
  let text = '';
  const emit = (events: readonly HubEvent[]): void => {
    for (const event of events) text += encoder.push(event);
  };
  const reader = readSse((data, event) => emit(decoding.decode(data, event)));
  const bytes = sseBytes(upstream, events, '\r\n');
  const sent = keepTail && bytes.length > 4 ? bytes.subarray(0, -4) : bytes;
  for (let byte = 0; byte < sent.length; byte += 1) reader.feed(sent.subarray(byte, byte + 1));
  reader.end({ keepTail });
  emit(decoding.end());
  return text;
}

function checkBody(body: unknown, expected: ExpectedReply): unknown {
  assert.equal(expected.error, undefined, 'expected an error, got a response');
  if (expected.body !== undefined) assertMatches(body, expected.body, 'the response');
  checkAbsent(body, expected);
  return body;
}

function checkStream(text: string, { stream = [], never = [], nowhere = [] }: ExpectedReply): void {
  for (const forbidden of nowhere) assert.ok(!text.includes(forbidden), `${forbidden} must not occur in the stream`);
  const events = text
    .split('\n\n')
    .flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? [])
    .map((data): unknown => (data === '[DONE]' ? data : JSON.parse(data)));
  let from = 0;
  for (const expected of stream) {
    const found = events.findIndex((event, n) => n >= from && matches(event, expected));
    assert.ok(found >= 0, `no event ${JSON.stringify(expected)} in this order in\n${text}`);
    from = found + 1;
  }
  for (const unwanted of never) {
    assert.ok(
      !events.some((event) => matches(event, unwanted)),
      `the stream must not contain ${JSON.stringify(unwanted)}`,
    );
  }
}

/** What the client appends to its conversation after a reply. */
const REPLY_AS_INPUT: Readonly<Record<Dialect, (body: Json) => Json[]>> = {
  messages: (body) => [{ role: 'assistant', content: body.content }],
  chat: (body) => (body.choices as { message: Json }[]).map(({ message }) => message),
  responses: (body) => body.output as Json[],
  generate: (body) => (body.candidates as { content: Json }[]).map(({ content }) => content),
};

function checkNext(vector: Vector, body: Json): void {
  const { client, request = {}, next } = vector;
  assert.ok(next && body);
  const before = (request[CONVERSATION[client]] as Json[] | undefined) ?? [HI];
  const entries = [...before, ...REPLY_AS_INPUT[client](body), ...next.add];
  checkRequest(vector, { ...request, [CONVERSATION[client]]: entries }, next);
}
