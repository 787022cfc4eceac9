/**
 * One conversion from end to end, pure: the client's request becomes the upstream's, the upstream's answer or stream becomes
 * the client's. What a conversion loses is listed under the client's own field names.
 */
import type {
  ClientRequestHead,
  Codec,
  DecodeContext,
  EncodedRequest,
  JsonBody,
  ReplyContext,
  StreamEncoder,
  UpstreamTarget,
} from './codec.ts';
import { withClientFieldName } from './errors/rejection.ts';
import { checkSupport, type FieldNames } from './hub/fields.ts';
import { cutReply, openStopCutter, type StopCutter } from './hub/stop-sequences.ts';
import { type HubEvent, type HubReply, type HubRequest, NO_USAGE } from './hub/types.ts';
import { restoreEvent, restoreItem } from './tools/restore-names.ts';

export interface Pair {
  readonly client: Codec;
  readonly upstream: Codec;
}

export const decodeRequestFor = ({ client }: Pair, body: unknown, head: ClientRequestHead): HubRequest =>
  client.client.decodeRequest(body, head);

export interface ConvertedRequest extends EncodedRequest {
  /** What was dropped, under the client's own field names: the value of `x-gateway-dropped`. */
  readonly dropped: readonly string[];
}

/** May be called again for another account: the hub request is never changed. */
export function encodeRequestFor(
  { client, upstream }: Pair,
  request: HubRequest,
  target: UpstreamTarget,
): ConvertedRequest {
  const names = client.client.fieldNames;
  const dropped = checkSupport(request, upstream.upstream.support, names);
  const encoded = inClientsWords(names, () => upstream.upstream.encodeRequest(request, target));
  const named = [...dropped, ...encoded.droppedFields].map((field) => names[field]);
  return { ...encoded, dropped: [...new Set([...named, ...request.unknown])] };
}

function inClientsWords<T>(names: FieldNames, encode: () => T): T {
  try {
    return encode();
  } catch (error) {
    throw withClientFieldName(names, error);
  }
}

/** Throws as `decodeReply` does (see `codec.ts`). */
export function convertReply(
  { client, upstream }: Pair,
  encoded: EncodedRequest,
  body: unknown,
  from: DecodeContext,
  answer: ReplyContext,
): { body: unknown; reply: HubReply } {
  const reply = readReply({ client, upstream }, encoded, body, from);
  return { body: client.client.encodeReply(reply, answer), reply };
}

/** The answer as the client shall see it, still in the hub's form. */
export function readReply({ upstream }: Pair, encoded: EncodedRequest, body: unknown, from: DecodeContext): HubReply {
  const decoded = upstream.upstream.decodeReply(body, from);
  const restored = { ...decoded, items: decoded.items.map((item) => restoreItem(item, encoded.names)) };
  return encoded.emulateStop.length > 0 ? cutReply(restored, encoded.emulateStop) : restored;
}

export interface StreamConversion {
  /** Hub events of one upstream event, as the client shall see them. */
  decode(data: string, event?: string): readonly HubEvent[];
  /** The upstream closed; what is still missing to a proper end. */
  end(): readonly HubEvent[];
  encode(event: HubEvent): string;
  /** See `StreamEncoder.pushEvents`. */
  encodeEvents?(event: HubEvent): readonly string[];
  /** See `StreamEncoder.finalResponse`. */
  readonly finalResponse: JsonBody | undefined;
  heartbeat(): string;
  /** The answer is whole; its finish waits for usage that may follow. */
  readonly isComplete: boolean;
  /** A stop sequence was met; only the usage is still of interest. */
  readonly isCut: boolean;
  /** The finish of a stream that was cut, when the upstream takes too long to report its usage. */
  finishCut(): readonly HubEvent[];
}

export function openConversion(
  { client, upstream }: Pair,
  encoded: EncodedRequest,
  from: DecodeContext,
  answer: ReplyContext,
  /** Of an answer that is told in several rounds; a fresh one otherwise. */
  encoder: StreamEncoder = client.client.openEncoder(answer),
): StreamConversion {
  const decoder = upstream.upstream.openDecoder(from);
  const cutter: StopCutter | undefined =
    encoded.emulateStop.length > 0 ? openStopCutter(encoded.emulateStop) : undefined;
  const restore = encoded.names.size > 0 ? (event: HubEvent) => restoreEvent(event, encoded.names) : undefined;
  const transform = (events: readonly HubEvent[]): readonly HubEvent[] => {
    const restored = restore ? events.map(restore) : events;
    return cutter ? restored.flatMap((event) => cutter.push(event)) : restored;
  };
  const encodeEvents = encoder.pushEvents?.bind(encoder);
  return {
    decode: (data, event) => transform(decoder.push(data, event)),
    end: () => transform(decoder.end()),
    encode: (event) => encoder.push(event),
    ...(encodeEvents && { encodeEvents }),
    get finalResponse() {
      return encoder.finalResponse;
    },
    heartbeat: () => encoder.heartbeat(),
    get isComplete() {
      return decoder.isComplete === true;
    },
    get isCut() {
      return cutter?.isCut === true;
    },
    finishCut: () =>
      cutter?.push({ kind: 'finish', stop: 'stop_sequence', usage: { ...NO_USAGE, estimated: true } }) ?? [],
  };
}
