import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aTarget } from '../../../../test/support/dialects/responses.ts';
import {
  call,
  encodeBody,
  encodeWith,
  result,
  text,
  user,
} from '../../../../test/support/dialects/responses-requests.ts';
import type { HubRequest, JsonObject } from '../../hub/types.ts';

describe('responses request encoder', () => {
  it('disables storage and asks for encrypted reasoning', () => {
    assert.deepEqual(encodeBody({}), {
      model: 'gpt-6',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    });
  });
  it('asks for nothing that the model cannot return', () => {
    const reasoning = { show: 'summary' } as const;
    assert.equal(encodeBody({ reasoning }, aTarget({}, { encryptedReasoning: false })).include, undefined);
    assert.equal(encodeBody({ reasoning }, aTarget({}, { efforts: [] })).include, undefined);
    assert.equal(encodeBody({ reasoning }, aTarget({}, { display: false })).reasoning, undefined);
    assert.deepEqual(encodeBody({ reasoning }).reasoning, { summary: 'auto' });
  });
  it('joins instructions', () => {
    const system = ['Be brief.', '', 'Be kind.'].map((content) => ({
      kind: 'text' as const,
      text: content,
    }));
    assert.equal(encodeBody({ system }).instructions, 'Be brief.\n\nBe kind.');
  });
  it('clamps the output limit to the minimum of the API and the maximum of the model', () => {
    const limit = (maxOutput: number, target = aTarget()) =>
      encodeBody({ limits: { maxOutput } }, target).max_output_tokens;
    assert.equal(limit(5), 16);
    assert.equal(limit(999_999_999), 128_000);
    assert.equal(limit(5000, aTarget({ maxOutput: 1000 })), 1000);
  });
  it('drops and reports sampling for models that reject it', () => {
    const sampling = { temperature: 0, topP: 0.5 };
    assert.deepEqual(encodeWith({ sampling }).droppedFields, ['temperature', 'topP']);
    const full = encodeWith({ sampling }, aTarget({}, { sampling: 'full' }));
    assert.equal(full.body.temperature, 0);
    assert.deepEqual(full.droppedFields, []);
  });
  it('leaves stop sequences to the gateway', () => {
    const encoded = encodeWith({ sampling: { stop: ['END'] } });
    assert.deepEqual(encoded.emulateStop, ['END']);
    assert.equal(encoded.body.stop, undefined);
  });
  it('sends the nearest effort that the model supports', () => {
    const effort = (reasoning: HubRequest['reasoning'], efforts = ['none', 'low', 'medium', 'high']) =>
      (encodeBody({ reasoning }, aTarget({}, { efforts })).reasoning as JsonObject | undefined)?.effort;
    assert.equal(effort({ effort: 'high' }), 'high');
    assert.equal(effort({ effort: 'max' }), 'high');
    assert.equal(effort({ effort: 'minimal' }), 'low');
    assert.equal(effort({ mode: 'off' }), 'none');
    assert.equal(effort({ mode: 'off' }, ['low', 'high']), 'low');
    assert.equal(effort({ mode: 'budget', budget: 2000 }), 'low');
    assert.equal(effort({ mode: 'budget', budget: 9000 }), 'medium');
    assert.equal(effort({ mode: 'budget', budget: 30_000 }), 'high');
    assert.equal(effort({ mode: 'auto' }), undefined);
    assert.deepEqual(encodeBody({ reasoning: { mode: 'auto', show: 'summary' } }).reasoning, { summary: 'auto' });
    assert.deepEqual(encodeWith({ reasoning: { effort: 'high' } }, aTarget({}, { efforts: [] })).droppedFields, [
      'reasoning',
    ]);
  });
  it('sends instructions without a conversation as input, which must not be empty', () => {
    const encoded = encodeBody({ system: [{ kind: 'text', text: 'Greet.' }], items: [] });
    assert.equal(encoded.instructions, undefined);
    assert.deepEqual(encoded.input, [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Greet.' }] },
    ]);
  });
  it('hashes the user id and long cache keys, and uses the session as cache key', () => {
    const encoded = encodeBody({ meta: { userId: 'alice@example.test' }, session: 's'.repeat(80) });
    assert.match(String(encoded.safety_identifier), /^[\w-]{40}$/);
    assert.match(String(encoded.prompt_cache_key), /^[\w-]{40}$/);
    assert.equal(encodeBody({ session: 's1' }).prompt_cache_key, 's1');
    assert.equal(encodeBody({ session: 's1', cache: { key: 'k' } }).prompt_cache_key, 'k');
  });
  it('sets strict only when the schema meets the strict rules', () => {
    const format = (schema: JsonObject) =>
      (encodeBody({ output: { format: { kind: 'schema', schema } } }).text as JsonObject).format as JsonObject;
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    assert.deepEqual(format(strict), { type: 'json_schema', name: 'response', schema: strict, strict: true });
    assert.equal(format({ type: 'object', properties: { a: {} } }).strict, false);
  });
});

describe('responses tool encoder', () => {
  const schema = { $schema: 'x', type: 'object', properties: { a: { type: 'string', default: 'b' } } };
  it('sends function schemas unchanged and always sets strict', () => {
    const { tools } = encodeBody({
      tools: [
        { kind: 'function', name: 'f', schema },
        { kind: 'function', name: 'g', schema, strict: true },
      ],
    });
    assert.deepEqual(tools, [
      { type: 'function', name: 'f', parameters: schema, strict: false },
      { type: 'function', name: 'g', parameters: schema, strict: true },
    ]);
  });
  it('maps invalid tool names everywhere and returns the original names', () => {
    const name = 'read.file';
    const encoded = encodeWith({
      tools: [{ kind: 'function', name, schema }],
      toolChoice: { kind: 'named', name },
      items: [call('c1', { name }), result('c1', [text('x')]), user(text('?'))],
    });
    const [tool] = encoded.body.tools as JsonObject[];
    assert.equal(tool?.name, 'read_file');
    assert.deepEqual(encoded.body.tool_choice, { type: 'function', name: 'read_file' });
    assert.equal((encoded.body.input as JsonObject[])[0]?.name, 'read_file');
    assert.deepEqual(encoded.names.get('read_file'), { name });
  });
  it('sends free-text tools natively, or as functions when the model lacks them', () => {
    const grammar = { syntax: 'lark', definition: 'start: "a"' };
    const changes: Partial<HubRequest> = {
      tools: [{ kind: 'custom', name: 'p', grammar }],
      items: [call('c1', { name: 'p', form: 'custom', args: 'free' }), result('c1', [text('ok')]), user(text('?'))],
      toolChoice: { kind: 'named', name: 'p' },
    };
    const native = encodeBody(changes);
    assert.deepEqual(native.tools, [{ type: 'custom', name: 'p', format: { type: 'grammar', ...grammar } }]);
    assert.deepEqual(native.tool_choice, { type: 'custom', name: 'p' });
    assert.deepEqual(
      (native.input as JsonObject[]).map((item) => item.type),
      ['custom_tool_call', 'custom_tool_call_output', 'message'],
    );
    const plain = encodeBody(changes, aTarget({}, { customTools: false }));
    assert.equal((plain.input as JsonObject[])[0]?.arguments, '{"input":"free"}');
    assert.match(String((plain.tools as JsonObject[])[0]?.description), /lark grammar:\nstart/);
  });
  it('keeps namespaces, converts hosted tools and drops those without a counterpart', () => {
    const hosted = (tool: 'web_search' | 'web_fetch' | 'code_exec') => ({
      kind: 'server' as const,
      tool,
      options: { allowedDomains: ['a.example'] },
      raw: {},
    });
    const encoded = encodeBody({
      tools: [
        { kind: 'function', name: 'g', namespace: 'ns', schema },
        { kind: 'function', name: 'h', namespace: 'ns', schema },
        hosted('web_search'),
        hosted('web_fetch'),
        hosted('code_exec'),
      ],
    });
    const tools = encoded.tools as JsonObject[];
    assert.deepEqual(
      tools.map((tool) => tool.type),
      ['namespace', 'web_search', 'code_interpreter'],
    );
    assert.deepEqual(
      ((tools[0]?.tools ?? []) as JsonObject[]).map((tool) => tool.name),
      ['g', 'h'],
    );
    assert.ok((encoded.include as string[]).includes('web_search_call.action.sources'));
    assert.throws(
      () => encodeBody({ tools: [hosted('web_fetch')], toolChoice: { kind: 'hosted', tool: 'web_fetch' } }),
      {
        code: 'unsupported_parameter',
      },
    );
  });
  it('sends client tools of another provider as functions', () => {
    const bash = { kind: 'builtin', builtin: 'bash_20250124', name: 'bash', raw: {} } as const;
    const [tool] = encodeBody({ tools: [bash] }).tools as JsonObject[];
    assert.equal(tool?.type, 'function');
    assert.throws(() => encodeBody({ tools: [{ ...bash, builtin: 'computer_20251124' }] }), {
      code: 'unsupported_parameter',
    });
  });
  it('sends a tool choice only with tools', () => {
    assert.equal(encodeBody({ toolChoice: { kind: 'required' }, parallelTools: false }).tool_choice, undefined);
    const tools: HubRequest['tools'] = [{ kind: 'function', name: 'f', schema }];
    const encoded = encodeBody({
      tools,
      parallelTools: false,
      allowedTools: { mode: 'required', names: [{ name: 'f' }] },
    });
    assert.deepEqual(encoded.tool_choice, {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'f' }],
    });
    assert.equal(encoded.parallel_tool_calls, false);
  });
});
