/**
 * Hub events as deltas of the one assistant message, for chunks and unary
 * replies alike. The order between text and calls is lost.
 */
import type { ReplyContext } from '../../codec.ts';
import { forKind } from '../../hub/by-kind.ts';
import type {
  HubEvent,
  HubImage,
  HubItem,
  HubMessage,
  HubRequest,
  HubToolCall,
  JsonObject,
  MediaSource,
} from '../../hub/types.ts';
import { pack } from '../../opaque/envelope.ts';
import { unwrapInput } from '../../tools/free-text.ts';
import { dataUrl } from '../../wire/media.ts';
import { encodeAnnotation } from '../annotations.ts';
import { encodeStop, type FinishReason } from '../stop-reason.ts';

export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly refusal?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly CallDelta[];
  readonly function_call?: { readonly name?: string; readonly arguments: string };
  readonly annotations?: readonly JsonObject[];
  readonly images?: readonly JsonObject[];
  readonly audio?: JsonObject;
}
export interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function' | 'custom';
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
  readonly extra_content?: { readonly google: { readonly thought_signature: string } };
}

/** `functions`: the request uses the legacy form, so the reply holds one call as `function_call`. */
export type ChatClientOptions = HubRequest['clientOptions'] & { readonly functions?: boolean };

export interface DeltaWriter {
  readonly request: HubRequest;
  readonly isLegacy: boolean;
  /**
   * Send calls only when complete. Generate-content calls arrive
   * whole, and SDKs read the signature in the first chunk only.
   */
  readonly defersCalls: boolean;
  readonly calls: Map<number, OpenCall>;
  readonly annotations: JsonObject[];
  /** Offset of each text part in the content, by item index and part. */
  readonly partStarts: Map<number, number[]>;
  contentLength: number;
  hasRefusal: boolean;
  /** Item and part of the last thought; another one begins a new paragraph. */
  thoughtIndex: number;
  thoughtPart: number;
}
interface OpenCall {
  readonly index: number;
  readonly form: 'function' | 'custom';
  readonly isDeferred: boolean;
  hasArgs: boolean;
}

export function openDeltaWriter({ request, issuer }: ReplyContext): DeltaWriter {
  const options: ChatClientOptions = request.clientOptions;
  return {
    request,
    isLegacy: options.functions === true,
    defersCalls: issuer === 'generate-content',
    calls: new Map(),
    annotations: [],
    partStarts: new Map(),
    contentLength: 0,
    hasRefusal: false,
    thoughtIndex: -1,
    thoughtPart: -1,
  };
}

type EventOf<K extends HubEvent['kind']> = Extract<HubEvent, { kind: K }>;

const NOTHING: readonly Delta[] = [];

export const toDeltas = forKind<HubEvent, DeltaWriter, readonly Delta[]>({
  start: () => [{ role: 'assistant', content: '' }],
  item: ({ index, item }, writer) => (item.kind === 'tool_call' ? openCall(index, item, writer) : NOTHING),
  text: ({ index, part, text }, writer) => {
    if (text === '') return NOTHING;
    recordStart(index, part, writer);
    writer.contentLength += text.length;
    return [{ content: text }];
  },
  refusal: ({ text }, writer) => {
    if (text === '') return NOTHING;
    writer.hasRefusal = true;
    return [{ refusal: text }];
  },
  think: (event, writer) => thoughtDelta(event, writer),
  args: ({ index, text }, writer) => {
    const call = writer.calls.get(index);
    return call && !call.isDeferred && text !== '' ? [argsDelta(call, text, writer)] : NOTHING;
  },
  // Sent with the finish, when the offsets of all parts are known.
  annotation: () => NOTHING,
  item_end: ({ index, item }, writer) => endItem(index, item, writer),
  ping: () => NOTHING,
  finish: (event, writer) => [...refusalDelta(event, writer), ...annotationDelta(writer)],
  error: () => NOTHING,
});

/** Returns `error` if the dialect has no finish reason for the stop. */
export function finishReason(
  stop: EventOf<'finish'>['stop'],
  writer: DeltaWriter,
): FinishReason | 'function_call' | 'error' {
  const reason = encodeStop(stop, writer.calls.size > 0);
  return reason === 'tool_calls' && writer.isLegacy ? 'function_call' : reason;
}

function recordStart(index: number, part: number, writer: DeltaWriter): void {
  const starts = writer.partStarts.get(index) ?? [];
  starts[part] ??= writer.contentLength;
  writer.partStarts.set(index, starts);
}

function thoughtDelta({ index, part, text }: EventOf<'think'>, writer: DeltaWriter): readonly Delta[] {
  if (text === '' || writer.request.clientOptions.thoughts === false) return NOTHING;
  const first = writer.thoughtIndex === -1;
  const same = writer.thoughtIndex === index && writer.thoughtPart === part;
  writer.thoughtIndex = index;
  writer.thoughtPart = part;
  return [{ reasoning_content: first || same ? text : `\n\n${text}` }];
}

/** Item kinds other than these have no form in this dialect. */
function endItem(index: number, item: HubItem, writer: DeltaWriter): readonly Delta[] {
  if (item.kind === 'message') return endMessage(index, item, writer);
  if (item.kind === 'server_call') return item.image ? imageDeltas(item.image) : NOTHING;
  return item.kind === 'tool_call' ? endCall(index, item, writer) : NOTHING;
}

function endMessage(index: number, { parts }: HubMessage, writer: DeltaWriter): readonly Delta[] {
  const starts = writer.partStarts.get(index) ?? [];
  const media: Delta[] = [];
  for (const [n, part] of parts.entries()) {
    if (part.kind === 'text') {
      for (const note of (part.annotations ?? []).filter(({ document }) => !document))
        writer.annotations.push(encodeAnnotation(note, starts[n] ?? writer.contentLength, part.text.length));
    } else if (part.kind === 'image') {
      media.push(...imageDeltas(part));
    } else if (part.kind === 'audio' && part.source.kind === 'base64') {
      media.push({ audio: spokenReply(part.source.data, index) });
    }
  }
  return media;
}

/** The gateway does not keep the recording, so its id expires at once. The text of the reply is the transcript. */
const spokenReply = (data: string, index: number): JsonObject => ({
  id: `audio_${index}`,
  data,
  transcript: '',
  expires_at: 0,
});

/** `images` is not official, but the usual extension. A client that does not read it ignores it. */
function imageDeltas({ source }: HubImage): readonly Delta[] {
  const url = urlOf(source);
  return url === undefined ? NOTHING : [{ images: [{ type: 'image_url', image_url: { url } }] }];
}

function urlOf(source: MediaSource): string | undefined {
  if (source.kind === 'base64') return dataUrl(source);
  return source.kind === 'url' ? source.url : undefined;
}

/** A declined reply has a refusal: the provider's explanation if there is one. */
function refusalDelta({ stop, refusal }: EventOf<'finish'>, writer: DeltaWriter): readonly Delta[] {
  if (writer.hasRefusal || (stop !== 'refusal' && stop !== 'filter')) return NOTHING;
  // The finish reason of a refusal is that of a natural end, so the text is its only sign.
  const text = refusal || (stop === 'refusal' ? 'The request was declined.' : '');
  return text === '' ? NOTHING : [{ refusal: text }];
}

const annotationDelta = ({ annotations }: DeltaWriter): readonly Delta[] =>
  annotations.length > 0 ? [{ annotations }] : NOTHING;

function openCall(index: number, item: HubToolCall, writer: DeltaWriter): readonly Delta[] {
  if (writer.isLegacy && writer.calls.size > 0) return NOTHING;
  const wrapped = isWrappedCustom(item, writer.request);
  const call: OpenCall = {
    index: writer.calls.size,
    form: item.form === 'custom' || wrapped ? 'custom' : 'function',
    isDeferred: writer.defersCalls || wrapped,
    hasArgs: false,
  };
  writer.calls.set(index, call);
  return call.isDeferred ? NOTHING : [callDelta(call, item, writer)];
}

/** True for a custom tool that the upstream received as a function with one string argument. */
const isWrappedCustom = (item: HubToolCall, request: HubRequest): boolean =>
  item.form === 'function' && request.tools.some((tool) => tool.kind === 'custom' && tool.name === item.name);

function endCall(index: number, item: HubToolCall, writer: DeltaWriter): readonly Delta[] {
  const call = writer.calls.get(index);
  if (!call) return NOTHING;
  const deltas: Delta[] = [];
  if (call.isDeferred) deltas.push(callDelta(call, item, writer));
  if (!call.hasArgs) {
    const args = call.isDeferred && isWrappedCustom(item, writer.request) ? unwrapInput(item.args) : item.args;
    // Empty only where the call was cut before its arguments.
    deltas.push(argsDelta(call, args, writer));
  }
  return deltas;
}

function callDelta(call: OpenCall, item: HubToolCall, writer: DeltaWriter): Delta {
  const { name, callId: id, signature } = item;
  if (writer.isLegacy) return { function_call: { name, arguments: '' } };
  // The slot is the generate-content style's, so values of that style are sent bare.
  const extra = signature && { extra_content: { google: { thought_signature: pack(signature, 'generate-content') } } };
  const body =
    call.form === 'custom'
      ? { type: 'custom' as const, custom: { name, input: '' } }
      : { type: 'function' as const, function: { name, arguments: '' } };
  return { tool_calls: [{ index: call.index, id, ...body, ...extra }] };
}

function argsDelta(call: OpenCall, text: string, writer: DeltaWriter): Delta {
  call.hasArgs = true;
  if (writer.isLegacy) return { function_call: { arguments: text } };
  const body = call.form === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
  return { tool_calls: [{ index: call.index, ...body }] };
}
