/** One row per kind of part in an answer. Unknown kinds are carried as they are; none is an error. */
import type { HubEvent, HubItem, HubPart, HubServerCall, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { freshCallId, mintCallId } from '../../wire/ids.ts';
import { compact, isObject, maybeObject, maybeString } from '../../wire/read.ts';
import { mintedAt } from '../thought-signature.ts';
import { ISSUER, mediaKind } from '../wire.ts';
import {
  breakOff,
  close,
  completeCall,
  type Open,
  openItem,
  openMessage,
  openReasoning,
  openText,
  type State,
} from './open-items.ts';
import { type PartialArgs, takePartialArgs } from './partial-args.ts';

export const takePart = (part: JsonObject, state: State, out: HubEvent[]): void => ON[kindOf(part)](part, state, out);

type OpenCall = Extract<Open, { kind: 'call' }>;

const PART_KINDS = ['functionCall', 'inlineData', 'executableCode', 'codeExecutionResult'] as const;
type PartKind = (typeof PART_KINDS)[number] | 'text' | 'thought' | 'other';

function kindOf(part: JsonObject): PartKind {
  if (typeof part.text === 'string') return part.thought === true ? 'thought' : 'text';
  for (const kind of PART_KINDS) if (isObject(part[kind])) return kind;
  // A part of attributes only is an empty text.
  return 'thoughtSignature' in part && Object.keys(part).length === 1 ? 'text' : 'other';
}

const ON: { readonly [K in PartKind]: (part: JsonObject, state: State, out: HubEvent[]) => void } = {
  text(part, state, out) {
    const text = maybeString(part.text) ?? '';
    const signature = mintedAt(part.thoughtSignature, state.context);
    if (text === '') {
      if (signature) signLast(signature, state, out);
      return;
    }
    // A signed text is complete. What follows begins a message of its own, since clients get a signature at a message's end.
    if (endsSigned(state.open)) close(state, out);
    const message = openMessage(state, out);
    const [draft, at] = openText(message.parts);
    draft.text += text;
    out.push({ kind: 'text', index: message.index, part: at, text });
    if (signature) draft.signature = signature;
  },
  thought(part, state, out) {
    const text = maybeString(part.text) ?? '';
    const signature = mintedAt(part.thoughtSignature, state.context);
    if (text === '' && !signature) return;
    const reasoning = openReasoning(state, out);
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
      return goOn(open, open.partial, call, out);
    if (!name) return breakOff(state, out, 'The upstream sent a function call without a name.');
    close(state, out);
    const callId = freshCallId(maybeString(call.id), state.callIds, state.context.requestId);
    const signature = mintedAt(part.thoughtSignature, state.context, callId);
    const skeleton: HubToolCall = compact({ kind: 'tool_call', callId, name, form: 'function', args: '', signature });
    const index = openItem(skeleton, state, out);
    if (call.willContinue === true) {
      const partial = { root: isObject(call.args) ? { ...call.args } : {} };
      takePartialArgs(partial, call);
      state.open = { kind: 'call', index, item: { ...skeleton }, partial };
      return;
    }
    const args = wholeArgs(call);
    out.push({ kind: 'args', index, text: args });
    state.open = { kind: 'call', index, item: { ...skeleton, args } };
  },
  inlineData(part, state, out) {
    const { mimeType, data } = maybeObject(part.inlineData);
    if (typeof data !== 'string') return;
    const mime = maybeString(mimeType) ?? 'application/octet-stream';
    const signature = mintedAt(part.thoughtSignature, state.context);
    const kind = mediaKind(mime);
    const source = { kind: 'base64', mime, data } as const;
    const media = kind === 'image' && signature ? { kind, source, signature } : { kind, source };
    openMessage(state, out).parts.push(media);
  },
  executableCode(part, state, out) {
    close(state, out);
    const given = maybeString(maybeObject(part.executableCode).id);
    const id = given ?? mintCallId(`${state.context.requestId}/code`, state.next);
    const item: HubServerCall = { kind: 'server_call', id, tool: 'code_exec', issuer: ISSUER, status: 'in_progress' };
    const index = openItem(item, state, out);
    state.open = { kind: 'code', index, item: { ...item }, raw: [part] };
  },
  codeExecutionResult(part, state, out) {
    if (state.open?.kind !== 'code') return ON.other(part, state, out);
    const { outcome } = maybeObject(part.codeExecutionResult);
    state.open.item.status = outcome === 'OUTCOME_OK' ? 'completed' : 'failed';
    state.open.raw.push(part);
    close(state, out);
  },
  /** Calls of the provider's own tools and kinds that are newer than this file. */
  other(part, state, out) {
    if (Object.keys(part).length === 0) return;
    close(state, out);
    const item: HubItem = { kind: 'opaque', issuer: ISSUER, raw: part };
    out.push({ kind: 'item_end', index: openItem(item, state, out), item });
  },
};

function wholeArgs(call: JsonObject): string {
  if (typeof call.args === 'string') return call.args;
  if (!Array.isArray(call.partialArgs)) return JSON.stringify(call.args ?? {});
  const partial = { root: isObject(call.args) ? { ...call.args } : {} };
  takePartialArgs(partial, call);
  return JSON.stringify(partial.root);
}

/** A piece of a call that was begun before: arguments, and the word that there are no more. */
function goOn(open: OpenCall, partial: PartialArgs, call: JsonObject, out: HubEvent[]): void {
  takePartialArgs(partial, call);
  if (call.willContinue !== true) completeCall(open, out);
}

function endsSigned(open: State['open']): boolean {
  const last = open?.kind === 'message' ? open.parts.at(-1) : undefined;
  return last?.kind === 'text' && last.signature !== undefined;
}

/** A signature that came after its part: it belongs to what came last, or stands alone. */
function signLast(signature: Opaque, state: State, out: HubEvent[]): void {
  const { open } = state;
  if (open?.kind === 'call' && !open.item.signature) {
    open.item.signature = { ...signature, id: open.item.callId };
  } else if (open?.kind === 'reasoning' && !open.opaque) {
    open.opaque = signature;
  } else if (open?.kind === 'message' && signPart(open.parts, signature)) {
    return;
  } else {
    close(state, out);
    openReasoning(state, out).opaque = signature;
  }
}

function signPart(parts: HubPart[], signature: Opaque): boolean {
  const last = parts.at(-1);
  if ((last?.kind !== 'text' && last?.kind !== 'image') || last.signature) return false;
  parts[parts.length - 1] = { ...last, signature };
  return true;
}
