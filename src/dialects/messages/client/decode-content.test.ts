import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../core/index.ts';
import type { JsonObject } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { decodeMessages } from './decode-content.ts';

const user = (content: unknown = 'Hi'): JsonObject => ({ role: 'user', content });
const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content });
const use = (id: string, input: unknown = {}): JsonObject => ({ type: 'tool_use', id, name: 'find', input });
const itemsOf = (...messages: JsonObject[]) => decodeMessages(messages);
const isRejection = (code: string, param: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code && error.details.param === param;

describe('messages content decoder', () => {
  it('flattens turns in order and joins adjacent blocks of a turn', () => {
    const items = itemsOf(
      user('Go'),
      assistant({ type: 'text', text: 'A' }, { type: 'text', text: 'B' }, use('t1', { q: 1 }), {
        type: 'text',
        text: 'C',
      }),
      user([
        { type: 'tool_result', tool_use_id: 't1', content: 'found', is_error: true },
        { type: 'text', text: 'and?' },
        { type: 'image', source: { type: 'url', url: 'https://a.example/i.png' } },
      ]),
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    );
    assert.deepEqual(items.slice(1), [
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'A' },
          { kind: 'text', text: 'B' },
        ],
      },
      { kind: 'tool_call', callId: 't1', name: 'find', form: 'function', args: '{"q":1}' },
      { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'C' }] },
      {
        kind: 'tool_result',
        callId: 't1',
        name: 'find',
        form: 'function',
        parts: [{ kind: 'text', text: 'found' }],
        isError: true,
      },
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'and?' },
          { kind: 'image', source: { kind: 'url', url: 'https://a.example/i.png' } },
        ],
      },
      { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'Be brief.', cache: {} }] },
    ]);
  });

  it('decodes all forms of documents and search results', () => {
    const doc = (source: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'document', source, ...more });
    const [item] = itemsOf(
      user([
        doc(
          { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
          { title: 'T', citations: { enabled: true } },
        ),
        doc({ type: 'text', media_type: 'text/plain', data: 'plain' }, { context: 'C' }),
        doc({
          type: 'content',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
        doc({ type: 'file', file_id: 'file_1' }),
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
      ]),
    );
    assert.deepEqual(item?.kind === 'message' && item.parts, [
      {
        kind: 'file',
        source: { kind: 'base64', mime: 'application/pdf', data: 'JVBE' },
        title: 'T',
        citations: true,
      },
      { kind: 'file', source: { kind: 'text', text: 'plain' }, context: 'C' },
      { kind: 'file', source: { kind: 'text', text: 'a\n\nb' } },
      { kind: 'file', source: { kind: 'file_id', id: 'file_1', issuer: 'messages' } },
      { kind: 'search_result', source: 's', title: 't', texts: ['x'] },
    ]);
  });

  it('rejects a result without a matching call', () => {
    const messages = [user([{ type: 'tool_result', tool_use_id: 'nope', content: 'x' }])];
    assert.throws(() => decodeMessages(messages), isRejection('invalid_value', 'messages[0].content[0].tool_use_id'));
  });

  it('decodes tool references of a client tool search as text', () => {
    const items = itemsOf(
      assistant(use('t1')),
      user([{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'tool_reference', tool_name: 'grep' }] }]),
    );
    const result = items[1];
    assert.deepEqual(result?.kind === 'tool_result' && result.parts, [{ kind: 'text', text: 'Tool available: grep' }]);
  });

  it('keeps thinking of this provider and unwraps envelopes of others', () => {
    const enc = wrap({ issuer: 'responses', kind: 'reasoning', id: 'rs_1', lengths: [6, 5], data: 'E' });
    const items = itemsOf(
      user(),
      assistant(
        { type: 'thinking', thinking: 'own', signature: 'S' },
        { type: 'redacted_thinking', data: 'D' },
        { type: 'thinking', thinking: 'First.\n\nThen.', signature: enc },
        { type: 'thinking', thinking: 'edited', signature: enc },
        { type: 'thinking', thinking: 'damaged', signature: 'gw1.%%%' },
        { type: 'thinking', thinking: 'unsigned', signature: '' },
        { type: 'text', text: 'x' },
      ),
    );
    const opaque = { issuer: 'responses', kind: 'reasoning', id: 'rs_1', lengths: [6, 5], data: 'E' };
    assert.deepEqual(items.slice(1, -1), [
      { kind: 'reasoning', summary: ['own'], opaque: { issuer: 'messages', kind: 'thinking', data: 'S' } },
      { kind: 'reasoning', summary: [], opaque: { issuer: 'messages', kind: 'redacted', data: 'D' }, redacted: true },
      { kind: 'reasoning', summary: ['First.', 'Then.'], opaque },
      { kind: 'reasoning', summary: ['edited'], opaque },
      { kind: 'reasoning', summary: ['unsigned'] },
    ]);
  });

  it('keeps searches, those of another provider without blocks that a provider of this dialect could read', () => {
    const pair = (id: string): JsonObject[] => [
      { type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    ];
    const own = pair('srvtoolu_1');
    const items = itemsOf(user(), assistant(...pair('srvtoolu_gwabc'), ...own, { type: 'fallback', x: 1 }));
    assert.deepEqual(items.slice(1), [
      {
        kind: 'server_call',
        id: 'srvtoolu_gwabc',
        tool: 'web_search',
        issuer: 'messages',
        status: 'completed',
        queries: ['q'],
        sources: [],
      },
      {
        kind: 'server_call',
        id: 'srvtoolu_1',
        tool: 'web_search',
        issuer: 'messages',
        status: 'completed',
        queries: ['q'],
        sources: [],
        raw: own,
      },
      { kind: 'opaque', issuer: 'messages', raw: { type: 'fallback', x: 1 } },
    ]);
  });

  it('decodes tool additions and rejects tool removals', () => {
    const add = (tool: JsonObject): JsonObject => ({ role: 'system', content: [{ type: 'tool_addition', tool }] });
    const definition = { name: 'late', input_schema: { type: 'object' } };
    assert.deepEqual(itemsOf(user(), add({ type: 'tool_definition', definition })).at(-1), {
      kind: 'tool_change',
      add: [{ kind: 'function', name: 'late', schema: { type: 'object' } }],
    });
    const removal = {
      role: 'system',
      content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'x' } }],
    };
    assert.throws(() => itemsOf(user(), removal), isRejection('unsupported_parameter', 'messages[1].content[0].type'));
  });
});
