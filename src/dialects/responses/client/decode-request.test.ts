import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../core/index.ts';
import type { HubRequest } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { decodeRequest } from './decode-request.ts';

const decode = (body: object, headers = {}): HubRequest =>
  decodeRequest({ model: 'm', input: 'Hi', ...body }, { headers });
const items = (...input: unknown[]) => decode({ input }).items;

function rejectionOf(body: unknown): [string, string | undefined] {
  try {
    decodeRequest(body, { headers: {} });
  } catch (error) {
    if (error instanceof ApiError) return [error.code, error.details.param];
    throw error;
  }
  return ['accepted', undefined];
}
const rejectedField = (body: object) => rejectionOf({ model: 'm', input: 'Hi', ...body });
const rejectedItem = (item: unknown) => rejectedField({ input: [item] });

describe('responses request decoder', () => {
  it('reads a string input', () => {
    const request = decode({});
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
    assert.deepEqual(decode(nulls), decode({}));
  });
  it('joins instructions with the leading system and developer messages', () => {
    const request = decode({
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
    const request = decode({
      previous_response_id: 'resp_1',
      instructions: 'A',
      input: [{ role: 'developer', content: 'B' }],
    });
    assert.equal(request.state.previousId, 'resp_1');
    assert.equal(request.system.length, 1);
    assert.equal(request.items.length, 1);
  });
  it('reads settings', () => {
    const request = decode({
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
    assert.deepEqual(decode({ reasoning: { effort: 'none' } }).reasoning, {
      mode: 'off',
      effort: 'none',
      show: 'none',
    });
  });
  it('takes the session from the cache key, else from the header that agents send', () => {
    assert.equal(decode({ prompt_cache_key: 'k' }, { 'session-id': 's' }).session, 'k');
    assert.equal(decode({ prompt_cache_key: 'k' }).cache.key, 'k');
    assert.equal(decode({}, { 'session-id': 's' }).session, 's');
    assert.equal(decode({}).session, undefined);
  });
  it('lists unknown fields', () => {
    const body = {
      client_metadata: { a: 1 },
      truncation: 'auto',
      novelty: 1,
      reasoning: { context: 'all_turns' },
      store: true,
    };
    assert.deepEqual(decode(body).unknown, ['client_metadata', 'novelty', 'truncation', 'reasoning.context']);
    assert.deepEqual(decode({ truncation: 'disabled', novelty: null }).unknown, []);
  });
  it('rejects state that only one provider could keep', () => {
    for (const body of [
      { background: true },
      { conversation: 'conv_1' },
      { prompt: { id: 'p' } },
      { moderation: { model: 'x' } },
    ]) {
      assert.deepEqual(rejectedField(body), ['unsupported_parameter', Object.keys(body)[0]]);
    }
    assert.deepEqual(rejectedField({ background: false }), ['accepted', undefined]);
  });
  it('names the invalid field', () => {
    assert.deepEqual(rejectionOf([]), ['invalid_request', undefined]);
    assert.deepEqual(rejectionOf({ input: 'Hi' }), ['invalid_request', 'model']);
    assert.deepEqual(rejectionOf({ model: 'm' }), ['invalid_request', 'input']);
    assert.deepEqual(rejectedField({ temperature: '1' }), ['invalid_request', 'temperature']);
    assert.deepEqual(rejectedField({ temperature: 3 }), ['invalid_value', 'temperature']);
    assert.deepEqual(rejectedField({ max_output_tokens: 0 }), ['invalid_value', 'max_output_tokens']);
    assert.deepEqual(rejectedField({ reasoning: { effort: 'huge' } }), ['invalid_value', 'reasoning.effort']);
    assert.deepEqual(rejectedField({ text: { format: { type: 'xml' } } }), ['invalid_value', 'text.format.type']);
    assert.deepEqual(rejectedField({ metadata: { a: 1 } }), ['invalid_request', 'metadata.a']);
    assert.deepEqual(rejectedField({ tools: [{ type: 'function' }] }), ['invalid_request', 'tools[0].name']);
    assert.deepEqual(rejectedField({ tool_choice: 'maybe' }), ['invalid_value', 'tool_choice']);
  });
});

describe('responses input decoder', () => {
  it('reads messages with and without a type', () => {
    const message = {
      role: 'assistant',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'A', annotations: [] },
        { type: 'refusal', refusal: 'B' },
      ],
    };
    const expected = [
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'A' },
          { kind: 'refusal', text: 'B' },
        ],
        phase: 'commentary',
      },
    ];
    assert.deepEqual(items(message), expected);
    assert.deepEqual(items({ type: 'message', id: 'msg_1', status: 'completed', ...message }), expected);
  });
  it('reads images and files', () => {
    const content = [
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
      { type: 'input_image', image_url: 'https://x.example/a.png' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,BBBB', filename: 'a.pdf' },
      { type: 'input_file', file_data: 'data:text/plain;base64,aGk=', filename: 'a.txt' },
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_text', text: 'T', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
    ];
    assert.deepEqual(items({ role: 'user', content }), [
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AAAA' }, detail: 'low' },
          { kind: 'image', source: { kind: 'url', url: 'https://x.example/a.png' } },
          { kind: 'file', source: { kind: 'base64', mime: 'application/pdf', data: 'BBBB' }, title: 'a.pdf' },
          { kind: 'file', source: { kind: 'text', text: 'hi' }, title: 'a.txt' },
          { kind: 'file', source: { kind: 'file_id', id: 'file_1', issuer: 'responses' } },
          { kind: 'text', text: 'T', cache: { long: true } },
        ],
      },
    ]);
  });
  it('reads calls and outputs of every kind', () => {
    assert.deepEqual(
      items(
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}', namespace: 'ns', id: 'fc_1' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
        { type: 'custom_tool_call', call_id: 'c2', name: 'p', input: 'free' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' },
        { type: 'shell_call', call_id: 'c3', action: { commands: ['ls'] } },
        { type: 'shell_call_output', call_id: 'c3', output: [{ stdout: 'x' }] },
        { type: 'apply_patch_call', call_id: 'c4', operation: { type: 'delete_file', path: 'a' } },
        { type: 'apply_patch_call_output', call_id: 'c4', status: 'failed', output: 'no such file' },
        { type: 'local_shell_call_output', id: 'c5', output: 'x' },
      ),
      [
        { kind: 'tool_call', callId: 'c1', name: 'f', namespace: 'ns', form: 'function', args: '{"a":1}' },
        { kind: 'tool_result', callId: 'c1', form: 'function', parts: [{ kind: 'text', text: 'ok' }] },
        { kind: 'tool_call', callId: 'c2', name: 'p', form: 'custom', args: 'free' },
        { kind: 'tool_result', callId: 'c2', form: 'custom', parts: [{ kind: 'text', text: 'done' }] },
        { kind: 'tool_call', callId: 'c3', name: 'shell', form: 'builtin', args: '{"commands":["ls"]}' },
        { kind: 'tool_result', callId: 'c3', form: 'builtin', parts: [{ kind: 'json', value: [{ stdout: 'x' }] }] },
        {
          kind: 'tool_call',
          callId: 'c4',
          name: 'apply_patch',
          form: 'builtin',
          args: '{"type":"delete_file","path":"a"}',
        },
        {
          kind: 'tool_result',
          callId: 'c4',
          form: 'builtin',
          parts: [{ kind: 'text', text: 'no such file' }],
          isError: true,
        },
        { kind: 'tool_result', callId: 'c5', form: 'builtin', parts: [{ kind: 'text', text: 'x' }] },
      ],
    );
  });
  it('keeps bare reasoning as its own, unwraps envelopes and drops damaged ones', () => {
    const foreign = { issuer: 'messages', kind: 'redacted', data: 'D' } as const;
    assert.deepEqual(
      items(
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'S' }], encrypted_content: 'gAAA' },
        { type: 'reasoning', summary: [], encrypted_content: wrap(foreign) },
        { type: 'reasoning', summary: [], encrypted_content: 'gw1.!!!' },
        { type: 'reasoning', summary: [] },
      ),
      [
        {
          kind: 'reasoning',
          summary: ['S'],
          opaque: { issuer: 'responses', kind: 'reasoning', id: 'rs_1', data: 'gAAA' },
        },
        { kind: 'reasoning', summary: [], opaque: foreign, redacted: true },
        { kind: 'reasoning', summary: [] },
      ],
    );
  });
  it('reads references, compactions, added tools and changed settings', () => {
    assert.deepEqual(
      items(
        { type: 'item_reference', id: 'msg_1' },
        { id: 'msg_2' },
        { type: 'compaction', encrypted_content: 'gAAA' },
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'f', parameters: null }] },
        { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'json_object' } } },
      ),
      [
        { kind: 'ref', id: 'msg_1' },
        { kind: 'ref', id: 'msg_2' },
        { kind: 'compaction', opaque: { issuer: 'responses', kind: 'compaction', data: 'gAAA' } },
        { kind: 'tool_change', add: [{ kind: 'function', name: 'f', schema: { type: 'object', properties: {} } }] },
        { kind: 'config_change', effort: 'low', format: { kind: 'json' } },
      ],
    );
  });
  it('keeps known and unknown provider items', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } };
    const [call, unknown] = items(search, { type: 'telepathy_call', id: 't' });
    assert.deepEqual(call, {
      kind: 'server_call',
      id: 'ws_1',
      tool: 'web_search',
      issuer: 'responses',
      status: 'completed',
      queries: ['q'],
      raw: search,
    });
    assert.deepEqual(unknown, { kind: 'opaque', issuer: 'responses', raw: { type: 'telepathy_call', id: 't' } });
  });
  it('rejects unknown and invalid items of the caller with their path', () => {
    assert.deepEqual(rejectedItem({ type: 'hologram' }), ['unsupported_parameter', 'input[0].type']);
    assert.deepEqual(rejectedItem({ type: 'compaction_trigger' }), ['unsupported_parameter', 'input[0]']);
    assert.deepEqual(rejectedItem({ role: 'user', content: [{ type: 'smell' }] }), [
      'unsupported_parameter',
      'input[0].content[0].type',
    ]);
    assert.deepEqual(rejectedItem({ role: 'user', content: [{ type: 'input_text' }] }), [
      'invalid_request',
      'input[0].content[0].text',
    ]);
    assert.deepEqual(rejectedItem({ role: 'robot', content: '' }), ['invalid_value', 'input[0].role']);
    assert.deepEqual(rejectedItem({ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }), [
      'invalid_request',
      'input[0].arguments',
    ]);
    assert.deepEqual(
      rejectedItem({ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }),
      ['invalid_value', 'input[0].content[0].image_url'],
    );
    assert.deepEqual(rejectedItem(7), ['invalid_request', 'input[0]']);
  });
});

describe('responses tool decoder', () => {
  it('flattens namespaces, keeps grammars and keeps hosted tools raw', () => {
    const search = {
      type: 'web_search_2025_08_26',
      filters: { allowed_domains: ['a.example'] },
      user_location: { type: 'approximate' },
    };
    const { tools } = decode({
      tools: [
        {
          type: 'function',
          name: 'f',
          description: 'd',
          parameters: { type: 'object' },
          strict: false,
          defer_loading: true,
        },
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
        { type: 'namespace', name: 'ns', description: 'n', tools: [{ type: 'function', name: 'g' }] },
        { type: 'local_shell' },
        search,
        { type: 'brand_new' },
      ],
    });
    assert.deepEqual(tools, [
      { kind: 'function', name: 'f', description: 'd', schema: { type: 'object' }, strict: false, defer: true },
      { kind: 'custom', name: 'p', grammar: { syntax: 'lark', definition: 'start: "a"' } },
      { kind: 'function', name: 'g', namespace: 'ns', schema: { type: 'object', properties: {} } },
      { kind: 'builtin', builtin: 'local_shell', name: 'local_shell', raw: { type: 'local_shell' } },
      {
        kind: 'server',
        tool: 'web_search',
        options: { allowedDomains: ['a.example'], userLocation: { type: 'approximate' } },
        raw: search,
      },
      { kind: 'server', tool: 'other', options: {}, raw: { type: 'brand_new' } },
    ]);
  });
  it('reads every form of tool choice', () => {
    const choice = (tool_choice: unknown) => decode({ tool_choice }).toolChoice;
    assert.deepEqual(choice('required'), { kind: 'required' });
    assert.deepEqual(choice({ type: 'function', name: 'f' }), { kind: 'named', name: 'f' });
    assert.deepEqual(choice({ type: 'custom', name: 'p' }), { kind: 'named', name: 'p' });
    assert.deepEqual(choice({ type: 'shell' }), { kind: 'named', name: 'shell' });
    assert.deepEqual(choice({ type: 'web_search_preview' }), { kind: 'hosted', tool: 'web_search' });
    const allowed = decode({
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
      },
    });
    assert.deepEqual(allowed.allowedTools, { mode: 'required', names: ['a'] });
    assert.deepEqual(allowed.toolChoice, { kind: 'required' });
  });
});
