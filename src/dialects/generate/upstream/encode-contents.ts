/**
 * Encoder of the conversation as contents: turns alternate, results follow their calls
 * in order. Common prefixes stay common, because prompt caches depend on it.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { rejectCompaction, rejectRef } from '../../errors/rejection.ts';
import { forKind } from '../../hub/by-kind.ts';
import type { HubItem, HubPart, HubReasoningItem, HubRequest, HubToolCall } from '../../hub/types.ts';
import { hostedText, ownForm } from '../../tools/hosted.ts';
import type { ToolNames } from '../../tools/names.ts';
import { pairResults, type TakeResult } from '../../tools/pair-results.ts';
import { isObject } from '../../wire/read.ts';
import { PLACEHOLDER_SIGNATURE, signatureForUpstream } from '../thought-signature.ts';
import { ISSUER, type WireContent, type WirePart } from '../wire.ts';
import { callPart, encodePart, resultParts, textOf } from './encode-parts.ts';

export function encodeContents(request: HubRequest, names: ToolNames, target: UpstreamTarget): WireContent[] {
  const items = request.items.slice(leadingSystem(request).length);
  const state: EncodeState = { names, target, turns: [], takeResult: pairResults(items), signaturesByCall: new Map() };
  for (const item of items) encodeItem(item, state);
  endModelTurn(state);
  if (state.turns[0]?.role !== 'user') state.turns.unshift({ role: 'user', parts: [{ text: '.' }], calls: [] });
  return state.turns.map(({ role, parts }) => ({ role, parts }));
}

/** Returns the system messages before the first other item, which become part of the system instruction. */
export function leadingSystem(request: HubRequest): readonly Extract<HubItem, { kind: 'message' }>[] {
  const run: Extract<HubItem, { kind: 'message' }>[] = [];
  for (const item of request.items) {
    if (item.kind !== 'message' || item.role !== 'system') break;
    run.push(item);
  }
  return run;
}

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: WirePart[];
  /** Calls whose responses the next turn must contain. */
  readonly calls: HubToolCall[];
}

interface EncodeState {
  readonly names: ToolNames;
  readonly target: UpstreamTarget;
  readonly turns: Turn[];
  readonly takeResult: TakeResult;
  /** Signatures that arrived apart from their call, by call id. */
  readonly signaturesByCall: Map<string, string>;
  /** Signature for the next part of the turn. */
  pendingSignature?: { readonly signature: string; readonly summary: string } | undefined;
}

const encodeItem = forKind<HubItem, EncodeState, void>({
  message(item, state) {
    if (item.role === 'system') return appendSystem(item.parts, state);
    for (const part of item.parts) appendHubPart(part, item.role === 'user' ? 'user' : 'model', state);
  },
  reasoning: holdSignature,
  tool_call: appendCall,
  // `endModelTurn` writes the result right after the turn with its call.
  tool_result: (_, state) => endModelTurn(state),
  server_call(item, state) {
    const own = ownForm(item, ISSUER, state.target);
    if (item.image) appendHubPart(item.image, 'model', state);
    else if (own) for (const part of own.filter(isObject)) appendPart(state, 'model', part);
    else if (item.tool !== 'image_gen') appendHubPart({ kind: 'text', text: hostedText(item) }, 'model', state);
  },
  compaction: (item, state) => appendPart(state, 'user', { text: item.text || rejectCompaction() }),
  // `effectiveRequest` and `offeredTools` apply both to the whole request.
  tool_change: () => {},
  config_change: () => {},
  ref: ({ id }) => rejectRef(id),
  opaque(item, state) {
    if (item.issuer === ISSUER && isObject(item.raw)) appendPart(state, 'model', item.raw);
  },
});

/** Contents have no system role, so later system messages become tagged user text. */
function appendSystem(parts: readonly HubPart[], state: EncodeState): void {
  const text = parts.map(textOf).join('\n');
  if (text !== '') appendPart(state, 'user', { text: `<system>${text}</system>` });
}

function appendHubPart(part: HubPart, role: Turn['role'], state: EncodeState): void {
  const encoded = encodePart(part, state.target);
  if (encoded === undefined) return;
  if (part.kind === 'file' && part.source.kind !== 'text' && textOf(part) !== '')
    appendPart(state, role, { text: textOf(part) });
  const signable = role === 'model' && (part.kind === 'text' || part.kind === 'image');
  const signed = signable ? withPendingSignature(encoded, state) : encoded;
  const isUnsignedImage = role === 'model' && part.kind === 'image' && signed.thoughtSignature === undefined;
  appendPart(state, role, isUnsignedImage ? withPlaceholder(signed, state) : signed);
}

function appendCall(call: HubToolCall, state: EncodeState): void {
  const turn = openTurn(state, 'model');
  const signature =
    signatureForUpstream(call.signature, state.target.account) ?? state.signaturesByCall.get(call.callId);
  const part = withPendingSignature(callPart(call, state.names.toWire(call), signature), state);
  // Models with thinking levels reject a step whose first call is unsigned. Older turns are not checked but keep the
  // placeholder: removing it later would change the prefix and defeat prompt caches.
  const isUnsigned = turn.calls.length === 0 && part.thoughtSignature === undefined;
  turn.parts.push(isUnsigned ? withPlaceholder(part, state) : part);
  turn.calls.push(call);
}

/** Models with thinking levels also require a signature on the images of the model. */
const withPlaceholder = (part: WirePart, { target }: EncodeState): WirePart =>
  target.capabilities.thinkingConfig === 'level' ? { ...part, thoughtSignature: PLACEHOLDER_SIGNATURE } : part;

/** Keeps the signature of reasoning for the part it was issued for. Drops reasoning of other providers. */
function holdSignature(item: HubReasoningItem, state: EncodeState): void {
  const signature = signatureForUpstream(item.opaque, state.target.account);
  if (signature === undefined) return;
  if (item.opaque?.id !== undefined) {
    state.signaturesByCall.set(item.opaque.id, signature);
    return;
  }
  openTurn(state, 'model');
  flushPendingSignature(state);
  state.pendingSignature = { signature, summary: item.summary.join('\n\n') };
}

function withPendingSignature(part: WirePart, state: EncodeState): WirePart {
  const { pendingSignature: pending } = state;
  if (pending === undefined) return part;
  if (part.thoughtSignature !== undefined) {
    flushPendingSignature(state);
    return part;
  }
  state.pendingSignature = undefined;
  return { ...part, thoughtSignature: pending.signature };
}

/** Writes a signature that no part took as a thought. */
function flushPendingSignature(state: EncodeState): void {
  const { pendingSignature: pending } = state;
  if (pending === undefined) return;
  state.pendingSignature = undefined;
  const { summary: text, signature: thoughtSignature } = pending;
  // A signature without text arrived on an empty text part and returns on one.
  appendPart(state, 'model', text === '' ? { text, thoughtSignature } : { text, thought: true, thoughtSignature });
}

const appendPart = (state: EncodeState, role: Turn['role'], part: WirePart): void => {
  openTurn(state, role).parts.push(part);
};

/** Returns the turn for the next part of this role. */
function openTurn(state: EncodeState, role: Turn['role']): Turn {
  if (role === 'user') endModelTurn(state);
  const last = state.turns.at(-1);
  if (last?.role === role) return last;
  const turn: Turn = { role, parts: [], calls: [] };
  state.turns.push(turn);
  return turn;
}

/** Ends a model turn and appends the responses to its calls. */
function endModelTurn(state: EncodeState): void {
  flushPendingSignature(state);
  const turn = state.turns.at(-1);
  if (turn?.role !== 'model') return;
  if (turn.parts.length === 0) state.turns.pop();
  if (turn.calls.length === 0) return;
  const responses: WirePart[] = [];
  const media: WirePart[] = [];
  for (const call of turn.calls) {
    const parts = resultParts(call, state.names.toWire(call), state.takeResult(call), state.target);
    responses.push(parts.response);
    media.push(...parts.media);
  }
  state.turns.push({ role: 'user', parts: [...responses, ...media], calls: [] });
}
