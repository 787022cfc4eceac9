/**
 * An answer told to a chat client: hub events become deltas of the one assistant message this dialect has. The stream
 * encoder frames them as chunks, the unary encoder adds them up, so both say the same. The order between text and calls is
 * lost by the format itself.
 */

import type { ReplyContext } from '../../codec.ts';
import type { HubEvent, HubItem, HubMessage, HubRequest, HubToolCall, JsonObject } from '../../hub/types.ts';
import { pack } from '../../opaque/envelope.ts';
import { unwrapInput } from '../../tools/free-text.ts';
import { encodeAnnotation } from '../annotations.ts';
import type { FinishReason } from '../stop-reason.ts';
import { encodeStop } from '../stop-reason.ts';

export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly refusal?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly CallDelta[];
  readonly function_call?: { readonly name?: string; readonly arguments: string };
  readonly annotations?: readonly JsonObject[];
}
export interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function' | 'custom';
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
  readonly extra_content?: { readonly google: { readonly thought_signature: string } };
}

/** Asked for in the form before tools; its answers hold one call, in that form. */
export type ChatClientOptions = HubRequest['clientOptions'] & { readonly functions?: boolean };

export interface DeltaWriter {
  readonly request: HubRequest;
  readonly legacy: boolean;
  /** Calls are told when they are complete. Generate-content calls arrive whole, and SDKs read the signature of the first chunk only. */
  readonly whole: boolean;
  readonly calls: Map<number, OpenCall>;
  readonly annotations: JsonObject[];
  /** Where the text of each part of each item begins in the content. */
  readonly starts: Map<number, number[]>;
  content: number;
  refused: boolean;
  /** The thought part that spoke last; another one begins a new paragraph. */
  thoughtIndex: number;
  thoughtPart: number;
}
interface OpenCall {
  readonly place: number;
  readonly form: 'function' | 'custom';
  readonly held: boolean;
  args: boolean;
}

export function openDeltaWriter({ request, issuer }: ReplyContext): DeltaWriter {
  const wants: ChatClientOptions = request.clientOptions;
  return {
    request,
    legacy: wants.functions === true,
    whole: issuer === 'generate-content',
    calls: new Map(),
    annotations: [],
    starts: new Map(),
    content: 0,
    refused: false,
    thoughtIndex: -1,
    thoughtPart: -1,
  };
}

type Kind = HubEvent['kind'];
type EventOf<K extends Kind = Kind> = { [P in K]: Extract<HubEvent, { kind: P }> & { kind: P } }[K];
type Rows = { readonly [K in Kind]: (event: EventOf<K>, telling: DeltaWriter) => readonly Delta[] };

const NOTHING: readonly Delta[] = [];

const ROWS: Rows = {
  start: () => [{ role: 'assistant', content: '' }],
  item: ({ index, item }, telling) => (item.kind === 'tool_call' ? openCall(index, item, telling) : NOTHING),
  text: ({ index, part, text }, telling) => {
    if (text === '') return NOTHING;
    markStart(index, part, telling);
    telling.content += text.length;
    return [{ content: text }];
  },
  refusal: ({ text }, telling) => {
    if (text === '') return NOTHING;
    telling.refused = true;
    return [{ refusal: text }];
  },
  think: (event, telling) => think(event, telling),
  args: ({ index, text }, telling) => {
    const told = telling.calls.get(index);
    return told && !told.held && text !== '' ? [addArgs(told, text, telling)] : NOTHING;
  },
  // Told with the item's end, when the places of all parts are known.
  annotation: () => NOTHING,
  item_end: ({ index, item }, telling) => endItem(index, item, telling),
  ping: () => NOTHING,
  finish: (event, telling) => [...decline(event, telling), ...cite(telling)],
  error: () => NOTHING,
};

export const toDeltas = <K extends Kind>(event: EventOf<K>, telling: DeltaWriter): readonly Delta[] =>
  ROWS[event.kind](event, telling);

/** `error` when the answer cannot be told as a success. */
export function finishReason(
  stop: EventOf<'finish'>['stop'],
  telling: DeltaWriter,
): FinishReason | 'function_call' | 'error' {
  const reason = encodeStop(stop, telling.calls.size > 0);
  return reason === 'tool_calls' && telling.legacy ? 'function_call' : reason;
}

// ---------------------------------------------------------------- text and thoughts

function markStart(index: number, part: number, telling: DeltaWriter): void {
  const starts = telling.starts.get(index);
  if (!starts) telling.starts.set(index, place([], part, telling.content));
  else if (starts[part] === undefined) place(starts, part, telling.content);
}
function place(starts: number[], part: number, at: number): number[] {
  starts[part] = at;
  return starts;
}

function think({ index, part, text }: EventOf<'think'>, telling: DeltaWriter): readonly Delta[] {
  if (text === '' || telling.request.clientOptions.thoughts === false) return NOTHING;
  const first = telling.thoughtIndex === -1;
  const same = telling.thoughtIndex === index && telling.thoughtPart === part;
  telling.thoughtIndex = index;
  telling.thoughtPart = part;
  return [{ reasoning_content: first || same ? text : `\n\n${text}` }];
}

/** What an item still has to say when it is complete; kinds that are not listed have no form in this dialect. */
function endItem(index: number, item: HubItem, telling: DeltaWriter): readonly Delta[] {
  if (item.kind === 'message') return endMessage(index, item, telling);
  return item.kind === 'tool_call' ? endCall(index, item, telling) : NOTHING;
}

function endMessage(index: number, { parts }: HubMessage, telling: DeltaWriter): readonly Delta[] {
  const starts = telling.starts.get(index) ?? [];
  const notes: Delta[] = [];
  for (const [n, part] of parts.entries()) {
    if (part.kind === 'text') {
      for (const note of part.annotations ?? [])
        telling.annotations.push(encodeAnnotation(note, starts[n] ?? telling.content, part.text.length));
    } else if (part.kind === 'image') {
      telling.content += IMAGE_NOTE.length;
      notes.push({ content: IMAGE_NOTE });
    }
  }
  return notes;
}
/** The dialect has no place for a picture in an answer. */
const IMAGE_NOTE = '[image omitted]';

/** A declined answer says so, in the provider's words where it gave any. */
function decline({ stop, refusal }: EventOf<'finish'>, telling: DeltaWriter): readonly Delta[] {
  if (telling.refused || (stop !== 'refusal' && stop !== 'filter')) return NOTHING;
  const silent = telling.content === 0 && telling.calls.size === 0;
  const text = refusal || (stop === 'refusal' && silent ? 'The request was declined.' : '');
  return text === '' ? NOTHING : [{ refusal: text }];
}

const cite = ({ annotations }: DeltaWriter): readonly Delta[] => (annotations.length > 0 ? [{ annotations }] : NOTHING);

// ---------------------------------------------------------------- calls

function openCall(index: number, item: HubToolCall, telling: DeltaWriter): readonly Delta[] {
  if (telling.legacy && telling.calls.size > 0) return NOTHING;
  const wrapped = isWrapped(item, telling.request);
  const told: OpenCall = {
    place: telling.calls.size,
    form: item.form === 'custom' || wrapped ? 'custom' : 'function',
    held: telling.whole || wrapped,
    args: false,
  };
  telling.calls.set(index, told);
  return told.held ? NOTHING : [beginCall(told, item, telling)];
}

/** A custom tool went upstream as a function of one string where the upstream has no custom tools. */
const isWrapped = (item: HubToolCall, request: HubRequest): boolean =>
  item.form === 'function' && request.tools.some((tool) => tool.kind === 'custom' && tool.name === item.name);

function endCall(index: number, item: HubToolCall, telling: DeltaWriter): readonly Delta[] {
  const told = telling.calls.get(index);
  if (!told) return NOTHING;
  const deltas: Delta[] = [];
  if (told.held) deltas.push(beginCall(told, item, telling));
  if (!told.args) {
    const args = told.held && isWrapped(item, telling.request) ? unwrapInput(item.args) : item.args;
    deltas.push(addArgs(told, args === '' && told.form === 'function' ? '{}' : args, telling));
  }
  return deltas;
}

function beginCall(told: OpenCall, item: HubToolCall, telling: DeltaWriter): Delta {
  const { name, callId: id, signature } = item;
  if (telling.legacy) return { function_call: { name, arguments: '' } };
  // The slot is that of the generate-content side, so its values are the ones that go bare.
  const extra = signature && { extra_content: { google: { thought_signature: pack(signature, 'generate-content') } } };
  const body =
    told.form === 'custom'
      ? { type: 'custom' as const, custom: { name, input: '' } }
      : { type: 'function' as const, function: { name, arguments: '' } };
  return { tool_calls: [{ index: told.place, id, ...body, ...extra }] };
}

function addArgs(told: OpenCall, text: string, telling: DeltaWriter): Delta {
  told.args = true;
  if (telling.legacy) return { function_call: { arguments: text } };
  const body = told.form === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
  return { tool_calls: [{ index: told.place, ...body }] };
}
