import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { call, hubRequest, model, result, target, user } from '../../../../test/support/dialects/generate.ts';
import { ApiError } from '../../../core/index.ts';
import type { CapabilityOverrides } from '../../../rules/index.ts';
import type { HubItem, HubPart, Opaque } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { mintCallId } from '../../wire/ids.ts';
import { decodeRequest } from '../client/decode-request.ts';
import { STAND_IN } from '../thought-signature.ts';
import type { WireContent } from '../wire.ts';
import { encodeRequest } from './encode-request.ts';

const encode = (items: readonly HubItem[], overrides: CapabilityOverrides = {}, account?: string): WireContent[] => {
  const to = { ...target(overrides), ...(account !== undefined && { account }) };
  return encodeRequest(hubRequest({ items }), to).body.contents as WireContent[];
};
const refused = (code: string, words: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.code === code && words.test(error.message);
const thought = (data: string, more: Partial<Opaque> = {}): Opaque => ({
  issuer: 'generate-content',
  kind: 'thought',
  data,
  ...more,
});
const fcPart = (id: string, name = 'f', thoughtSignature?: string) => ({
  functionCall: { id, name, args: {} },
  ...(thoughtSignature !== undefined && { thoughtSignature }),
});
const frPart = (id: string, output = 'ok', name = 'f') => ({ functionResponse: { id, name, response: { output } } });

test('turns of one role are merged, part for part, and empty texts are left out', () => {
  assert.deepEqual(encode([user('a'), user(''), user('b'), model('c'), model('d'), user('e')]), [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    { role: 'user', parts: [{ text: 'e' }] },
  ]);
});

test('a conversation that begins with the model, or has nothing in it, gets a first word of the user', () => {
  assert.deepEqual(encode([model('hello'), user('hi')])[0], { role: 'user', parts: [{ text: '.' }] });
  assert.deepEqual(encode([]), [{ role: 'user', parts: [{ text: '.' }] }]);
});

test('results stand directly behind their turn in the order of the calls, named after them', () => {
  const items = [user('go'), call('1', 'a'), call('2', 'b'), result('2', 'two'), user('and?'), result('1', 'one')];
  assert.deepEqual(encode(items), [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [fcPart('1', 'a', STAND_IN), fcPart('2', 'b')] },
    { role: 'user', parts: [frPart('1', 'one', 'a'), frPart('2', 'two', 'b'), { text: 'and?' }] },
  ]);
});

test('calls that were answered one after the other stay in turns of their own', () => {
  const contents = encode([user('go'), call('1'), result('1'), call('2'), result('2')]);
  assert.deepEqual(
    contents.map((content) => content.role),
    ['user', 'model', 'user', 'model', 'user'],
  );
});

test('a call without a result is answered with an error, so that the turn is complete', () => {
  assert.deepEqual(encode([user('go'), call('1'), user('well?')])[2], {
    role: 'user',
    parts: [
      { functionResponse: { id: '1', name: 'f', response: { error: 'No output was recorded for this call.' } } },
      { text: 'well?' },
    ],
  });
});

test('a result without a call is refused by its id; a second one for the same call adds to the first', () => {
  assert.throws(() => encode([user('go'), result('zz')]), refused('invalid_request', /call_id zz/));
  assert.throws(() => encode([result('1'), call('1')]), refused('invalid_request', /call_id 1/));
  const contents = encode([user('go'), call('1'), result('1', 'one'), result('1', 'two')]);
  assert.deepEqual(contents[2]?.parts, [frPart('1', 'one\ntwo')]);
});

test('an id that two turns share is paired turn by turn', () => {
  const contents = encode([user('go'), call('x'), result('x', 'one'), call('x'), result('x', 'two')]);
  assert.deepEqual(contents[2]?.parts, [frPart('x', 'one')]);
  assert.deepEqual(contents[4]?.parts, [frPart('x', 'two')]);
});

test('ids that we minted are not shown to the provider', () => {
  const id = mintCallId('r', 0);
  assert.deepEqual(encode([user('go'), call(id), result(id)]).slice(1), [
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: STAND_IN }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] },
  ]);
});

test('errors, data, free text and broken arguments take the form the provider reads', () => {
  const items: HubItem[] = [
    { kind: 'tool_call', callId: '1', name: 'c', form: 'custom', args: 'free "text"' },
    { kind: 'tool_call', callId: '2', name: 'd', form: 'function', args: '{broken' },
    { kind: 'tool_result', callId: '1', form: 'custom', isError: true, parts: [{ kind: 'text', text: 'no' }] },
    { kind: 'tool_result', callId: '2', form: 'function', parts: [{ kind: 'json', value: { a: 1 } }] },
  ];
  const [, calls, answers] = encode(items);
  assert.deepEqual(calls?.parts[0]?.functionCall, { id: '1', name: 'c', args: { input: 'free "text"' } });
  assert.deepEqual(calls?.parts[1]?.functionCall, { id: '2', name: 'd', args: {} });
  assert.deepEqual(answers?.parts[0]?.functionResponse, { id: '1', name: 'c', response: { error: 'no' } });
  assert.deepEqual(answers?.parts[1]?.functionResponse, { id: '2', name: 'd', response: { a: 1 } });
});

test('pictures in a result travel inside it, or behind all results where the model takes none there', () => {
  const image: HubPart = { kind: 'image', source: { kind: 'base64', mime: 'image/jpg', data: 'AA==' } };
  const withImage: HubItem = {
    kind: 'tool_result',
    callId: '1',
    form: 'function',
    parts: [{ kind: 'text', text: 'see' }, image],
  };
  const items = [user('go'), call('1'), call('2'), withImage, result('2')];
  const inline = { inlineData: { mimeType: 'image/jpeg', data: 'AA==' } };
  const inside = encode(items)[2]?.parts;
  assert.deepEqual(inside?.[0]?.functionResponse, { id: '1', name: 'f', response: { output: 'see' }, parts: [inline] });
  const behind = encode(items, { resultMedia: false })[2]?.parts;
  assert.deepEqual(behind, [frPart('1', 'see'), frPart('2'), inline]);
});

test('system text in the middle becomes words of the user in a tag; ahead of all it joins the instructions', () => {
  const system = (text: string): HubItem => ({ kind: 'message', role: 'system', parts: [{ kind: 'text', text }] });
  const items = [system('lead'), user('a'), call('1'), system('mid'), result('1')];
  const { body } = encodeRequest(hubRequest({ items, system: [{ kind: 'text', text: 'first' }] }), target());
  assert.deepEqual(body.systemInstruction, { parts: [{ text: 'first' }, { text: 'lead' }] });
  assert.deepEqual((body.contents as WireContent[])[2]?.parts, [frPart('1'), { text: '<system>mid</system>' }]);
});

test('a trailing turn of the model is passed on only to models that continue it', () => {
  assert.equal(encode([user('a'), model('b')]).at(-1)?.role, 'model');
  assert.throws(
    () => encode([user('a'), model('b')], { prefill: false }),
    refused('invalid_request', /^This model does not support assistant message prefill/),
  );
});

test('media travel as bytes; an address is refused unless the model reads it itself', () => {
  const image = (url: string): HubItem => ({
    kind: 'message',
    role: 'user',
    parts: [{ kind: 'image', source: { kind: 'url', url } }],
  });
  assert.throws(() => encode([image('https://x.test/a.png')]), refused('unsupported_parameter', /address/));
  assert.deepEqual(encode([image('https://x.test/a.png')], { urlMedia: true })[0]?.parts, [
    { fileData: { fileUri: 'https://x.test/a.png' } },
  ]);
});

test('a file of another provider is refused by its id; text files and search results become text', () => {
  const file = (part: HubPart): HubItem => ({ kind: 'message', role: 'user', parts: [part] });
  assert.throws(
    () => encode([file({ kind: 'file', source: { kind: 'file_id', id: 'file_9', issuer: 'messages' } })]),
    refused('unsupported_parameter', /file_9/),
  );
  const text: HubPart = { kind: 'file', title: 'notes.txt', source: { kind: 'text', text: 'body' } };
  const found: HubPart = { kind: 'search_result', source: 'https://s.test', title: 'T', texts: ['x', 'y'] };
  assert.deepEqual(encode([file(text), file(found)])[0]?.parts, [
    { text: 'notes.txt\nbody' },
    { text: 'T\nhttps://s.test\nx\ny' },
  ]);
});

test('a stored item that nobody resolved and a foreign compaction are refused, not skipped', () => {
  assert.throws(() => encode([{ kind: 'ref', id: 'msg_1' }]), refused('invalid_request', /'msg_1' not found/));
  assert.throws(() => encode([{ kind: 'compaction' }]), refused('invalid_request', /compacted/));
  assert.deepEqual(encode([{ kind: 'compaction', text: 'so far' }])[0]?.parts, [{ text: 'so far' }]);
});

// ---------------------------------------------------------------- signatures

test('the signature of a call goes back with it; the second of two parallel calls has none', () => {
  const first: HubItem = {
    kind: 'tool_call',
    callId: '1',
    name: 'f',
    form: 'function',
    args: '{}',
    signature: thought('S'),
  };
  const parts = encode([user('go'), first, call('2'), result('1'), result('2')])[1]?.parts;
  assert.deepEqual(parts, [fcPart('1', 'f', 'S'), fcPart('2')]);
});

test('a signature that travelled apart finds its call again by id, over text and other calls in between', () => {
  const carrier: HubItem = { kind: 'reasoning', summary: ['hm'], opaque: thought('S', { id: '2' }) };
  const parts = encode([user('go'), carrier, model('text'), call('1'), call('2'), result('1'), result('2')])[1]?.parts;
  assert.deepEqual(parts, [{ text: 'text' }, fcPart('1', 'f', STAND_IN), fcPart('2', 'f', 'S')]);
});

test('a signature without an id goes to the next part of the turn, and stands alone as a thought if there is none', () => {
  const loose: HubItem = { kind: 'reasoning', summary: ['a', 'b'], opaque: thought('S') };
  assert.deepEqual(encode([user('go'), loose, model('text'), user('next')])[1]?.parts, [
    { text: 'text', thoughtSignature: 'S' },
  ]);
  assert.deepEqual(encode([user('go'), loose, user('next')])[1]?.parts, [
    { text: 'a\n\nb', thought: true, thoughtSignature: 'S' },
  ]);
  const wordless: HubItem = { kind: 'reasoning', summary: [], opaque: thought('S') };
  assert.deepEqual(encode([user('go'), model('text'), wordless, user('next')])[1]?.parts, [
    { text: 'text' },
    { text: '', thoughtSignature: 'S' },
  ]);
});

test('the stand-in goes to the first call of each unsigned step, for models that check, in old turns too', () => {
  const items = [user('a'), call('1'), result('1'), call('2'), call('3'), result('2'), result('3'), user('b')];
  const marks = (overrides: CapabilityOverrides) =>
    encode(items, overrides).flatMap(({ parts }) => parts.map((part) => part.thoughtSignature === STAND_IN));
  assert.deepEqual(marks({}), [false, true, false, true, false, false, false, false]);
  assert.ok(!marks({ thinkingConfig: 'budget' }).includes(true));
});

test('foreign reasoning vanishes, and its words with it', () => {
  const foreign: HubItem[] = [
    { kind: 'reasoning', summary: ['hidden words'], opaque: { issuer: 'messages', kind: 'thinking', data: 'x' } },
    { kind: 'reasoning', summary: ['hidden words'] },
    { kind: 'opaque', issuer: 'responses', raw: { type: 'hidden words' } },
    { kind: 'server_call', id: 's', tool: 'web_search', issuer: 'messages', status: 'completed', raw: 'hidden words' },
  ];
  const text = JSON.stringify(encode([user('a'), ...foreign, model('b'), user('c')]));
  assert.doesNotMatch(text, /hidden/);
});

test('a signature of another account family is not sent', () => {
  const signed: HubItem = {
    kind: 'tool_call',
    callId: '1',
    name: 'f',
    form: 'function',
    args: '{}',
    signature: thought('S', { account: 'mine' }),
  };
  const sent = (account?: string) =>
    encode([user('go'), signed, result('1')], {}, account)[1]?.parts[0]?.thoughtSignature;
  assert.equal(sent('mine'), 'S');
  assert.equal(sent('other'), STAND_IN);
  assert.equal(sent(), 'S');
});

test('a native client gets its own turn back part for part', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'go' }] },
    {
      role: 'model',
      parts: [
        { text: 'plan', thoughtSignature: 'T' },
        fcPart('1', 'f', wrap(thought('S', { id: '1', account: 'mine' }))),
        { toolCall: { id: 'x', toolType: 'GOOGLE_SEARCH' } },
      ],
    },
    { role: 'user', parts: [frPart('1')] },
  ];
  const request = decodeRequest({ contents }, { headers: {}, model: 'm' });
  const back = encodeRequest(request, { ...target(), account: 'mine' }).body.contents as WireContent[];
  assert.deepEqual(back[1]?.parts[1], fcPart('1', 'f', 'S'));
  assert.deepEqual(
    [back[0], back[1]?.parts[0], back[1]?.parts[2], back[2]],
    [contents[0], contents[1]?.parts[0], contents[1]?.parts[2], contents[2]],
  );
});

// ---------------------------------------------------------------- laws

/** A turn: words, or calls in some order with their results in some other. */
const turn = fc.oneof(
  fc.string({ minLength: 1, maxLength: 4 }).map((text) => [user(text)]),
  fc.string({ minLength: 1, maxLength: 4 }).map((text) => [model(text)]),
  fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean(), fc.boolean()).map(([count, reversed, late]) => {
    const ids = Array.from({ length: count }, (_, n) => `c${n}`);
    const results = (reversed ? ids.toReversed() : ids).map((id) => result(id));
    return [...ids.map((id) => call(id)), ...(late ? [user('late')] : []), ...results];
  }),
);
const history = fc.array(turn, { maxLength: 8 });

test('law: turns alternate, begin with the user, are never empty, and answer every call at once', () => {
  fc.assert(
    fc.property(history, (turns) => {
      const contents = encode(turns.flat());
      assert.equal(contents[0]?.role, 'user');
      for (const [n, { role, parts }] of contents.entries()) {
        assert.ok(parts.length > 0);
        assert.notEqual(role, contents[n + 1]?.role);
        const calls = parts.filter((part) => part.functionCall).length;
        const answers = (contents[n + 1]?.parts ?? []).slice(0, calls);
        assert.ok(answers.length === calls && answers.every((part) => part.functionResponse));
      }
    }),
  );
});

test('law: a longer history begins with the very bytes of the shorter one', () => {
  fc.assert(
    fc.property(history, history, (before, after) => {
      const start = [...before.flat(), user('fixed')];
      const short = encode(start);
      // The next turn belongs to the model, so that the last one of the shorter history is complete.
      const long = encode([...start, model('then'), ...after.flat()]);
      assert.equal(JSON.stringify(long.slice(0, short.length)), JSON.stringify(short));
    }),
  );
});
