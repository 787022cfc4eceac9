/**
 * Laws of charges: whenever a client leaves, it pays at least what it received and at most what was reserved, on every
 * path the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTokens } from '../../src/core/index.ts';
import { type HubEvent, upstreamOf } from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { dataOf, readVectors, type Vector, type WireEvent } from '../support/dialects/codecs.ts';
import { type Outcome, RATES, runExchange } from '../support/exchange.ts';
import { someOf } from '../support/long-test.ts';
import { DECODE_CONTEXT, DIALECT_PAIRS, sseBytes, UPSTREAMS } from './dialect-pairs.ts';
import { readConversions } from './vector.ts';

const PROMPT = 'How are you today? 你今天好吗';
const BODIES: Readonly<Record<Dialect, object>> = {
  messages: { model: 'm', max_tokens: 4_000, messages: [{ role: 'user', content: PROMPT }] },
  chat: { model: 'm', max_tokens: 4_000, messages: [{ role: 'user', content: PROMPT }] },
  responses: { model: 'm', max_output_tokens: 4_000, input: PROMPT },
  generate: { generationConfig: { maxOutputTokens: 4_000 }, contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
};

type Stream = Pick<Vector, 'name' | 'upstream' | 'events'>;

/** A failure for the clients of some dialects, and a finish for those of others. */
const FAILED: ReadonlySet<string> = new Set([
  'responses-context-full.json',
  'responses-policy-failure.json',
  'generate-malformed-call.json',
  'converse-malformed-call.json',
]);

const STREAMS: readonly Stream[] = [
  ...UPSTREAMS.flatMap((dialect) => readVectors(dialect)),
  ...readConversions().flatMap(({ name, upstream, events }) => (events ? [{ name, upstream, events }] : [])),
]
  .filter(({ name }) => !FAILED.has(name))
  .map(untilError);

/** Events after an error say only how a decoder bears them. */
function untilError({ name, upstream, events }: Stream): Stream {
  const decoder = upstreamOf(upstream).openDecoder(DECODE_CONTEXT);
  const failed = events.findIndex(({ data, event }) =>
    decoder.push(dataOf(data), event).some(({ kind }) => kind === 'error'),
  );
  return { name, upstream, events: failed < 0 ? events : events.slice(0, failed + 1) };
}

const chunkOf = (upstream: UpstreamDialect, event: WireEvent): Buffer => Buffer.from(sseBytes(upstream, [event]));

const leave = ({ upstream, events }: Stream, client: Dialect, leavesAfter?: number): Promise<Outcome> =>
  runExchange({
    client,
    upstream,
    body: BODIES[client],
    isStream: true,
    chunks: events.map((event) => chunkOf(upstream, event)),
    ...(leavesAfter !== undefined && { leavesAfter }),
  });

interface Received {
  readonly tokens: number;
  readonly isError: boolean;
}

/** What the hub makes of the events that a client has received, by their number. */
function receivedOf({ upstream, events }: Stream): readonly Received[] {
  const decoder = upstreamOf(upstream).openDecoder(DECODE_CONTEXT);
  const hub: HubEvent[] = [];
  return [undefined, ...events].map((next) => {
    if (next) hub.push(...decoder.push(dataOf(next.data), next.event));
    const text = hub.map((event) => ('text' in event && event.text !== '{}' ? event.text : '')).join('');
    return { tokens: estimateTokens(text), isError: hub.some(({ kind }) => kind === 'error') };
  });
}

/** Every moment at which a client can leave, of which `npm test` has some and the end. */
const cutsOf = ({ events }: Stream): number[] => [...someOf([...events.keys()], 4), events.length];

/** The client has seen the end of the content, or of a part of it. */
const FINISH: Readonly<Record<UpstreamDialect, RegExp>> = {
  converse: /^\{"contentBlockIndex":\d+,"p"|"stopReason":"/,
  messages: /"type":"(?:content_block_stop|message_delta|message_stop)"/,
  chat: /"finish_reason":"/,
  responses: /"type":"response\.(?:output_text|content_part|function_call_arguments|output_item|refusal)\.done"/,
  generate: /"finishReason":"/,
};
const CONTENT: Readonly<Record<UpstreamDialect, RegExp>> = {
  converse: /"(?:delta|start)":/,
  messages: /"type":"(?:message_start|content_block_start|content_block_delta)"/,
  chat: /"finish_reason":null/,
  responses: /"type":"response\.\w+(?:\.\w+)*\.(?:added|delta|in_progress|searching|completed)"/,
  generate: /"candidates":/,
};

/** The client leaves at the end of the content, as far as it and everything that follows say. */
function isFinished({ upstream, events }: Stream, cut: number): boolean {
  const texts = events.map(({ data }) => dataOf(data));
  const rest = texts.slice(cut);
  return FINISH[upstream].test(texts[cut - 1] ?? '') && !rest.some((text) => CONTENT[upstream].test(text));
}

/**
 * The client whose bytes pass, and those that get a conversion. Nobody calls in Converse, so that one of them is the
 * first.
 */
const clientsOf = (upstream: UpstreamDialect): readonly [Dialect, readonly Dialect[]] => {
  const native = upstream === 'converse' ? 'messages' : upstream;
  const pairs = DIALECT_PAIRS.filter((pair) => pair.upstream === upstream && pair.isOffered);
  return [native, pairs.map(({ client }) => client).filter((client) => client !== native)];
};

for (const upstream of UPSTREAMS) {
  const [native, clients] = clientsOf(upstream);

  test(`whenever a client leaves a ${upstream} stream, it pays between what it received and the reservation, the same natively and converted`, async () => {
    let reports = 0;
    for (const stream of STREAMS.filter((one) => one.upstream === upstream)) {
      const whole = (await leave(stream, native)).record;
      const received = receivedOf(stream);
      for (const cut of cutsOf(stream)) {
        const about = `${stream.name} left after ${cut}`;
        const { record, reserved } = await leave(stream, native, cut);
        checkBounds(record, reserved, received[cut] ?? assert.fail(), about);
        // A malformed event fails a conversion and passes natively.
        if (record?.invalid !== undefined || received.at(-1)?.isError) continue;
        for (const client of someOf(clients, 1))
          assert.deepEqual(
            countsOf((await leave(stream, client, cut)).record),
            countsOf(record),
            `${about}, ${client}`,
          );
        if (!whole || whole.estimated || !isFinished(stream, cut)) continue;
        assert.deepEqual(countsOf(record), countsOf(whole), `${about}: the report follows`);
        reports += 1;
      }
    }
    assert.ok(reports >= 10, `${reports} cuts after the end of the content`);
  });
}

type Charged = Outcome['record'];

function checkBounds(record: Charged, reserved: bigint, { tokens, isError }: Received, about: string): void {
  if (!record) return assert.ok(isError, `${about}: not charged`);
  if (record.invalid !== undefined) return;
  assert.ok(record.charge <= reserved, `${about}: ${record.charge} of ${reserved}`);
  if (!record.estimated) return;
  assert.ok(record.usage.input > 0 && record.usage.output >= tokens, `${about}: ${JSON.stringify(record.usage)}`);
  assert.ok(record.charge >= BigInt(tokens) * RATES.output, about);
}

const countsOf = (record: Charged): unknown =>
  record && [record.usage.input, record.usage.output, record.estimated, record.charge];

/** The same reply from a provider that reports nothing. */
const withoutUsage = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, member) => (name === 'usage' || name === 'usageMetadata' ? null : member));

for (const upstream of UPSTREAMS) {
  const [native, clients] = clientsOf(upstream);

  test(`a ${upstream} reply without a report costs the same streamed and in one piece, natively and converted`, async () => {
    let compared = 0;
    for (const { name, events, unary, reply } of readVectors(upstream)) {
      // A paused reply takes further rounds when it is converted.
      if (!reply || unary === undefined || FAILED.has(name) || reply.stop === 'pause') continue;
      // A stream without a token or a report has not begun, and costs nothing; a whole native body passes as it is.
      if (reply.items.length === 0 || name.includes('empty')) continue;
      const silent = { name, upstream, events: withoutUsage(events) as WireEvent[] };
      const body = JSON.stringify(withoutUsage(unary));
      const { record } = await leave(silent, native);
      for (const client of [native, ...clients]) {
        const streamed = (await leave(silent, client)).record;
        const whole = (await runExchange({ client, upstream, body: BODIES[client], isStream: false, chunks: [body] }))
          .record;
        for (const other of [streamed, whole])
          assert.deepEqual(countsOf(other), countsOf(record), `${name} for ${client}`);
        compared += 1;
      }
      // Without a token and without a report, a provider has made nothing.
      assert.ok(record ? record.estimated : reply.items.length === 0, name);
    }
    assert.ok(compared >= 10, `${compared} replies`);
  });
}
