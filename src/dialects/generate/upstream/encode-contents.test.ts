import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  call,
  functionCallPart,
  functionResponsePart,
  hubRequest,
  isApiError,
  model,
  result,
  target,
  thought,
  user,
} from '../../../../test/support/dialects/generate.ts';
import type { CapabilityOverrides } from '../../../rules/index.ts';
import type { HubItem, HubPart } from '../../hub/types.ts';
import { mintCallId } from '../../wire/ids.ts';
import { PLACEHOLDER_SIGNATURE } from '../thought-signature.ts';
import type { WireContent } from '../wire.ts';
import { encodeRequest } from './encode-request.ts';

const encode = (items: readonly HubItem[], overrides: CapabilityOverrides = {}, account?: string): WireContent[] => {
  const to = { ...target(overrides), ...(account !== undefined && { account }) };
  return encodeRequest(hubRequest({ items }), to).body.contents as WireContent[];
};

test('contents encoder merges adjacent turns of one role and drops empty text', () => {
  assert.deepEqual(encode([user('a'), user(''), user('b'), model('c'), model('d'), user('e')]), [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    { role: 'user', parts: [{ text: 'e' }] },
  ]);
});

test('contents encoder adds a first user turn to an empty conversation or one that starts with the model', () => {
  assert.deepEqual(encode([model('hello'), user('hi')])[0], { role: 'user', parts: [{ text: '.' }] });
  assert.deepEqual(encode([]), [{ role: 'user', parts: [{ text: '.' }] }]);
});

test('contents encoder puts results directly after their turn, in call order, with the name of the call', () => {
  const items = [user('go'), call('1', 'a'), call('2', 'b'), result('2', 'two'), user('and?'), result('1', 'one')];
  assert.deepEqual(encode(items), [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [functionCallPart('1', 'a', PLACEHOLDER_SIGNATURE), functionCallPart('2', 'b')] },
    {
      role: 'user',
      parts: [functionResponsePart('1', 'one', 'a'), functionResponsePart('2', 'two', 'b'), { text: 'and?' }],
    },
  ]);
});

test('contents encoder keeps sequential calls in separate turns', () => {
  const contents = encode([user('go'), call('1'), result('1'), call('2'), result('2')]);
  assert.deepEqual(
    contents.map((content) => content.role),
    ['user', 'model', 'user', 'model', 'user'],
  );
});

test('contents encoder adds an error response to a call without a result', () => {
  assert.deepEqual(encode([user('go'), call('1'), user('well?')])[2], {
    role: 'user',
    parts: [
      { functionResponse: { id: '1', name: 'f', response: { error: 'No output was recorded for this call.' } } },
      { text: 'well?' },
    ],
  });
});

test('contents encoder rejects a result without a call and joins two results of one call', () => {
  assert.throws(() => encode([user('go'), result('zz')]), isApiError('invalid_request', /call_id zz/));
  assert.throws(() => encode([result('1'), call('1')]), isApiError('invalid_request', /call_id 1/));
  const contents = encode([user('go'), call('1'), result('1', 'one'), result('1', 'two')]);
  assert.deepEqual(contents[2]?.parts, [functionResponsePart('1', 'one\ntwo')]);
});

test('contents encoder pairs a reused call id turn by turn', () => {
  const contents = encode([user('go'), call('x'), result('x', 'one'), call('x'), result('x', 'two')]);
  assert.deepEqual(contents[2]?.parts, [functionResponsePart('x', 'one')]);
  assert.deepEqual(contents[4]?.parts, [functionResponsePart('x', 'two')]);
});

test('contents encoder omits call ids that the gateway generated', () => {
  const id = mintCallId('r', 0);
  assert.deepEqual(encode([user('go'), call(id), result(id)]).slice(1), [
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: PLACEHOLDER_SIGNATURE }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] },
  ]);
});

test('contents encoder encodes errors, data, free text and malformed arguments as objects', () => {
  const items: HubItem[] = [
    { kind: 'tool_call', callId: '1', name: 'c', form: 'custom', args: 'free "text"' },
    { kind: 'tool_call', callId: '2', name: 'd', form: 'function', args: '{broken' },
    { kind: 'tool_result', callId: '1', form: 'custom', isError: true, parts: [{ kind: 'text', text: 'no' }] },
    { kind: 'tool_result', callId: '2', form: 'function', parts: [{ kind: 'json', value: { a: 1 } }] },
  ];
  const [, calls, responses] = encode(items);
  assert.deepEqual(calls?.parts[0]?.functionCall, { id: '1', name: 'c', args: { input: 'free "text"' } });
  assert.deepEqual(calls?.parts[1]?.functionCall, { id: '2', name: 'd', args: { INVALID_JSON: '{broken' } });
  assert.deepEqual(responses?.parts[0]?.functionResponse, { id: '1', name: 'c', response: { error: 'no' } });
  assert.deepEqual(responses?.parts[1]?.functionResponse, { id: '2', name: 'd', response: { a: 1 } });
});

test('contents encoder sends result media inside the response, or after all responses for older models', () => {
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
  const separate = encode(items, { resultMedia: false })[2]?.parts;
  assert.deepEqual(separate, [functionResponsePart('1', 'see'), functionResponsePart('2'), inline]);
});

test('contents encoder tags later system messages as user text and moves leading ones to the instruction', () => {
  const system = (text: string): HubItem => ({ kind: 'message', role: 'system', parts: [{ kind: 'text', text }] });
  const items = [system('lead'), user('a'), call('1'), system('mid'), result('1')];
  const { body } = encodeRequest(hubRequest({ items, system: [{ kind: 'text', text: 'first' }] }), target());
  assert.deepEqual(body.systemInstruction, { parts: [{ text: 'first' }, { text: 'lead' }] });
  assert.deepEqual((body.contents as WireContent[])[2]?.parts, [
    functionResponsePart('1'),
    { text: '<system>mid</system>' },
  ]);
});

test('contents encoder rejects URLs unless the model fetches them', () => {
  const image = (url: string): HubItem => ({
    kind: 'message',
    role: 'user',
    parts: [{ kind: 'image', source: { kind: 'url', url } }],
  });
  assert.throws(() => encode([image('https://x.test/a.png')]), isApiError('unsupported_parameter', /URLs/));
  assert.deepEqual(encode([image('https://x.test/a.png')], { urlMedia: true })[0]?.parts, [
    { fileData: { fileUri: 'https://x.test/a.png' } },
  ]);
});

test('contents encoder rejects file ids of other providers and sends text files and search results as text', () => {
  const file = (part: HubPart): HubItem => ({ kind: 'message', role: 'user', parts: [part] });
  assert.throws(
    () => encode([file({ kind: 'file', source: { kind: 'file_id', id: 'file_9', issuer: 'messages' } })]),
    isApiError('unsupported_parameter', /file_9/),
  );
  const text: HubPart = { kind: 'file', title: 'notes.txt', source: { kind: 'text', text: 'body' } };
  const found: HubPart = { kind: 'search_result', source: 'https://s.test', title: 'T', texts: ['x', 'y'] };
  assert.deepEqual(encode([file(text), file(found)])[0]?.parts, [
    { text: 'notes.txt\nbody' },
    { text: 'T\nhttps://s.test\nx\ny' },
  ]);
});

test('contents encoder rejects unresolved references and opaque compactions', () => {
  assert.throws(() => encode([{ kind: 'ref', id: 'msg_1' }]), isApiError('invalid_request', /'msg_1' not found/));
  assert.throws(() => encode([{ kind: 'compaction' }]), isApiError('invalid_request', /compacted/));
  assert.deepEqual(encode([{ kind: 'compaction', text: 'so far' }])[0]?.parts, [{ text: 'so far' }]);
});

// ---------------------------------------------------------------- signatures

test('contents encoder sends the signature of a call with the call', () => {
  const first: HubItem = {
    kind: 'tool_call',
    callId: '1',
    name: 'f',
    form: 'function',
    args: '{}',
    signature: thought('S'),
  };
  const parts = encode([user('go'), first, call('2'), result('1'), result('2')])[1]?.parts;
  assert.deepEqual(parts, [functionCallPart('1', 'f', 'S'), functionCallPart('2')]);
});

test('contents encoder attaches a separate signature to its call by id', () => {
  const reasoning: HubItem = { kind: 'reasoning', summary: ['hm'], opaque: thought('S', { id: '2' }) };
  const parts = encode([user('go'), reasoning, model('text'), call('1'), call('2'), result('1'), result('2')])[1]
    ?.parts;
  assert.deepEqual(parts, [
    { text: 'text' },
    functionCallPart('1', 'f', PLACEHOLDER_SIGNATURE),
    functionCallPart('2', 'f', 'S'),
  ]);
});

test('contents encoder attaches a signature without an id to the next part, or sends it as a thought', () => {
  const loose: HubItem = { kind: 'reasoning', summary: ['a', 'b'], opaque: thought('S') };
  assert.deepEqual(encode([user('go'), loose, model('text'), user('next')])[1]?.parts, [
    { text: 'text', thoughtSignature: 'S' },
  ]);
  assert.deepEqual(encode([user('go'), loose, user('next')])[1]?.parts, [
    { text: 'a\n\nb', thought: true, thoughtSignature: 'S' },
  ]);
  const textless: HubItem = { kind: 'reasoning', summary: [], opaque: thought('S') };
  assert.deepEqual(encode([user('go'), model('text'), textless, user('next')])[1]?.parts, [
    { text: 'text' },
    { text: '', thoughtSignature: 'S' },
  ]);
});

test('contents encoder adds the placeholder to the first call of every unsigned step on models that check', () => {
  const items = [user('a'), call('1'), result('1'), call('2'), call('3'), result('2'), result('3'), user('b')];
  const placeholders = (overrides: CapabilityOverrides) =>
    encode(items, overrides).flatMap(({ parts }) =>
      parts.map((part) => part.thoughtSignature === PLACEHOLDER_SIGNATURE),
    );
  assert.deepEqual(placeholders({}), [false, true, false, true, false, false, false, false]);
  assert.ok(!placeholders({ thinkingConfig: 'budget' }).includes(true));
});

test('contents encoder drops reasoning of other providers including its text', () => {
  const foreign: HubItem[] = [
    { kind: 'reasoning', summary: ['hidden text'], opaque: { issuer: 'messages', kind: 'thinking', data: 'x' } },
    { kind: 'reasoning', summary: ['hidden text'] },
    { kind: 'opaque', issuer: 'responses', raw: { type: 'hidden text' } },
    { kind: 'server_call', id: 's', tool: 'web_search', issuer: 'messages', status: 'completed', raw: 'hidden text' },
  ];
  const text = JSON.stringify(encode([user('a'), ...foreign, model('b'), user('c')]));
  assert.doesNotMatch(text, /hidden/);
});

test('contents encoder does not send a signature of another account', () => {
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
  assert.equal(sent('other'), PLACEHOLDER_SIGNATURE);
  assert.equal(sent(), 'S');
});

// ---------------------------------------------------------------- properties

/** A turn: text, or calls with their results in any order. */
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

test('contents encoder always alternates turns, starts with the user and puts responses right after calls', () => {
  fc.assert(
    fc.property(history, (turns) => {
      const contents = encode(turns.flat());
      assert.equal(contents[0]?.role, 'user');
      for (const [n, { role, parts }] of contents.entries()) {
        assert.ok(parts.length > 0);
        assert.notEqual(role, contents[n + 1]?.role);
        const calls = parts.filter((part) => part.functionCall).length;
        const responses = (contents[n + 1]?.parts ?? []).slice(0, calls);
        assert.ok(responses.length === calls && responses.every((part) => part.functionResponse));
      }
    }),
  );
});

test('contents encoder never changes the bytes of earlier turns when history is added', () => {
  fc.assert(
    fc.property(history, history, (before, after) => {
      const start = [...before.flat(), user('fixed')];
      const short = encode(start);
      // A model turn follows, so the last user turn of the shorter history is complete.
      const long = encode([...start, model('then'), ...after.flat()]);
      assert.equal(JSON.stringify(long.slice(0, short.length)), JSON.stringify(short));
    }),
  );
});
