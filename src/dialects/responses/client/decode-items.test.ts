import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeBody, decodeItems, rejectionOfItem } from '../../../../test/support/dialects/responses-requests.ts';
import { wrap } from '../../opaque/envelope.ts';

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
    assert.deepEqual(decodeItems(message), expected);
    assert.deepEqual(decodeItems({ type: 'message', id: 'msg_1', status: 'completed', ...message }), expected);
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
    assert.deepEqual(decodeItems({ role: 'user', content }), [
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
      decodeItems(
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
      decodeItems(
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
      decodeItems(
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
    const [call, unknown] = decodeItems(search, { type: 'telepathy_call', id: 't' });
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
    assert.deepEqual(rejectionOfItem({ type: 'hologram' }), ['unsupported_parameter', 'input[0].type']);
    assert.deepEqual(rejectionOfItem({ type: 'compaction_trigger' }), ['unsupported_parameter', 'input[0]']);
    assert.deepEqual(rejectionOfItem({ role: 'user', content: [{ type: 'smell' }] }), [
      'unsupported_parameter',
      'input[0].content[0].type',
    ]);
    assert.deepEqual(rejectionOfItem({ role: 'user', content: [{ type: 'input_text' }] }), [
      'invalid_request',
      'input[0].content[0].text',
    ]);
    assert.deepEqual(rejectionOfItem({ role: 'robot', content: '' }), ['invalid_value', 'input[0].role']);
    assert.deepEqual(rejectionOfItem({ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }), [
      'invalid_request',
      'input[0].arguments',
    ]);
    assert.deepEqual(
      rejectionOfItem({ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }),
      ['invalid_value', 'input[0].content[0].image_url'],
    );
    assert.deepEqual(rejectionOfItem(7), ['invalid_request', 'input[0]']);
  });
});

describe('responses tool decoder', () => {
  it('flattens namespaces, keeps grammars and keeps hosted tools raw', () => {
    const search = {
      type: 'web_search_2025_08_26',
      filters: { allowed_domains: ['a.example'] },
      user_location: { type: 'approximate' },
    };
    const { tools } = decodeBody({
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
      {
        kind: 'function',
        name: 'g',
        namespace: 'ns',
        namespaceDescription: 'n',
        schema: { type: 'object', properties: {} },
      },
      { kind: 'builtin', builtin: 'local_shell', name: 'local_shell', raw: { type: 'local_shell' } },
      {
        kind: 'server',
        tool: 'web_search',
        options: { allowedDomains: ['a.example'], userLocation: { type: 'approximate' } },
        raw: search,
        at: 'tools[4]',
      },
      { kind: 'server', tool: 'other', options: {}, raw: { type: 'brand_new' }, at: 'tools[5]' },
    ]);
  });
  it('reads every form of tool choice', () => {
    const choice = (tool_choice: unknown) => decodeBody({ tool_choice }).toolChoice;
    assert.deepEqual(choice('required'), { kind: 'required' });
    assert.deepEqual(choice({ type: 'function', name: 'f' }), { kind: 'named', name: 'f' });
    assert.deepEqual(choice({ type: 'custom', name: 'p' }), { kind: 'named', name: 'p' });
    assert.deepEqual(choice({ type: 'shell' }), { kind: 'named', name: 'shell' });
    assert.deepEqual(choice({ type: 'web_search_preview' }), { kind: 'hosted', tool: 'web_search' });
    const allowed = decodeBody({
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
      },
    });
    assert.deepEqual(allowed.allowedTools, {
      mode: 'required',
      names: [{ name: 'a' }],
      hosted: [{ tool: 'web_search' }],
    });
    assert.deepEqual(allowed.toolChoice, { kind: 'required' });
  });
});
