import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { aTarget } from '../../../../test/support/dialects/responses.ts';
import {
  assistant,
  call,
  encodeBody,
  encodeInput,
  encodeWith,
  reasoning,
  result,
  text,
  user,
} from '../../../../test/support/dialects/responses-requests.ts';
import { runs } from '../../../../test/support/properties.ts';
import type { HubItem, HubPart, JsonObject } from '../../hub/types.ts';

describe('responses item encoder', () => {
  it('keeps the order of items and sends no item ids', () => {
    const sent = encodeInput([
      user(text('Go')),
      assistant('Ok'),
      call('c1'),
      call('c2'),
      result('c2', [text('two')]),
      result('c1', [text('one')]),
    ]);
    assert.deepEqual(sent, [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Ok' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c2', output: 'two' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: '.' }] },
    ]);
  });
  it('maps a long call id the same in the call and its result', () => {
    const id = 'x'.repeat(100);
    const [callItem, resultItem] = encodeInput([call(id), result(id, [])]);
    assert.match(String(callItem?.call_id), /^call_[\w-]{24}$/);
    assert.equal(callItem?.call_id, resultItem?.call_id);
    assert.equal(resultItem?.output, '');
  });
  it('prefixes the result of a failed tool and keeps images in results', () => {
    const image: HubPart = { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA' } };
    const sent = encodeInput([
      call('c1'),
      result('c1', [text('boom')], { isError: true }),
      call('c2'),
      result('c2', [text('see'), image]),
    ]);
    assert.equal(sent[1]?.output, 'Error: boom');
    assert.deepEqual(sent[3]?.output, [
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'auto' },
    ]);
  });
  it('rejects a result without its call with the message of the API', () => {
    assert.throws(() => encodeInput([result('c9', [text('x')])]), {
      code: 'invalid_request',
      message: 'No tool call found for function call output with call_id c9.',
    });
  });
  it('restores reasoning in place with its id', () => {
    const sent = encodeInput([
      reasoning('E1'),
      call('c1'),
      reasoning('E2'),
      call('c2'),
      result('c1', [text('1')]),
      result('c2', [text('2')]),
    ]);
    assert.deepEqual(sent.map((item) => item.type).slice(0, 4), [
      'reasoning',
      'function_call',
      'reasoning',
      'function_call',
    ]);
    assert.deepEqual(sent[0], {
      type: 'reasoning',
      id: 'rs_E1',
      summary: [{ type: 'summary_text', text: 'S' }],
      encrypted_content: 'E1',
    });
  });
  it('drops reasoning of another provider, of another account, or without a following item', () => {
    const kinds = (items: HubItem[], target = aTarget()) => encodeInput(items, target).map((item) => item.type);
    assert.deepEqual(kinds([reasoning('E', { issuer: 'messages' }), assistant('x')]), ['message', 'message']);
    assert.deepEqual(kinds([reasoning('E', { account: 'a' }), assistant('x')], aTarget({ account: 'b' })), [
      'message',
      'message',
    ]);
    assert.deepEqual(kinds([reasoning('E', { account: 'a' }), assistant('x')], aTarget({ account: 'a' })), [
      'reasoning',
      'message',
      'message',
    ]);
    assert.deepEqual(kinds([reasoning('E'), assistant(''), user(text('y'))]), ['message', 'message']);
    assert.deepEqual(kinds([{ kind: 'reasoning', summary: ['visible'] }, assistant('x')]), ['message', 'message']);
  });
  it('splits a joined summary into its parts unless it was edited', () => {
    const parts = (joined: string) => {
      const item: HubItem = {
        kind: 'reasoning',
        summary: [joined],
        opaque: { issuer: 'responses', kind: 'reasoning', data: 'E', lengths: [3, 5] },
      };
      const [sent] = encodeInput([item, assistant('x')]);
      return ((sent?.summary ?? []) as JsonObject[]).map((part) => part.text);
    };
    assert.deepEqual(parts('One\n\nThree'), ['One', 'Three']);
    assert.deepEqual(parts('One and Three'), ['One and Three']);
    assert.deepEqual(parts(''), []);
  });
  it('sends later system messages as developer messages', () => {
    const [, item] = encodeInput([
      user(text('a')),
      { kind: 'message', role: 'system', parts: [text('Now in French.')] },
    ]);
    assert.equal(item?.role, 'developer');
  });
  it('infers phases only for models that have them', () => {
    const items = [assistant('Looking.'), call('c1'), result('c1', [text('x')]), assistant('Found.')];
    const phases = (target = aTarget()) =>
      encodeInput(items, target).flatMap((item) => (item.role === 'assistant' ? [item.phase] : []));
    assert.deepEqual(phases(), [undefined, undefined]);
    assert.deepEqual(phases(aTarget({}, { phase: true })), ['commentary', 'final_answer']);
  });
  it('sends files and search results, and rejects audio and files of other providers', () => {
    const [item] = encodeInput([
      user(
        { kind: 'file', source: { kind: 'base64', mime: 'application/pdf', data: 'AA' } },
        { kind: 'file', source: { kind: 'text', text: 'body' }, title: 'Notes' },
        { kind: 'search_result', source: 'https://a.example', title: 'A', texts: ['t'] },
      ),
    ]);
    assert.deepEqual(item?.content, [
      { type: 'input_file', filename: 'file.pdf', file_data: 'data:application/pdf;base64,AA' },
      { type: 'input_text', text: 'Notes\n\nbody' },
      { type: 'input_text', text: 'A\nhttps://a.example\n\nt' },
    ]);
    assert.throws(() => encodeInput([user({ kind: 'audio', source: { kind: 'url', url: 'https://a.example' } })]), {
      code: 'unsupported_parameter',
    });
    assert.throws(
      () => encodeInput([user({ kind: 'image', source: { kind: 'file_id', id: 'file_x', issuer: 'messages' } })]),
      /file_x/,
    );
  });
  it('sets the last four cache breakpoints when the model supports them', () => {
    const withBreakpoint = (n: number) => user(text(`m${n}`, { cache: n === 5 ? { long: true } : {} }));
    const items = [1, 2, 3, 4, 5].map(withBreakpoint);
    const system = [{ kind: 'text' as const, text: 'S', cache: {} }];
    const set = encodeBody({ items, system }, aTarget({}, { explicitCache: true }));
    const parts = (set.input as JsonObject[]).flatMap((item) => item.content as JsonObject[]);
    assert.deepEqual(
      parts.map((part) => (part.prompt_cache_breakpoint as JsonObject | undefined)?.ttl),
      [undefined, undefined, '30m', '30m', '30m', '12h'],
    );
    assert.equal(set.instructions, undefined);
    const unset = encodeWith({ items, system, session: 's' });
    assert.deepEqual(unset.droppedFields, ['cacheBreakpoints']);
    assert.ok(!JSON.stringify(unset.body).includes('breakpoint'));
    assert.equal(unset.body.prompt_cache_key, 's');
  });
  it('encodes a tool result the same with and without a cache breakpoint', () => {
    for (const explicitCache of [false, true]) {
      const outputs = [undefined, {}].map((cache) => {
        const toolResult = result('c1', [text('r', cache && { cache })]);
        const sent = encodeBody({ items: [user(text('q')), call('c1'), toolResult] }, aTarget({}, { explicitCache }));
        return JSON.stringify((sent.input as JsonObject[]).at(-1)?.output);
      });
      const [without, withBreakpoint] = outputs.map((output) =>
        output?.replace(/,"prompt_cache_breakpoint":\{[^}]*\}/, ''),
      );
      assert.equal(withBreakpoint, without);
    }
  });
  it('encodes earlier items to the same bytes when the conversation grows', () => {
    const turn = fc.constantFrom<HubItem[]>(
      [user(text('q')), assistant('a')],
      [call('c1'), result('c1', [text('r')])],
      [reasoning('E'), assistant('b')],
    );
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 8 }), fc.array(turn, { maxLength: 3 }), (old, more) => {
        const base = old.flat();
        const before = encodeInput(base).slice(0, -1);
        const after = encodeInput([...base, ...more.flat()]);
        assert.equal(JSON.stringify(after.slice(0, before.length)), JSON.stringify(before));
      }),
      { numRuns: runs(100) },
    );
  });
});
