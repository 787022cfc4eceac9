import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  aCall,
  aReply,
  aReplyContext,
  aRequest,
  pushAll,
  terminalEvent,
  textMessage,
} from '../../../../test/support/dialects/responses.ts';
import { SSE_COMMENT } from '../../../core/index.ts';
import { unfold } from '../../hub/fold.ts';
import { type HubEvent, type HubItem, type JsonObject, NO_USAGE } from '../../hub/types.ts';
import { isEnvelope, unwrap } from '../../opaque/envelope.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeReply } from './encode-reply.ts';
import { openEncoder } from './stream-encoder.ts';

const encodeEvents = (events: readonly HubEvent[], context = aReplyContext()) => pushAll(openEncoder(context), events);
const types = (events: readonly JsonObject[]) => events.map((event) => event.type);
/** Checks what clients of this dialect require of every stream. */
function checkStream(events: readonly JsonObject[]): void {
  const added: unknown[] = [];
  const done = new Map<unknown, JsonObject>();
  const parts = new Set<string>();
  for (const [index, event] of events.entries()) {
    assert.equal(event.sequence_number, index);
    if (event.type === 'response.output_item.added') assert.equal(event.output_index, added.push(event.item_id) - 1);
    if (event.type === 'response.output_item.done') done.set(event.output_index, event.item as JsonObject);
    const part = `${event.output_index}/${event.content_index ?? `s${event.summary_index}`}`;
    if (/part\.added$/.test(String(event.type))) parts.add(part);
    if (/(output_text|refusal|summary_text)\.delta$/.test(String(event.type))) assert.ok(parts.has(part));
  }
  assert.deepEqual(types(events).slice(0, 2), ['response.created', 'response.in_progress']);
  const ids = [...done.values()].map((item) => item.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(
    terminalEvent(events).response.output,
    [...done.entries()].sort(([a], [b]) => Number(a) - Number(b)).map(([, item]) => item),
  );
}

describe('responses stream encoder', () => {
  it('emits the canonical events of one message', () => {
    assert.deepEqual(types(encodeEvents(unfold(aReply([textMessage('Hello')])))), [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });
  it('writes event names, and comments for pings and heartbeats', () => {
    const encoder = openEncoder(aReplyContext());
    assert.match(encoder.push({ kind: 'start', id: 'x', model: 'y' }), /^event: response\.created\ndata: \{/);
    assert.equal(encoder.push({ kind: 'ping' }), SSE_COMMENT);
    assert.equal(encoder.heartbeat(), SSE_COMMENT);
  });
  it('emits text, call, text as three items', () => {
    const events = encodeEvents(
      unfold(aReply([textMessage('One'), aCall('go', '{"a":1}'), textMessage('Two')], 'tool')),
    );
    checkStream(events);
    assert.deepEqual(
      terminalEvent(events).response.output.map((item) => item.type),
      ['message', 'function_call', 'message'],
    );
  });
  it('streams two calls in parallel', () => {
    const [a, b] = [aCall('a', '{"x":1}'), aCall('b', '{"y":2}')];
    const events = encodeEvents([
      { kind: 'start', id: 'x', model: 'm' },
      { kind: 'item', index: 0, item: { ...a, args: '' } as HubItem },
      { kind: 'item', index: 1, item: { ...b, args: '' } as HubItem },
      { kind: 'args', index: 1, text: '{"y":2}' },
      { kind: 'args', index: 0, text: '{"x":1}' },
      { kind: 'item_end', index: 1, item: b },
      { kind: 'item_end', index: 0, item: a },
      { kind: 'finish', stop: 'tool', usage: NO_USAGE },
    ]);
    checkStream(events);
    assert.deepEqual(
      terminalEvent(events).response.output.map((item) => item.arguments),
      ['{"x":1}', '{"y":2}'],
    );
  });
  it('marks a call as incomplete when the length limit truncates its JSON, and never as done', () => {
    const reply = aReply([textMessage('Wait'), aCall('go', '{"text":"once')], 'length');
    const events = encodeEvents(unfold(reply));
    const { type, response } = terminalEvent(events);
    assert.equal(type, 'response.incomplete');
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.deepEqual(
      response.output.map(({ type, status }) => [type, status]),
      [
        ['message', 'completed'],
        ['function_call', 'incomplete'],
      ],
    );
    const done = events.filter((event) => event.type === 'response.output_item.done');
    assert.deepEqual(
      done.map(({ item }) => (item as { type?: unknown }).type),
      ['message'],
    );
    assert.deepEqual(response, encodeReply(reply, aReplyContext()));
  });
  it('marks a message as incomplete when the length limit truncates it', () => {
    const { response } = terminalEvent(encodeEvents(unfold(aReply([textMessage('One'), textMessage('Tw')], 'length'))));
    assert.deepEqual(
      response.output.map((item) => item.status),
      ['completed', 'incomplete'],
    );
  });
  it('keeps a call with invalid arguments when the reply is not truncated', () => {
    const { response } = terminalEvent(encodeEvents(unfold(aReply([aCall('go', '{"a":')], 'tool'))));
    assert.deepEqual(
      response.output.map((item) => item.arguments),
      ['{"a":'],
    );
  });
  it('writes empty arguments as an empty object', () => {
    const events = encodeEvents(unfold(aReply([aCall('now', '')], 'tool')));
    checkStream(events);
    assert.equal(terminalEvent(events).response.output[0]?.arguments, '{}');
  });
  it('emits a refusal without text as a completed response with a refusal part', () => {
    const reply = aReply([], 'refusal', { refusal: 'Not this.' });
    const events = encodeEvents(unfold(reply));
    checkStream(events);
    assert.equal(terminalEvent(events).type, 'response.completed');
    assert.deepEqual(terminalEvent(events).response.output[0]?.content, [{ type: 'refusal', refusal: 'Not this.' }]);
    assert.deepEqual(terminalEvent(events).response, encodeReply(reply, aReplyContext()));
  });
  it('emits a refusal part after the text of a filtered reply', () => {
    const { response } = terminalEvent(encodeEvents(unfold(aReply([textMessage('Well')], 'filter'))));
    assert.deepEqual(response.output[1]?.content, [{ type: 'refusal', refusal: 'The request was declined.' }]);
  });
  it('ends with response.failed and the finished items when the upstream fails', () => {
    const events = encodeEvents([
      ...unfold(aReply([textMessage('Hello')])).slice(0, -1),
      { kind: 'error', error: { code: 'server_is_overloaded', message: 'Busy.' } },
    ]);
    checkStream(events);
    assert.equal(terminalEvent(events).type, 'response.failed');
    assert.deepEqual(terminalEvent(events).response.error, { code: 'server_is_overloaded', message: 'Busy.' });
    assert.equal(terminalEvent(events).response.output.length, 1);
    assert.ok(!types(events).includes('error'));
  });
  it('emits response.created before an error that comes first', () => {
    const events = encodeEvents([{ kind: 'error', error: { code: 'upstream_error', message: 'Gone.' } }]);
    checkStream(events);
    assert.equal((terminalEvent(events).response.error as JsonObject).code, 'server_error');
  });
  it('uses the error messages that agents match', () => {
    const errorFor = (error: Extract<HubEvent, { kind: 'error' }>['error']) =>
      terminalEvent(encodeEvents([{ kind: 'error', error }])).response.error;
    assert.deepEqual(errorFor({ code: 'context_length_exceeded', message: 'prompt is too long: 9 > 5' }), {
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    });
    assert.deepEqual(errorFor({ code: 'rate_limit_exceeded', message: 'Slow down.', retryAfterMs: 12_000 }), {
      code: 'rate_limit_exceeded',
      message: 'Slow down. Please try again in 12s.',
    });
  });
  it('emits nothing after the end', () => {
    const encoder = openEncoder(aReplyContext());
    for (const event of unfold(aReply([textMessage('Hi')]))) encoder.push(event);
    assert.equal(encoder.push({ kind: 'ping' }), '');
    assert.equal(encoder.push({ kind: 'error', error: { code: 'upstream_error', message: 'late' } }), '');
  });
});

describe('responses stream encoder with tools other than functions', () => {
  const request = aRequest({
    dialect: 'responses',
    tools: [
      { kind: 'custom', name: 'patch' },
      { kind: 'builtin', builtin: 'shell', name: 'shell', raw: { type: 'shell' } },
    ],
  });
  const context = aReplyContext({ request });
  const text = 'a"b\n\u{1F600}\\ü';
  const json = `{"input":"a\\"b\\n\\ud83d\\ude00\\\\ü"}`;

  it('unwraps free text wherever the stream is split', () => {
    const item = aCall('patch', json);
    for (let cut = 0; cut <= json.length; cut++) {
      const events = encodeEvents(
        [
          { kind: 'start', id: 'x', model: 'm' },
          { kind: 'item', index: 0, item: { ...item, args: '' } as HubItem },
          { kind: 'args', index: 0, text: json.slice(0, cut) },
          { kind: 'args', index: 0, text: json.slice(cut) },
          { kind: 'item_end', index: 0, item },
          { kind: 'finish', stop: 'tool', usage: NO_USAGE },
        ],
        context,
      );
      checkStream(events);
      const deltas = events.filter((event) => event.type === 'response.custom_tool_call_input.delta');
      assert.equal(deltas.map((event) => event.delta).join(''), text);
      assert.equal(terminalEvent(events).response.output[0]?.input, text);
    }
  });
  it('does not unwrap calls of an upstream with free-text tools', () => {
    const { response } = terminalEvent(encodeEvents(unfold(aReply([aCall('patch', json, 'custom')], 'tool')), context));
    assert.equal(response.output[0]?.input, json);
  });
  it('emits typed items for typed tools', () => {
    const events = encodeEvents(unfold(aReply([aCall('shell', '{"commands":["ls"]}')], 'tool')), context);
    checkStream(events);
    const [item] = terminalEvent(events).response.output;
    assert.equal(item?.type, 'shell_call');
    assert.deepEqual(item?.action, { commands: ['ls'], timeout_ms: null, max_output_length: null });
  });
});

describe('responses stream encoder with opaque values', () => {
  const decodeBack = (output: readonly JsonObject[]) =>
    decodeRequest({ model: 'm', input: [...output] }, { headers: {} }).items;

  it('wraps a thinking signature, and the request decoder restores it', () => {
    const opaque = { issuer: 'messages', kind: 'thinking', data: 'sig' } as const;
    const reasoning: HubItem = { kind: 'reasoning', summary: ['Hm.'], opaque };
    const { response } = terminalEvent(encodeEvents(unfold(aReply([reasoning, textMessage('Yes')]))));
    const encrypted = String(response.output[0]?.encrypted_content);
    assert.ok(isEnvelope(encrypted));
    assert.deepEqual(unwrap(encrypted), opaque);
    assert.deepEqual(decodeBack(response.output), [reasoning, textMessage('Yes')]);
  });
  it('emits the signature of a call before it, and the request decoder restores it', () => {
    const signature = { issuer: 'generate-content', kind: 'thought', id: 'call_go', data: 's1' } as const;
    const signed = { ...aCall('go', '{}'), signature } as HubItem;
    const reply = aReply([signed, aCall('other', '{}')], 'tool');
    const context = aReplyContext({ issuer: 'generate-content' });
    const events = encodeEvents(unfold(reply), context);
    checkStream(events);
    assert.deepEqual(terminalEvent(events).response, encodeReply(reply, context));
    assert.deepEqual(
      terminalEvent(events).response.output.map((item) => item.type),
      ['reasoning', 'function_call', 'function_call'],
    );
    assert.deepEqual(decodeBack(terminalEvent(events).response.output), reply.items);
  });
  it('emits the signature of a text after it, and the request decoder restores it', () => {
    const signature = { issuer: 'generate-content', kind: 'thought', data: 's2' } as const;
    const signed: HubItem = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Hi', signature }] };
    const { response } = terminalEvent(
      encodeEvents(unfold(aReply([signed])), aReplyContext({ issuer: 'generate-content' })),
    );
    assert.deepEqual(decodeBack(response.output), [signed]);
  });
});
