/** Every client dialect over every upstream dialect, and helpers to convert between the two of a pair. */
import { type StreamResult, Violation } from '../../sim/grammar/blocks.ts';
import * as chat from '../../sim/grammar/chat.ts';
import * as generate from '../../sim/grammar/generate.ts';
import * as messages from '../../sim/grammar/messages.ts';
import * as responses from '../../sim/grammar/responses.ts';
import {
  type DecodeContext,
  type EncodedRequest,
  type HubEvent,
  type HubRequest,
  openDecoding,
  pairOf,
  type ReplyContext,
  type UpstreamTarget,
} from '../../src/dialects/index.ts';
import {
  type CapabilityOverrides,
  capabilitiesOf,
  converseFlags,
  type Dialect,
  type Style,
  type UpstreamDialect,
} from '../../src/rules/index.ts';
import { dataOf, hubRequest, type WireEvent } from '../support/dialects/codecs.ts';

export const DIALECTS: readonly Dialect[] = ['messages', 'chat', 'responses', 'generate'];
export const UPSTREAMS: readonly UpstreamDialect[] = [...DIALECTS, 'converse'];

export interface DialectPair {
  readonly client: Dialect;
  readonly upstream: UpstreamDialect;
  readonly name: string;
  /** The gateway offers this conversion; the other pairs only test the codecs. */
  readonly isOffered: boolean;
}

const OFFERED = new Set([
  ...['messages over responses', 'messages over generate', 'chat over messages', 'chat over generate'],
  ...['chat over responses', 'responses over messages', 'responses over generate'],
  ...['messages over chat', 'responses over chat'],
  ...DIALECTS.map((client) => `${client} over converse`),
]);

export const DIALECT_PAIRS: readonly DialectPair[] = DIALECTS.flatMap((client) =>
  UPSTREAMS.map((upstream) => {
    const name = `${client} over ${upstream}`;
    return { client, upstream, name, isOffered: OFFERED.has(name) };
  }),
);

export const ISSUERS: Readonly<Record<UpstreamDialect, Style>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
  converse: 'messages',
};

export const targetFor = (
  upstream: UpstreamDialect,
  model = 'demo-1',
  flags: CapabilityOverrides = {},
): UpstreamTarget => ({
  model,
  capabilities: capabilitiesOf(ISSUERS[upstream], model, upstream === 'converse' ? converseFlags(model) : {}, flags),
});

export const DECODE_CONTEXT: DecodeContext = { requestId: 'req_law' };

export const EMPTY_ENCODED: EncodedRequest = {
  body: {},
  headers: {},
  droppedFields: [],
  names: new Map(),
  emulateStop: [],
};

/** A request whose client asks for usage and thoughts. */
export const requestFrom = (client: Dialect, changes: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({ dialect: client, stream: true, clientOptions: { usageChunk: true, thoughts: true }, ...changes });

export const replyContextFor = (request: HubRequest, upstream: UpstreamDialect): ReplyContext => ({
  request,
  model: 'asked-for',
  requestId: 'req_law',
  issuer: ISSUERS[upstream],
  created: 1_700_000_000,
});

export interface Converted {
  readonly hub: readonly HubEvent[];
  /** What the client receives. */
  readonly text: string;
}

/** Converts an upstream stream to the client's dialect, up to the end of the connection. */
export function convert(
  pair: Pick<DialectPair, 'client' | 'upstream'>,
  events: readonly WireEvent[],
  request = requestFrom(pair.client),
  encoded = EMPTY_ENCODED,
): Converted {
  const { client, upstream } = pairOf(pair);
  const encoder = client.openEncoder(replyContextFor(request, pair.upstream));
  const decoding = openDecoding(upstream, encoded, DECODE_CONTEXT);
  const hub: HubEvent[] = [];
  let text = '';
  const emit = (decoded: readonly HubEvent[]): void => {
    for (const event of decoded) {
      hub.push(event);
      text += encoder.push(event);
    }
  };
  for (const { data, event } of events) emit(decoding.decode(dataOf(data), event));
  emit(decoding.end());
  return { hub, text };
}

const GRAMMARS: Readonly<Record<Dialect, (text: string, request: HubRequest) => StreamResult>> = {
  messages: messages.read,
  chat: (text, request) => chat.read(text, { usage: request.clientOptions.usageChunk === true }),
  responses: responses.read,
  generate: generate.read,
};

/** Reads a stream with the grammar of the client's dialect, which fails on any violation. */
export function readStreamAs(client: Dialect, text: string, request = requestFrom(client)): StreamResult {
  try {
    return GRAMMARS[client](text, request);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Error(`not a ${client} stream: ${error.message}\n${text.slice(-4_000)}`);
  }
}

/** The SSE bytes of these events, framed as a server of the dialect frames them. */
export function sseBytes(upstream: UpstreamDialect, events: readonly WireEvent[], newline = '\n'): Uint8Array {
  const named = upstream === 'messages' || upstream === 'responses';
  const blocks = events.map(({ data, event }) => {
    const text = dataOf(data);
    const name = event ?? (named && typeof data === 'object' ? (data as { type?: string } | null)?.type : undefined);
    return `${name === undefined ? '' : `event: ${name}${newline}`}data: ${text}${newline}${newline}`;
  });
  return new TextEncoder().encode(blocks.join(''));
}
