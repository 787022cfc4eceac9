/** Decoder of the parts of a reply: one row per kind. Unknown kinds become opaque items, never errors. */
import type { HubEvent, HubItem, HubPart, HubServerCall, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { mintCallId, uniqueCallId } from '../../wire/ids.ts';
import { compact, isObject, maybeObject, maybeString } from '../../wire/read.ts';
import { signatureFromUpstream } from '../thought-signature.ts';
import { ISSUER, mediaKind } from '../wire.ts';
import * as opened from './open-items.ts';
import { applyPartialArgs, openPartialArgs, type PartialArgs } from './partial-args.ts';

export const readPart = (part: JsonObject, state: opened.DecoderState, out: HubEvent[]): void =>
  PART_READERS[kindOf(part)](part, state, out);

type OpenCall = Extract<opened.OpenItem, { kind: 'call' }>;

const PART_KINDS = ['functionCall', 'inlineData', 'executableCode', 'codeExecutionResult'] as const;
type PartKind = (typeof PART_KINDS)[number] | 'text' | 'thought' | 'other';

function kindOf(part: JsonObject): PartKind {
  if (typeof part.text === 'string') return part.thought === true ? 'thought' : 'text';
  for (const kind of PART_KINDS) {
    if (isObject(part[kind])) return kind;
  }
  // A part with only a signature is an empty text.
  return 'thoughtSignature' in part && Object.keys(part).length === 1 ? 'text' : 'other';
}

const PART_READERS: {
  readonly [K in PartKind]: (part: JsonObject, state: opened.DecoderState, out: HubEvent[]) => void;
} = {
  text(part, state, out) {
    const text = maybeString(part.text) ?? '';
    const signature = signatureFromUpstream(part.thoughtSignature, state.context);
    if (text === '') {
      if (signature) signLast(signature, state, out);
      return;
    }
    // Start a new message after signed text, because clients get the signature at the
    // end of a message, and after an image, because clients get it as an item.
    if (endsWithSignedText(state.open) || endsWithImage(state.open)) opened.closeItem(state, out);
    const message = opened.openMessage(state, out);
    const [draft, at] = opened.openTextPart(message.parts);
    draft.text += text;
    out.push({ kind: 'text', index: message.index, part: at, text });
    if (signature) draft.signature = signature;
  },
  thought(part, state, out) {
    const text = maybeString(part.text) ?? '';
    const signature = signatureFromUpstream(part.thoughtSignature, state.context);
    if (text === '' && !signature) return;
    const reasoning = opened.openReasoning(state, out);
    if (text !== '') {
      reasoning.text += text;
      out.push({ kind: 'think', index: reasoning.index, part: 0, text });
    }
    if (signature) reasoning.opaque = signature;
  },
  functionCall(part, state, out) {
    const call = maybeObject(part.functionCall);
    const name = maybeString(call.name);
    const { open } = state;
    if (open?.kind === 'call' && open.partial && (!name || call.id === open.item.callId))
      return continueCall(open, open.partial, call, out);
    // The mark that ends the pieces of a call, sent again with the last chunk.
    if (!name && (Object.keys(call).length === 0 || state.finishReason !== undefined)) return;
    if (!name) return opened.failStream(state, out, 'The provider sent a tool call without a name.');
    // The same call again, after the end.
    if (state.finishReason !== undefined && typeof call.id === 'string' && state.callIds.has(call.id)) return;
    opened.closeItem(state, out);
    const callId = uniqueCallId(maybeString(call.id), state.callIds, state.context.requestId);
    const signature = signatureFromUpstream(part.thoughtSignature, state.context, callId);
    const skeleton: HubToolCall = compact({ kind: 'tool_call', callId, name, form: 'function', args: '', signature });
    const index = opened.openItem(skeleton, state, out);
    if (call.willContinue === true) {
      const partial = openPartialArgs(call);
      applyPartialArgs(partial, call);
      state.open = { kind: 'call', index, item: { ...skeleton }, partial };
      return;
    }
    const args = completeArgs(call);
    out.push({ kind: 'args', index, text: args });
    state.open = { kind: 'call', index, item: { ...skeleton, args } };
  },
  inlineData(part, state, out) {
    const { mimeType, data } = maybeObject(part.inlineData);
    if (typeof data !== 'string') return;
    const mime = maybeString(mimeType) ?? 'application/octet-stream';
    const signature = signatureFromUpstream(part.thoughtSignature, state.context);
    const kind = mediaKind(mime);
    const source = { kind: 'base64', mime, data } as const;
    const media = kind === 'image' && signature ? { kind, source, signature } : { kind, source };
    // An image is a message of its own: the client gets it in its place, and as soon as the next part begins.
    if (kind === 'image') opened.closeItem(state, out);
    opened.openMessage(state, out).parts.push(media);
  },
  executableCode(part, state, out) {
    opened.closeItem(state, out);
    const given = maybeString(maybeObject(part.executableCode).id);
    const id = given ?? mintCallId(`${state.context.requestId}/code`, state.nextIndex);
    const item: HubServerCall = { kind: 'server_call', id, tool: 'code_exec', issuer: ISSUER, status: 'in_progress' };
    const index = opened.openItem(item, state, out);
    const code = maybeString(maybeObject(part.executableCode).code) ?? '';
    state.open = { kind: 'code', index, item: { ...item, code }, raw: [part] };
  },
  codeExecutionResult(part, state, out) {
    if (state.open?.kind !== 'code') return PART_READERS.other(part, state, out);
    const { outcome, output } = maybeObject(part.codeExecutionResult);
    state.open.item.status = outcome === 'OUTCOME_OK' ? 'completed' : 'failed';
    state.open.item.output = maybeString(output) ?? '';
    state.open.raw.push(part);
    opened.closeItem(state, out);
  },
  /** Hosted tool calls and unknown part kinds. */
  other(part, state, out) {
    if (Object.keys(part).length === 0) return;
    opened.closeItem(state, out);
    const item: HubItem = { kind: 'opaque', issuer: ISSUER, raw: part };
    out.push({ kind: 'item_end', index: opened.openItem(item, state, out), item });
  },
};

function completeArgs(call: JsonObject): string {
  if (typeof call.args === 'string') return call.args;
  if (!Array.isArray(call.partialArgs)) return JSON.stringify(call.args ?? {});
  const partial = openPartialArgs(call);
  applyPartialArgs(partial, call);
  return JSON.stringify(partial.root);
}

/** Adds a piece of arguments to the open call; `willContinue` is absent on the last one. */
function continueCall(open: OpenCall, partial: PartialArgs, call: JsonObject, out: HubEvent[]): void {
  applyPartialArgs(partial, call);
  if (call.willContinue !== true) opened.completeCall(open, out);
}

function endsWithSignedText(open: opened.DecoderState['open']): boolean {
  const last = open?.kind === 'message' ? open.parts.at(-1) : undefined;
  return last?.kind === 'text' && last.signature !== undefined;
}

const endsWithImage = (open: opened.DecoderState['open']): boolean =>
  open?.kind === 'message' && open.parts.at(-1)?.kind === 'image';

/** Attaches a signature that follows its part to the open item, or else emits it as reasoning. */
function signLast(signature: Opaque, state: opened.DecoderState, out: HubEvent[]): void {
  const { open } = state;
  if (open?.kind === 'call' && !open.item.signature) {
    open.item.signature = { ...signature, id: open.item.callId };
  } else if (open?.kind === 'reasoning' && !open.opaque) {
    open.opaque = signature;
  } else if (open?.kind === 'message' && signPart(open.parts, signature)) {
    return;
  } else {
    opened.closeItem(state, out);
    opened.openReasoning(state, out).opaque = signature;
  }
}

function signPart(parts: HubPart[], signature: Opaque): boolean {
  const last = parts.at(-1);
  if ((last?.kind !== 'text' && last?.kind !== 'image') || last.signature) return false;
  parts[parts.length - 1] = { ...last, signature };
  return true;
}
