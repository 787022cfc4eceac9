import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeBody, rejectionOf, rejectionOfFields } from '../../../../test/support/dialects/responses-requests.ts';

describe('responses request decoder', () => {
  it('reads a string input', () => {
    const request = decodeBody({});
    assert.equal(request.dialect, 'responses');
    assert.deepEqual(request.items, [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }]);
    assert.deepEqual(request.toolChoice, { kind: 'auto' });
    assert.equal(request.stream, false);
  });
  it('treats null as absent', () => {
    const nulls = {
      instructions: null,
      tools: null,
      tool_choice: null,
      reasoning: null,
      text: null,
      metadata: null,
      previous_response_id: null,
      conversation: null,
    };
    assert.deepEqual(decodeBody(nulls), decodeBody({}));
  });
  it('joins instructions with the leading system and developer messages', () => {
    const request = decodeBody({
      instructions: 'A',
      input: [
        { role: 'developer', content: 'B' },
        { type: 'additional_tools', role: 'developer', tools: [] },
        { role: 'system', content: [{ type: 'input_text', text: 'C' }] },
        { role: 'user', content: 'Hi' },
        { role: 'developer', content: 'D' },
      ],
    });
    assert.deepEqual(
      request.system.map((part) => part.text),
      ['A', 'B', 'C'],
    );
    assert.deepEqual(
      request.items.map((item) => (item.kind === 'message' ? item.role : item.kind)),
      ['tool_change', 'user', 'system'],
    );
  });
  it('leaves developer messages in place after a previous response', () => {
    const request = decodeBody({
      previous_response_id: 'resp_1',
      instructions: 'A',
      input: [{ role: 'developer', content: 'B' }],
    });
    assert.equal(request.state.previousId, 'resp_1');
    assert.equal(request.system.length, 1);
    assert.equal(request.items.length, 1);
  });
  it('reads settings', () => {
    const request = decodeBody({
      reasoning: { effort: 'high', summary: 'detailed' },
      text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
      max_output_tokens: 99,
      max_tool_calls: 3,
      temperature: 0,
      top_p: 0.5,
      parallel_tool_calls: false,
      store: false,
      service_tier: 'fast',
      metadata: { a: 'b' },
      safety_identifier: 'u1',
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      prompt_cache_options: { prewarm: true },
    });
    assert.deepEqual(request.reasoning, { effort: 'high', show: 'summary', style: 'detailed' });
    assert.deepEqual(request.output, {
      format: { kind: 'schema', schema: { type: 'object' }, name: 'n', strict: true },
      verbosity: 'low',
    });
    assert.deepEqual(request.limits, { maxOutput: 99, maxToolCalls: 3, prewarm: true });
    assert.deepEqual(request.sampling, { temperature: 0, topP: 0.5, logprobs: true });
    assert.deepEqual(request.meta, { userId: 'u1', metadata: { a: 'b' }, serviceTier: 'priority' });
    assert.equal(request.parallelTools, false);
    assert.deepEqual(request.state, { store: false });
    assert.deepEqual(decodeBody({ reasoning: { effort: 'none' } }).reasoning, {
      mode: 'off',
      effort: 'none',
      show: 'none',
    });
  });
  it('takes the session from the cache key, else from the header that agents send', () => {
    assert.equal(decodeBody({ prompt_cache_key: 'k' }, { 'session-id': 's' }).session, 'k');
    assert.equal(decodeBody({ prompt_cache_key: 'k' }).cache.key, 'k');
    assert.equal(decodeBody({}, { 'session-id': 's' }).session, 's');
    assert.equal(decodeBody({}).session, undefined);
  });
  it('lists unknown fields', () => {
    const body = {
      client_metadata: { a: 1 },
      truncation: 'auto',
      novelty: 1,
      reasoning: { context: 'all_turns' },
      store: true,
    };
    assert.deepEqual(decodeBody(body).unknown, ['client_metadata', 'novelty', 'reasoning.context', 'truncation']);
    assert.deepEqual(decodeBody({ truncation: 'disabled', novelty: null }).unknown, []);
  });
  it('rejects state that only one provider could keep', () => {
    for (const body of [{ conversation: 'conv_1' }, { prompt: { id: 'p' } }, { moderation: { model: 'x' } }]) {
      assert.deepEqual(rejectionOfFields(body), ['unsupported_parameter', Object.keys(body)[0]]);
    }
    assert.equal(decodeBody({ background: true }).state.background, true);
    assert.equal(decodeBody({ background: false }).state.background, undefined);
  });
  it('names the invalid field', () => {
    assert.deepEqual(rejectionOf([]), ['invalid_request', undefined]);
    assert.deepEqual(rejectionOf({ input: 'Hi' }), ['invalid_request', 'model']);
    assert.deepEqual(rejectionOf({ model: 'm' }), ['invalid_request', 'input']);
    assert.deepEqual(rejectionOfFields({ temperature: '1' }), ['invalid_request', 'temperature']);
    assert.deepEqual(rejectionOfFields({ temperature: 3 }), ['invalid_value', 'temperature']);
    assert.deepEqual(rejectionOfFields({ max_output_tokens: 0 }), ['invalid_value', 'max_output_tokens']);
    assert.deepEqual(rejectionOfFields({ reasoning: { effort: 7 } }), ['invalid_value', 'reasoning.effort']);
    assert.deepEqual(rejectionOfFields({ text: { format: { type: 'xml' } } }), ['invalid_value', 'text.format.type']);
    assert.deepEqual(rejectionOfFields({ metadata: { a: 1 } }), ['invalid_request', 'metadata.a']);
    assert.deepEqual(rejectionOfFields({ tools: [{ type: 'function' }] }), ['invalid_request', 'tools[0].name']);
    assert.deepEqual(rejectionOfFields({ tool_choice: 'maybe' }), ['invalid_value', 'tool_choice']);
  });
});
