/** Who may speak to whom: every client dialect over every upstream dialect, those that the product needs first. */
import { type Told, Violation } from '../../sim/grammar/blocks.ts';
import * as chat from '../../sim/grammar/chat.ts';
import * as generate from '../../sim/grammar/generate.ts';
import * as messages from '../../sim/grammar/messages.ts';
import * as responses from '../../sim/grammar/responses.ts';
import {
  codecOf,
  type DecodeContext,
  type EncodedRequest,
  type HubEvent,
  type HubRequest,
  openConversion,
  type Pair,
  type ReplyContext,
  type UpstreamTarget,
} from '../../src/dialects/index.ts';
import { type CapabilityOverrides, capabilitiesOf, type Dialect, type Style } from '../../src/rules/index.ts';
import { dataOf, hubRequest, type WireEvent } from '../support/dialects/codecs.ts';

export const DIALECTS: readonly Dialect[] = ['messages', 'chat', 'responses', 'generate'];

export interface Crossing {
  readonly client: Dialect;
  readonly upstream: Dialect;
  readonly name: string;
  /** Customers can come this way; the others only prove that the codecs are whole. */
  readonly isOffered: boolean;
}

const OFFERED = new Set([
  ...['messages over responses', 'messages over generate', 'chat over messages', 'chat over generate'],
  ...['chat over responses', 'responses over messages', 'responses over generate'],
]);

export const CROSSINGS: readonly Crossing[] = DIALECTS.flatMap((client) =>
  DIALECTS.map((upstream) => {
    const name = `${client} over ${upstream}`;
    return { client, upstream, name, isOffered: OFFERED.has(name) };
  }),
);

export const pairOf = ({ client, upstream }: Pick<Crossing, 'client' | 'upstream'>): Pair => ({
  client: codecOf(client),
  upstream: codecOf(upstream),
});

export const HOMES: Readonly<Record<Dialect, Style>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};

export const targetFor = (upstream: Dialect, model = 'demo-1', flags: CapabilityOverrides = {}): UpstreamTarget => ({
  model,
  capabilities: capabilitiesOf(HOMES[upstream], model, flags),
});

export const FROM: DecodeContext = { requestId: 'req_law' };

export const NOTHING_ENCODED: EncodedRequest = {
  body: {},
  headers: {},
  droppedFields: [],
  names: new Map(),
  emulateStop: [],
};

/** A client that wants to see everything. */
export const askedBy = (client: Dialect, changes: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({ dialect: client, stream: true, clientOptions: { usageChunk: true, thoughts: true }, ...changes });

export const answerTo = (request: HubRequest, upstream: Dialect): ReplyContext => ({
  request,
  model: 'asked-for',
  requestId: 'req_law',
  issuer: HOMES[upstream],
  created: 1_700_000_000,
});

export interface Converted {
  readonly hub: readonly HubEvent[];
  /** What the client receives. */
  readonly text: string;
}

/** An upstream's stream told to a client, to the end of the connection. */
export function convert(
  crossing: Pick<Crossing, 'client' | 'upstream'>,
  events: readonly WireEvent[],
  request = askedBy(crossing.client),
  encoded = NOTHING_ENCODED,
): Converted {
  const conversion = openConversion(pairOf(crossing), encoded, FROM, answerTo(request, crossing.upstream));
  const hub: HubEvent[] = [];
  let text = '';
  const tell = (told: readonly HubEvent[]): void => {
    for (const event of told) {
      hub.push(event);
      text += conversion.encode(event);
    }
  };
  for (const { data, event } of events) tell(conversion.decode(dataOf(data), event));
  tell(conversion.end());
  return { hub, text };
}

const GRAMMARS: Readonly<Record<Dialect, (text: string, request: HubRequest) => Told>> = {
  messages: messages.read,
  chat: (text, request) => chat.read(text, { usage: request.clientOptions.usageChunk === true }),
  responses: responses.read,
  generate: generate.read,
};

/** The stream as the client's own grammar reads it. */
export function readAs(client: Dialect, text: string, request = askedBy(client)): Told {
  try {
    return GRAMMARS[client](text, request);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Error(`not a ${client} stream: ${error.message}\n${text.slice(-4_000)}`);
  }
}

/** The bytes on the wire, as a server of the dialect frames them. */
export function bytesOf(upstream: Dialect, events: readonly WireEvent[], newline = '\n'): Uint8Array {
  const named = upstream === 'messages' || upstream === 'responses';
  const blocks = events.map(({ data, event }) => {
    const text = dataOf(data);
    const name = event ?? (named && typeof data === 'object' ? (data as { type?: string } | null)?.type : undefined);
    return `${name === undefined ? '' : `event: ${name}${newline}`}data: ${text}${newline}${newline}`;
  });
  return new TextEncoder().encode(blocks.join(''));
}
