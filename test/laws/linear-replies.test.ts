// set: all; the work of large replies in every pair of dialects
/** Work on large replies grows with their size and no faster, in every pair of dialects, unary and streamed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonObject, openDecoding, pairOf, readReply, unfold } from '../../src/dialects/index.ts';
import { dataOf } from '../support/dialects/codecs.ts';
import { longTest, someOf } from '../support/long-test.ts';
import { runs } from '../support/properties.ts';
import { type Work, workOf } from '../support/steps.ts';
import {
  DECODE_CONTEXT,
  DIALECT_PAIRS,
  type DialectPair,
  EMPTY_ENCODED,
  replyContextFor,
  requestFrom,
} from './dialect-pairs.ts';
import type { Block, ModelReply } from './reply-arbitrary.ts';
import { wireFormOf } from './wire.ts';

/** Of every pair, with the step from one to ten that shows the growth; one goes on. `LAWS_RUNS=1` goes on with all, beyond the limit of a reply. */
const SMALL = runs(2_000) < 2_000 ? [100, 1_000] : [1_000, 10_000, 100_000];
const LARGE = [1_000, 10_000];
/** Between two sizes; quadratic work grows a hundredfold. */
const MAX_GROWTH = 12;
const MAX_ARGUMENTS = 1_000;
const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };

const text = (n: number): Block => ({ kind: 'text', text: `t${n % 10}` });
const call = (n: number): Block => ({ kind: 'call', id: `call_${n}`, name: 'find', args: '{"a":1}' });
const thought = (n: number): Block => ({ kind: 'thought', texts: [`h${n % 10}`], value: 'c2ln' });
const many = (size: number, block: (n: number) => Block): Block[] => Array.from({ length: size }, (_, n) => block(n));

const KINDS: Readonly<Record<string, (size: number) => readonly Block[]>> = {
  texts: (size) => many(size, text),
  calls: (size) => many(size, call),
  thoughts: (size) => many(size, thought),
  'all kinds in turn': (size) => many(size, (n) => [text, call, thought][n % 3]?.(n) ?? text(n)),
  'deltas of one text': (size) => [{ kind: 'text', text: 'ab'.repeat(size / 2) }],
  'deltas of one call': (size) => [
    { kind: 'call', id: 'call_1', name: 'find', args: JSON.stringify({ a: 'a'.repeat(size) }) },
  ],
};

type Form = 'unary' | 'unfolded' | 'streamed';

function measure({ client, upstream }: DialectPair, blocks: readonly Block[]): Readonly<Record<Form, Work>> {
  const pair = pairOf({ client, upstream });
  const context = replyContextFor(requestFrom(client), upstream);
  const reply: ModelReply = { blocks, stop: 'end', usage: USAGE, cuts: [1] };
  const wire = wireFormOf(upstream, reply);
  const events = wire.events.map(({ data, event }) => ({ data: dataOf(data), event }));
  const read = () => readReply(pair.upstream, EMPTY_ENCODED, wire.unary, DECODE_CONTEXT);
  return {
    unary: workOf(() => JSON.stringify(pair.client.encodeReply(read(), context))),
    // A reply in one piece for a client that asked for a stream.
    unfolded: workOf(() => {
      const encoder = pair.client.openEncoder(context);
      for (const event of unfold(read())) encoder.push(event);
    }),
    streamed: workOf(() => {
      const encoder = pair.client.openEncoder(context);
      const decoding = openDecoding(pair.upstream, EMPTY_ENCODED, DECODE_CONTEXT);
      for (const { data, event } of events) for (const one of decoding.decode(data, event)) encoder.push(one);
      for (const one of decoding.end()) encoder.push(one);
    }),
  };
}

function checkLinear(pair: DialectPair, blocksOf: (size: number) => readonly Block[], sizes: readonly number[]): void {
  const works = sizes.map((size) => measure(pair, blocksOf(size)));
  for (const form of ['unary', 'unfolded', 'streamed'] as const)
    for (const [n, size] of sizes.entries()) {
      const { steps, maxArguments } = works[n]?.[form] ?? assert.fail();
      assert.ok(maxArguments <= MAX_ARGUMENTS, `${form}: a call with ${maxArguments} arguments at ${size}`);
      const before = works[n - 1]?.[form].steps;
      assert.ok(
        before === undefined || steps <= MAX_GROWTH * before,
        `${form}: ${steps} steps at ${size}, ${before} before`,
      );
    }
}

for (const pair of someOf(DIALECT_PAIRS, 10))
  for (const [kind, blocksOf] of Object.entries(KINDS))
    test(`${pair.name}: the work of a reply with ${kind} is linear, unary and streamed`, () => {
      checkLinear(pair, blocksOf, SMALL);
    });

longTest('chat over messages: the work of a reply with calls is linear up to 10,000 of them', () => {
  const pair = DIALECT_PAIRS.find(({ name }) => name === 'chat over messages') ?? assert.fail();
  checkLinear(pair, KINDS.calls ?? assert.fail(), LARGE);
});

/** All calls first, so that each result looks for its call among all of them. */
const hostedShells = (size: number): JsonObject[] => [
  ...Array.from({ length: size }, (_, n) => ({
    ...{ type: 'shell_call', id: `sh_${n}`, call_id: `call_${n}`, status: 'completed' },
    ...{ action: { commands: ['ls'] }, environment: { type: 'container_auto' } },
  })),
  ...Array.from({ length: size }, (_, n) => ({ type: 'shell_call_output', call_id: `call_${n}`, output: [] })),
];
const HOSTED: Readonly<Record<string, (items: readonly JsonObject[]) => void>> = {
  reply: (output) => {
    const { items } = readReply(
      pairOf({ client: 'messages', upstream: 'responses' }).upstream,
      EMPTY_ENCODED,
      { id: 'resp_1', status: 'completed', model: 'm', output },
      DECODE_CONTEXT,
    );
    assert.equal(items.length, output.length / 2);
  },
  request: (input) => {
    const { client } = pairOf({ client: 'responses', upstream: 'messages' });
    assert.equal(client.decodeRequest({ model: 'm', input }, { headers: {} }).items.length, input.length / 2);
  },
};
for (const [about, read] of Object.entries(HOSTED))
  test(`the work of a ${about} with hosted calls and their results is linear`, () => {
    const [small = 0, large = 0] = [200, 2_000].map((size) => {
      const items = hostedShells(size);
      return workOf(() => read(items)).steps;
    });
    assert.ok(large <= MAX_GROWTH * small, `${large} steps, ${small} before`);
  });
