import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubRequest } from '../../../test/support/dialects/codecs.ts';
import type { HubItem, HubRequest, HubText, Opaque } from '../hub/types.ts';
import {
  accountTagsIn,
  hasOpaque,
  opaqueByCall,
  opaquesIn,
  restoreOpaque,
  withoutOpaque,
  withoutRejected,
} from './in-request.ts';

const opaque = (data: string, account?: string): Opaque => ({
  issuer: 'generate-content',
  kind: 'thought',
  data,
  ...(account !== undefined && { account }),
});
const reasoning = (value?: Opaque): HubItem => ({
  kind: 'reasoning',
  summary: ['hm'],
  ...(value && { opaque: value }),
});
const call = (callId: string, signature?: Opaque): HubItem => ({
  kind: 'tool_call',
  callId,
  name: 'f',
  form: 'function',
  args: '{}',
  ...(signature && { signature }),
});
const text = (value: string, signature?: Opaque): HubText => ({
  kind: 'text',
  text: value,
  ...(signature && { signature }),
});
const assistant = (...parts: HubText[]): HubItem => ({ kind: 'message', role: 'assistant', parts });
const user: HubItem = { kind: 'message', role: 'user', parts: [text('go')] };
const request = (...items: HubItem[]): HubRequest => hubRequest({ items });

// ---------------------------------------------------------------- finding

test('accountTagsIn lists each account once, most recent first', () => {
  const items = [reasoning(opaque('1', 'a')), call('c', opaque('2', 'b')), assistant(text('x', opaque('3', 'a')))];
  assert.deepEqual(accountTagsIn(request(...items)), ['a', 'b']);
  assert.deepEqual(accountTagsIn(request(...items, call('d', opaque('4')), reasoning(opaque('5', 'b')))), ['b', 'a']);
});

test('opaquesIn finds values of reasoning, compaction, calls and text', () => {
  const values = ['1', '2', '3', '4'].map((data) => opaque(data));
  const [one, two, three, four] = values as [Opaque, Opaque, Opaque, Opaque];
  const items = [
    reasoning(one),
    { kind: 'compaction', opaque: two } as const,
    call('c', three),
    assistant(text('x', four)),
  ];
  assert.deepEqual(opaquesIn(request(user, ...items)), values);
  assert.deepEqual(
    [hasOpaque(request(user, ...items)), hasOpaque(request(user, reasoning(), call('c')))],
    [true, false],
  );
});

// ---------------------------------------------------------------- removing

test('withoutOpaque removes all reasoning and all signatures', () => {
  const items = [user, reasoning(opaque('1')), reasoning(), assistant(text('x', opaque('2'))), call('c', opaque('3'))];
  assert.deepEqual(withoutOpaque(request(...items)).items, [user, assistant(text('x')), call('c')]);
});

test('withoutRejected removes only rejected values and their reasoning', () => {
  const kept = [reasoning(opaque('ok')), reasoning(), call('a', opaque('ok'))];
  const items = [...kept, reasoning(opaque('bad')), assistant(text('x', opaque('bad'))), call('b', opaque('bad'))];
  const stripped = withoutRejected(request(...items), ({ data }) => data === 'bad');
  assert.deepEqual(stripped.items, [...kept, assistant(text('x')), call('b')]);
});

// ---------------------------------------------------------------- remembering and restoring

/** Restores a conversation whose client returned `returned`, from what `reply` was remembered as. */
const restored = (reply: readonly HubItem[], returned: readonly HubItem[], signsText = true): readonly HubItem[] => {
  const known = opaqueByCall(reply);
  return restoreOpaque(request(user, ...returned), (id) => known.get(id), signsText).items.slice(1);
};

test('restoreOpaque puts reasoning back before the text or before the call it preceded', () => {
  const reply = [reasoning(opaque('1')), assistant(text('x')), reasoning(opaque('2')), call('a')];
  assert.deepEqual(restored(reply, [assistant(text('x')), call('a')]), reply);
});

test('restoreOpaque puts all reasoning before the call when the client omits the text', () => {
  const reply = [reasoning(opaque('1')), assistant(text('x')), reasoning(opaque('2')), call('a')];
  assert.deepEqual(restored(reply, [call('a')]), [reasoning(opaque('1')), reasoning(opaque('2')), call('a')]);
});

test('restoreOpaque restores each call of a reply with its own values', () => {
  const reply = [reasoning(opaque('1')), call('a', opaque('sa')), call('b'), reasoning(opaque('2')), call('c')];
  assert.deepEqual(restored(reply, [call('a'), call('b'), call('c')]), reply);
});

test('restoreOpaque does not repeat values that the client returned', () => {
  const reply = [reasoning(opaque('1')), call('a', opaque('s'))];
  assert.deepEqual(restored(reply, [call('a', opaque('own'))]), [call('a', opaque('own'))]);
  const unsigned = [reasoning(opaque('1')), call('a')];
  assert.deepEqual(restored(unsigned, unsigned), unsigned);
});

test('opaqueByCall ignores reasoning without an opaque value', () => {
  assert.equal(opaqueByCall([reasoning(), assistant(text('x')), call('a')]).size, 0);
});

test('restoreOpaque splits a text into its signed parts when the provider signs text', () => {
  const reply = [assistant(text('one ', opaque('1')), text('two'), text('', opaque('2')))];
  const returned = [assistant(text('one two'))];
  assert.deepEqual(restored(reply, returned), reply);
  assert.deepEqual(restored(reply, returned, false), returned);
  assert.deepEqual(restored(reply, [assistant(text('one too'))]), [assistant(text('one too'))]);
});

test('restoreOpaque returns the same request when nothing is known', () => {
  const plain = request(user, assistant(text('x')), call('a'));
  assert.equal(
    restoreOpaque(plain, () => undefined, true),
    plain,
  );
});
