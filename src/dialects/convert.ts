/**
 * One conversion from end to end, without I/O. Restores the client's tool
 * names and emulates stop sequences that the upstream lacks.
 */
import type {
  ClientSide,
  DecodeContext,
  EncodedRequest,
  StreamDecoder,
  UpstreamSide,
  UpstreamTarget,
} from './codec.ts';
import { withClientFieldName } from './errors/rejection.ts';
import { checkSupport, type FieldNames, type HubField, type RequestSection } from './hub/fields.ts';
import { cutReply, StopCutter } from './hub/stop-sequences.ts';
import * as hub from './hub/types.ts';
import { signEvent, signItem } from './opaque/sign.ts';
import { withProviderCallIds } from './tools/call-ids.ts';
import { ComputerEvents, clientCalls, computerCallsOf, omittedFromCall, withComputerCalls } from './tools/computer.ts';
import { withLastTurn } from './tools/last-turn.ts';
import { restoreEvent, restoreItem } from './tools/names.ts';
import { servedTools } from './tools/served.ts';
import { unreadHistory } from './tools/unread-history.ts';

/** The two sides that a conversion connects. */
export interface Pair {
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
}

export interface ConvertedRequest extends EncodedRequest {
  /** Dropped fields under the client's names: the value of `x-gateway-dropped`. */
  readonly dropped: readonly string[];
  /** Positions of the client's tools that the provider does not get. */
  readonly omittedTools: readonly number[];
}

/** Encodes the request for one account. Does not modify `request`, so failover can call it again. */
export function encodeRequestFor(
  { client, upstream }: Pair,
  request: hub.HubRequest,
  target: UpstreamTarget,
): ConvertedRequest {
  const names = namesIn(request, client.fieldNames);
  const allNames = (field: HubField | RequestSection): readonly string[] =>
    (request.fieldNames as FieldLists)?.[field] ?? [names[field]];
  const served = withClientErrors(names, () => servedTools(withProviderCallIds(request), upstream.dialect, target));
  const droppedByTable = checkSupport(served.request, upstream.support, names);
  const encoded = withClientErrors(names, () =>
    upstream.encodeRequest(
      withLastTurn(withComputerCalls(served.request, upstream.dialect), upstream.dialect, target.capabilities),
      target,
    ),
  );
  const dropped = [...droppedByTable, ...served.dropped, ...encoded.droppedFields].flatMap(allNames);
  const { hasThoughts, types } = unreadHistory(request, upstream.dialect, target);
  if (hasThoughts || request.omitsThoughts) dropped.push(...allNames('thoughts'));
  dropped.push(...types.map((type) => `${names.conversation}.${type}`));
  if (requiresCall(request) && encoded.body.tools === undefined) dropped.push(names.toolChoice);
  if (defersInVain(request)) dropped.push(`${names.tools}.defer_loading`);
  const options = (encoded.droppedToolOptions ?? []).map((option) => `${names.tools}.${option}`);
  const search = (encoded.droppedSearchOptions ?? []).map((option) => `${names.searchTool}.${option}`);
  const computer = computerCallsOf(served.request, upstream.dialect);
  return {
    ...encoded,
    omittedTools: served.omitted,
    ...(computer && { computer }),
    dropped: [...new Set([...dropped, ...options, ...search, ...request.unknown])],
  };
}

const requiresCall = ({ toolChoice, allowedTools }: hub.HubRequest): boolean =>
  toolChoice.kind === 'required' || allowedTools?.mode === 'required';

type FieldLists = Partial<Record<HubField | RequestSection, readonly string[]>> | undefined;

/** One name of each field, for errors. */
function namesIn({ fieldNames }: hub.HubRequest, names: FieldNames): FieldNames {
  if (!fieldNames) return names;
  const given = Object.entries(fieldNames).map(([field, [first]]) => [field, first]);
  return { ...names, ...Object.fromEntries(given) };
}

/** Without a tool search the model could never find a deferred tool, so all are offered at once. */
function defersInVain({ tools, items }: hub.HubRequest): boolean {
  const all = [...tools, ...items.flatMap((item) => (item.kind === 'tool_change' ? item.add : []))];
  return all.some(({ defer }) => defer) && !all.some((tool) => tool.kind === 'server' && tool.tool === 'tool_search');
}

function withClientErrors<T>(names: FieldNames, encode: () => T): T {
  try {
    return encode();
  } catch (error) {
    throw withClientFieldName(names, error);
  }
}

/** Decodes a unary reply; throws as `UpstreamSide.decodeReply` does. */
export function readReply(
  upstream: UpstreamSide,
  encoded: EncodedRequest,
  body: unknown,
  context: DecodeContext,
): hub.HubReply {
  const decoded = upstream.decodeReply(body, context);
  const { sign } = context;
  const items = sign ? decoded.items.map((item) => signItem(item, sign)) : decoded.items;
  const { computer, names } = encoded;
  const named = items.map((item) => restoreItem(item, names));
  const restored = { ...decoded, ...(computer ? forClient(decoded, named, computer) : { items: named }) };
  return encoded.emulateStop.length > 0 ? cutReply(restored, encoded.emulateStop) : restored;
}

function forClient({ omitted = [] }: hub.HubReply, items: readonly hub.HubItem[], calls: hub.ComputerCalls) {
  const lost = new Set(items.flatMap((item) => omittedFromCall(item, calls)));
  return {
    items: items.flatMap((item) => clientCalls(item, calls)),
    ...(omitted.length + lost.size > 0 && { omitted: [...omitted, ...lost] }),
  };
}

/** The upstream half of a streamed conversion; the client half is the `StreamEncoder`, which outlives a round. */
export interface StreamDecoding {
  decode(data: string, event?: string): readonly hub.HubEvent[];
  /** The upstream closed the stream; see `StreamDecoder.end`. */
  end(): readonly hub.HubEvent[];
  readonly isComplete: boolean;
  /** See `StreamDecoder.usage`. */
  readonly usage: hub.HubUsage | undefined;
  /** True after an emulated stop sequence matched: the client gets no more content, only usage is pending. */
  readonly isCut: boolean;
  /** Returns the finish of a cut stream whose upstream takes too long to report usage. */
  finishCut(): readonly hub.HubEvent[];
}

/** Only items have names and opaque values. */
const hasItem = ({ kind }: hub.HubEvent): boolean => kind === 'item' || kind === 'item_end';

export const openDecoding = (upstream: UpstreamSide, encoded: EncodedRequest, context: DecodeContext): StreamDecoding =>
  new Decoding(upstream.openDecoder(context), encoded, context);

class Decoding implements StreamDecoding {
  readonly #decoder: StreamDecoder;
  readonly #cutter: StopCutter | undefined;
  readonly #names: EncodedRequest['names'];
  readonly #sign: DecodeContext['sign'];
  readonly #computer: ComputerEvents | undefined;

  constructor(decoder: StreamDecoder, { emulateStop, names, computer }: EncodedRequest, { sign }: DecodeContext) {
    this.#decoder = decoder;
    this.#cutter = emulateStop.length > 0 ? new StopCutter(emulateStop) : undefined;
    this.#names = names;
    this.#sign = sign;
    this.#computer = computer && new ComputerEvents(computer);
  }

  decode(data: string, event?: string): readonly hub.HubEvent[] {
    return this.#transform(this.#decoder.push(data, event));
  }

  end(): readonly hub.HubEvent[] {
    return this.#transform(this.#decoder.end());
  }

  get isComplete(): boolean {
    return this.#decoder.isComplete === true;
  }

  get usage(): hub.HubUsage | undefined {
    return this.#decoder.usage;
  }

  get isCut(): boolean {
    return this.#cutter?.isCut === true;
  }

  finishCut(): readonly hub.HubEvent[] {
    const usage = { ...hub.NO_USAGE, estimated: true };
    return this.#cutter?.push({ kind: 'finish', stop: 'stop_sequence', usage }) ?? [];
  }

  #transform(events: readonly hub.HubEvent[]): readonly hub.HubEvent[] {
    const cutter = this.#cutter;
    const computer = this.#computer;
    if (!cutter && !computer && !events.some(hasItem)) return events;
    const [names, sign] = [this.#names, this.#sign];
    const signed = sign ? events.map((event) => signEvent(event, sign)) : events;
    const restored = names.size > 0 ? signed.map((event) => restoreEvent(event, names)) : signed;
    const known = computer ? restored.flatMap((event) => computer.push(event)) : restored;
    return cutter ? known.flatMap((event) => cutter.push(event)) : known;
  }
}
