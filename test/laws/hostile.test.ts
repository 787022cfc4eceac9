import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError, readSse } from '../../src/core/index.ts';
import { codecOf, type HubEvent, openConversion } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { checkPromises, dataOf, readVectors, type WireEvent } from '../support/dialects/codecs.ts';
import {
  answerTo,
  askedBy,
  bytesOf,
  CROSSINGS,
  type Crossing,
  DIALECTS,
  FROM,
  NOTHING_ENCODED,
  pairOf,
  readAs,
} from './dialect-pairs.ts';
import { law } from './runs.ts';

/** Whatever bytes an upstream sends, told to the client to the end. */
function survive({ client, upstream }: Crossing, pieces: readonly Uint8Array[]): void {
  const request = askedBy(client);
  const conversion = openConversion(pairOf({ client, upstream }), NOTHING_ENCODED, FROM, answerTo(request, upstream));
  const hub: HubEvent[] = [];
  let text = '';
  const tell = (events: readonly HubEvent[]): void => {
    for (const event of events) {
      hub.push(event);
      text += conversion.encode(event);
    }
  };
  const reader = readSse((data, event) => tell(conversion.decode(data, event)));
  for (const piece of pieces) reader.feed(piece);
  reader.end({ keepTail: upstream === 'chat' || upstream === 'generate' });
  tell(conversion.end());
  checkPromises(hub);
  const told = readAs(client, text, request);
  const last = hub.at(-1);
  if (last?.kind === 'error') assert.equal(told.end, 'error', 'a failure is told as one');
}

// ---------------------------------------------------------------- ways to be wrong

type Change = (events: readonly WireEvent[]) => readonly WireEvent[];

const junk = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 0.5, 1e308, Number.MAX_SAFE_INTEGER + 2, '', 'x', [], {}, [[]], [null], {
    type: 'x',
  }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** One member anywhere becomes something else, or is gone. */
const bend: fc.Arbitrary<Change> = fc
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
            ? { ...one, data: bent(one.data, path, value) }
            : one,
        ),
  );

function bent(node: unknown, [step = 0, ...rest]: readonly number[], value: unknown): unknown {
  if (typeof node !== 'object' || node === null) return value;
  const names = Object.keys(node);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return value;
  const copy: Record<string, unknown> = { ...(node as Record<string, unknown>) };
  copy[name] = rest.length > 0 ? bent(copy[name], rest, value) : value;
  return Array.isArray(node) ? Object.values(copy) : copy;
}

const lose: fc.Arbitrary<Change> = fc.nat().map((at) => (events) => events.filter((_, n) => n !== at % events.length));
const repeat: fc.Arbitrary<Change> = fc
  .nat()
  .map((at) => (events) => events.flatMap((event, n) => (n === at % events.length ? [event, event] : [event])));
const swap: fc.Arbitrary<Change> = fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => (events) => {
  const copy = [...events];
  const [x, y] = [a % events.length, b % events.length];
  [copy[x], copy[y]] = [copy[y] as WireEvent, copy[x] as WireEvent];
  return copy;
});
const cutOff: fc.Arbitrary<Change> = fc.nat().map((at) => (events) => events.slice(0, at % events.length));
const insert: fc.Arbitrary<Change> = fc
  .tuple(
    fc.nat(),
    fc.oneof(junk, fc.constantFrom('{"type":', '<html>', 'data', '[DONE]', '{}', '{"type":"unknown.event"}')),
  )
  .map(([at, data]) => (events) => [
    ...events.slice(0, at % events.length),
    { data: data ?? 'null' },
    ...events.slice(at % events.length),
  ]);

const changes = fc.array(fc.oneof({ weight: 4, arbitrary: bend }, lose, repeat, swap, cutOff, insert), {
  minLength: 1,
  maxLength: 4,
});

const LOADED: Readonly<Record<Dialect, readonly (readonly WireEvent[])[]>> = {
  messages: readVectors('messages').map(({ events }) => events),
  chat: readVectors('chat').map(({ events }) => events),
  responses: readVectors('responses').map(({ events }) => events),
  generate: readVectors('generate').map(({ events }) => events),
};

/** Who speaks the upstream's own dialect gets its bytes as they are, however odd. */
for (const crossing of CROSSINGS.filter(({ client, upstream }) => client !== upstream)) {
  const { upstream, name, isOffered } = crossing;
  test(`${name}: events that are bent, lost, repeated, swapped or invented never break the client's stream`, () => {
    law(
      fc.tuple(fc.nat(), changes),
      ([pick, steps]) => {
        const vectors = LOADED[upstream];
        let events = vectors[pick % vectors.length] ?? [];
        for (const step of steps) if (events.length > 0) events = step(events);
        survive(crossing, [
          bytesOf(
            upstream,
            events.map(({ data, event }) => ({ data: dataOf(data) ?? '', ...(event !== undefined && { event }) })),
          ),
        ]);
      },
      isOffered ? 1 : 0.1,
    );
  });

  test(`${name}: bytes that are flipped, cut inside a character or plain noise never break the client's stream`, () => {
    law(
      fc.record({
        pick: fc.nat(),
        flips: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
        length: fc.nat(),
        noise: fc.uint8Array({ maxLength: 40 }),
      }),
      ({ pick, flips, length, noise }) => {
        const vectors = LOADED[upstream];
        const bytes = Uint8Array.from(bytesOf(upstream, vectors[pick % vectors.length] ?? []));
        for (const [at, value] of flips) bytes[at % bytes.length] = value;
        const cut = length % bytes.length;
        survive(crossing, [bytes.subarray(0, cut), noise, bytes.subarray(cut)]);
      },
      isOffered ? 0.5 : 0.05,
    );
  });
}

for (const dialect of DIALECTS) {
  test(`a whole ${dialect} answer of any shape is read or refused as an error of ours, never anything else`, () => {
    const bodies = readVectors(dialect).flatMap(({ unary }) => (unary === undefined ? [] : [unary]));
    law(
      fc.tuple(
        fc.nat(),
        fc.array(fc.tuple(fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), junk), { maxLength: 3 }),
        junk,
      ),
      ([pick, bends, other]) => {
        const body = bends.reduce(
          (node, [path, value]) => bent(node, path, value),
          bodies[pick % bodies.length] ?? other,
        );
        for (const one of [body, other]) {
          try {
            codecOf(dialect).upstream.decodeReply(one, FROM);
          } catch (error) {
            assert.ok(error instanceof ApiError, `${String(error)} on ${JSON.stringify(one)}`);
          }
        }
      },
    );
  });
}

test('a line without an end is given up on instead of being kept', () => {
  const reader = readSse(() => assert.fail('there was no event'));
  const megabyte = new Uint8Array(2 ** 20).fill(0x61);
  reader.feed(new TextEncoder().encode('data: '));
  assert.throws(() => {
    for (let n = 0; n < 40; n += 1) reader.feed(megabyte);
  });
});
