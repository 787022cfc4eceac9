import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError, readSse } from '../../src/core/index.ts';
import { type HubEvent, openDecoding, pairOf, upstreamOf } from '../../src/dialects/index.ts';
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { checkEventOrder, dataOf, readVectors, type WireEvent } from '../support/dialects/codecs.ts';
import {
  DECODE_CONTEXT,
  DIALECT_PAIRS,
  type DialectPair,
  EMPTY_ENCODED,
  readStreamAs,
  replyContextFor,
  requestFrom,
  sseBytes,
  UPSTREAMS,
} from './dialect-pairs.ts';
import { law } from './runs.ts';

/** Converts arbitrary upstream bytes and checks that the client stream is valid and ends in an error if the hub stream does. */
function convertBytes({ client, upstream }: DialectPair, pieces: readonly Uint8Array[]): void {
  const request = requestFrom(client);
  const pair = pairOf({ client, upstream });
  const encoder = pair.client.openEncoder(replyContextFor(request, upstream));
  const decoding = openDecoding(pair.upstream, EMPTY_ENCODED, DECODE_CONTEXT);
  const hub: HubEvent[] = [];
  let text = '';
  const emit = (events: readonly HubEvent[]): void => {
    for (const event of events) {
      hub.push(event);
      text += encoder.push(event);
    }
  };
  const reader = readSse((data, event) => emit(decoding.decode(data, event)));
  for (const piece of pieces) reader.feed(piece);
  reader.end({ keepTail: upstream === 'chat' || upstream === 'generate' });
  emit(decoding.end());
  checkEventOrder(hub);
  const result = readStreamAs(client, text, request);
  const last = hub.at(-1);
  if (last?.kind === 'error') assert.equal(result.end, 'error', 'an error in the hub is an error for the client');
}

// ---------------------------------------------------------------- mutations

type Change = (events: readonly WireEvent[]) => readonly WireEvent[];

const junk = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 0.5, 1e308, Number.MAX_SAFE_INTEGER + 2, '', 'x', [], {}, [[]], [null], {
    type: 'x',
  }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Replaces one member at any depth, or removes it. */
const replaceMember: fc.Arbitrary<Change> = fc
  .record({
    event: fc.nat(),
    path: fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
    value: fc.option(junk, { freq: 5 }),
  })
  .map(
    ({ event, path, value }) =>
      (events) =>
        events.map((one, n) =>
          n === event % events.length && typeof one.data === 'object'
            ? { ...one, data: withMember(one.data, path, value) }
            : one,
        ),
  );

function withMember(node: unknown, [step = 0, ...rest]: readonly number[], value: unknown): unknown {
  if (typeof node !== 'object' || node === null) return value;
  const names = Object.keys(node);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return value;
  const copy: Record<string, unknown> = { ...(node as Record<string, unknown>) };
  copy[name] = rest.length > 0 ? withMember(copy[name], rest, value) : value;
  return Array.isArray(node) ? Object.values(copy) : copy;
}

const dropEvent: fc.Arbitrary<Change> = fc
  .nat()
  .map((at) => (events) => events.filter((_, n) => n !== at % events.length));
const repeatEvent: fc.Arbitrary<Change> = fc
  .nat()
  .map((at) => (events) => events.flatMap((event, n) => (n === at % events.length ? [event, event] : [event])));
const swapEvents: fc.Arbitrary<Change> = fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => (events) => {
  const copy = [...events];
  const [x, y] = [a % events.length, b % events.length];
  [copy[x], copy[y]] = [copy[y] as WireEvent, copy[x] as WireEvent];
  return copy;
});
const truncate: fc.Arbitrary<Change> = fc.nat().map((at) => (events) => events.slice(0, at % events.length));
const insertEvent: fc.Arbitrary<Change> = fc
  .tuple(
    fc.nat(),
    fc.oneof(junk, fc.constantFrom('{"type":', '<html>', 'data', '[DONE]', '{}', '{"type":"unknown.event"}')),
  )
  .map(([at, data]) => (events) => [
    ...events.slice(0, at % events.length),
    { data: data ?? 'null' },
    ...events.slice(at % events.length),
  ]);

const changes = fc.array(
  fc.oneof({ weight: 4, arbitrary: replaceMember }, dropEvent, repeatEvent, swapEvents, truncate, insertEvent),
  {
    minLength: 1,
    maxLength: 4,
  },
);

const REPLIES: Readonly<Record<UpstreamDialect, readonly (readonly WireEvent[])[]>> = {
  messages: readVectors('messages').map(({ events }) => events),
  chat: readVectors('chat').map(({ events }) => events),
  responses: readVectors('responses').map(({ events }) => events),
  generate: readVectors('generate').map(({ events }) => events),
  converse: readVectors('converse').map(({ events }) => events),
};

// Only converted pairs: a native stream passes through unchanged.
for (const pair of DIALECT_PAIRS.filter(({ client, upstream }) => client !== upstream)) {
  const { upstream, name, isOffered } = pair;
  test(`${name}: mutated, missing, repeated, swapped or inserted events never make the client stream invalid`, () => {
    law(
      fc.tuple(fc.nat(), changes),
      ([pick, steps]) => {
        const vectors = REPLIES[upstream];
        let events = vectors[pick % vectors.length] ?? [];
        for (const step of steps) if (events.length > 0) events = step(events);
        convertBytes(pair, [
          sseBytes(
            upstream,
            events.map(({ data, event }) => ({ data: dataOf(data) ?? '', ...(event !== undefined && { event }) })),
          ),
        ]);
      },
      isOffered ? 1 : 0.1,
    );
  });

  test(`${name}: flipped bytes, cut characters and noise never make the client stream invalid`, () => {
    law(
      fc.record({
        pick: fc.nat(),
        flips: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
        length: fc.nat(),
        noise: fc.uint8Array({ maxLength: 40 }),
      }),
      ({ pick, flips, length, noise }) => {
        const vectors = REPLIES[upstream];
        const bytes = Uint8Array.from(sseBytes(upstream, vectors[pick % vectors.length] ?? []));
        for (const [at, value] of flips) bytes[at % bytes.length] = value;
        const cut = length % bytes.length;
        convertBytes(pair, [bytes.subarray(0, cut), noise, bytes.subarray(cut)]);
      },
      isOffered ? 0.5 : 0.05,
    );
  });
}

for (const dialect of UPSTREAMS) {
  test(`decodeReply of the ${dialect} dialect throws only ApiError for a body of any shape`, () => {
    const bodies = readVectors(dialect).flatMap(({ unary }) => (unary === undefined ? [] : [unary]));
    law(
      fc.tuple(
        fc.nat(),
        fc.array(fc.tuple(fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), junk), { maxLength: 3 }),
        junk,
      ),
      ([pick, replacements, other]) => {
        const body = replacements.reduce(
          (node, [path, value]) => withMember(node, path, value),
          bodies[pick % bodies.length] ?? other,
        );
        for (const one of [body, other]) {
          try {
            upstreamOf(dialect).decodeReply(one, DECODE_CONTEXT);
          } catch (error) {
            assert.ok(error instanceof ApiError, `${String(error)} on ${JSON.stringify(one)}`);
          }
        }
      },
    );
  });
}

test('readSse throws instead of buffering an endless line', () => {
  const reader = readSse(() => assert.fail('no event expected'));
  const megabyte = new Uint8Array(2 ** 20).fill(0x61);
  reader.feed(new TextEncoder().encode('data: '));
  assert.throws(() => {
    for (let n = 0; n < 40; n += 1) reader.feed(megabyte);
  });
});
