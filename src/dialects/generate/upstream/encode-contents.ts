/**
 * The conversation as contents. The provider wants turns that alternate and begin with the user, and the answers to all
 * calls of a turn directly behind it in the order of the calls; whatever the history looks like, this is what it gets.
 * Nothing else is moved. Equal beginnings of two histories give equal beginnings of the two lists.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { rejectCompaction, rejectPrefill, rejectRef } from '../../errors/rejection.ts';
import type { HubItem, HubPart, HubReasoningItem, HubRequest, HubToolCall } from '../../hub/types.ts';
import type { Names } from '../../tools/names.ts';
import { pairResults, type TakeResult } from '../../tools/pair-results.ts';
import { isObject } from '../../wire/read.ts';
import { restored, STAND_IN } from '../thought-signature.ts';
import { ISSUER, type WireContent, type WirePart } from '../wire.ts';
import { callPart, encodePart, resultParts, textOf } from './encode-parts.ts';

export function encodeContents(request: HubRequest, names: Names, target: UpstreamTarget): WireContent[] {
  const items = request.items.slice(leadingSystem(request).length);
  const last = items.at(-1);
  if (last?.kind === 'message' && last.role === 'assistant' && !target.capabilities.prefill) rejectPrefill();
  const walk: Walk = { names, target, turns: [], takeResult: pairResults(items), bound: new Map() };
  for (const item of items) visit(item, walk);
  settle(walk);
  if (walk.turns[0]?.role !== 'user') walk.turns.unshift({ role: 'user', parts: [{ text: '.' }], calls: [] });
  return walk.turns.map(({ role, parts }) => ({ role, parts }));
}

/** System messages ahead of everything else belong to the instructions. */
export function leadingSystem(request: HubRequest): readonly Extract<HubItem, { kind: 'message' }>[] {
  const run: Extract<HubItem, { kind: 'message' }>[] = [];
  for (const item of request.items) {
    if (item.kind !== 'message' || item.role !== 'system') break;
    run.push(item);
  }
  return run;
}

// ---------------------------------------------------------------- the walk

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: WirePart[];
  /** Calls that the next turn must answer. */
  readonly calls: HubToolCall[];
}

interface Walk {
  readonly names: Names;
  readonly target: UpstreamTarget;
  readonly turns: Turn[];
  readonly takeResult: TakeResult;
  /** Signatures that came back apart from their call, by its id. */
  readonly bound: Map<string, string>;
  /** A signature that belongs to the next part of the turn. */
  loose?: { readonly signature: string; readonly summary: string } | undefined;
}

const visit = <K extends HubItem['kind']>(item: Extract<HubItem, { kind: K }>, walk: Walk): void =>
  (ON[item.kind as K] as Row<K>)(item, walk);

type Row<K extends HubItem['kind']> = (item: Extract<HubItem, { kind: K }>, walk: Walk) => void;

const ON: { readonly [K in HubItem['kind']]: Row<K> } = {
  message(item, walk) {
    if (item.role === 'system') return saySystem(item.parts, walk);
    for (const part of item.parts) sayPart(part, item.role === 'user' ? 'user' : 'model', walk);
  },
  reasoning: keepSignature,
  tool_call: sayCall,
  // Said right behind the turn that made the call.
  tool_result: (_, walk) => settle(walk),
  // What the provider ran itself is told by the text that came of it.
  server_call: () => {},
  compaction: (item, walk) => say(walk, 'user', { text: item.text || rejectCompaction() }),
  // Both change the request as a whole and are read where that is written.
  tool_change: () => {},
  config_change: () => {},
  ref: ({ id }) => rejectRef(id),
  opaque(item, walk) {
    if (item.issuer === ISSUER && isObject(item.raw)) say(walk, 'model', item.raw);
  },
};

/** Only the user may speak in the middle of a conversation; the tag tells the model whose words these are. */
function saySystem(parts: readonly HubPart[], walk: Walk): void {
  const text = parts.map(textOf).join('\n');
  if (text !== '') say(walk, 'user', { text: `<system>${text}</system>` });
}

function sayPart(part: HubPart, role: Turn['role'], walk: Walk): void {
  const encoded = encodePart(part, walk.target);
  if (encoded === undefined) return;
  const signable = role === 'model' && (part.kind === 'text' || part.kind === 'image');
  say(walk, role, signable ? withLoose(encoded, walk) : encoded);
}

function sayCall(call: HubToolCall, walk: Walk): void {
  const turn = turnOf(walk, 'model');
  const own = restored(call.signature, walk.target.account) ?? walk.bound.get(call.callId);
  const part = withLoose(callPart(call, walk.names.toWire(call), own), walk);
  // Models that think by level refuse a step whose first call is unsigned. Older turns are not checked, but get the
  // stand-in too: were it taken away once a turn is old, the bytes of the history would change and no cache would match.
  const missing = turn.calls.length === 0 && part.thoughtSignature === undefined;
  const standIn = missing && walk.target.capabilities.thinkingConfig === 'level';
  turn.parts.push(standIn ? { ...part, thoughtSignature: STAND_IN } : part);
  turn.calls.push(call);
}

/** Reasoning goes back as its signature alone, on the part that it was minted for; foreign reasoning not at all. */
function keepSignature(item: HubReasoningItem, walk: Walk): void {
  const signature = restored(item.opaque, walk.target.account);
  if (signature === undefined) return;
  if (item.opaque?.id !== undefined) {
    walk.bound.set(item.opaque.id, signature);
    return;
  }
  turnOf(walk, 'model');
  flushLoose(walk);
  walk.loose = { signature, summary: item.summary.join('\n\n') };
}

function withLoose(part: WirePart, walk: Walk): WirePart {
  const { loose } = walk;
  if (loose === undefined) return part;
  if (part.thoughtSignature !== undefined) {
    flushLoose(walk);
    return part;
  }
  walk.loose = undefined;
  return { ...part, thoughtSignature: loose.signature };
}

/** No part took the signature: it was the thought's own. */
function flushLoose(walk: Walk): void {
  const { loose } = walk;
  if (loose === undefined) return;
  walk.loose = undefined;
  const { summary: text, signature: thoughtSignature } = loose;
  // A value without words came on an empty text, and goes back on one.
  say(walk, 'model', text === '' ? { text, thoughtSignature } : { text, thought: true, thoughtSignature });
}

// ---------------------------------------------------------------- turns

const say = (walk: Walk, role: Turn['role'], part: WirePart): void => {
  turnOf(walk, role).parts.push(part);
};

/** The turn that takes the next part of this role. */
function turnOf(walk: Walk, role: Turn['role']): Turn {
  if (role === 'user') settle(walk);
  const last = walk.turns.at(-1);
  if (last?.role === role) return last;
  const turn: Turn = { role, parts: [], calls: [] };
  walk.turns.push(turn);
  return turn;
}

/** Ends a turn of the model: whatever it called is answered before anything else is said. */
function settle(walk: Walk): void {
  flushLoose(walk);
  const turn = walk.turns.at(-1);
  if (turn?.role !== 'model') return;
  if (turn.parts.length === 0) walk.turns.pop();
  if (turn.calls.length === 0) return;
  const answers: WirePart[] = [];
  const beside: WirePart[] = [];
  for (const call of turn.calls) {
    const parts = resultParts(call, walk.names.toWire(call), walk.takeResult(call), walk.target);
    answers.push(parts.answer);
    beside.push(...parts.beside);
  }
  walk.turns.push({ role: 'user', parts: [...answers, ...beside], calls: [] });
}
