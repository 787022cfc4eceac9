import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { aRequest, aTarget } from '../../../../test/support/dialects/responses.ts';
import { runs } from '../../../../test/support/properties.ts';
import type { HubItem, HubPart, HubRequest, JsonObject, Opaque } from '../../hub/types.ts';
import { encodeRequest } from './encode-request.ts';

const text = (content: string, more = {}): HubPart => ({ kind: 'text', text: content, ...more });
const user = (...parts: HubPart[]): HubItem => ({ kind: 'message', role: 'user', parts });
const assistant = (content: string): HubItem => ({ kind: 'message', role: 'assistant', parts: [text(content)] });
const call = (callId: string, more = {}): HubItem => ({
  kind: 'tool_call',
  callId,
  name: 'f',
  form: 'function',
  args: '{"a":1}',
  ...more,
});
const result = (callId: string, parts: HubPart[], more = {}): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts,
  ...more,
});
const reasoning = (data: string, more: Partial<Opaque> = {}): HubItem => ({
  kind: 'reasoning',
  summary: ['S'],
  opaque: { issuer: 'responses', kind: 'reasoning', id: `rs_${data}`, data, ...more },
});

const encode = (changes: Partial<HubRequest>, target = aTarget()) => encodeRequest(aRequest(changes), target);
const body = (changes: Partial<HubRequest>, target = aTarget()) => encode(changes, target).body;
const input = (items: HubItem[], target = aTarget()) =>
  body({ items: [...items, user(text('.'))] }, target).input as JsonObject[];

describe('responses request encoder', () => {
  it('disables storage and asks for encrypted reasoning', () => {
    assert.deepEqual(body({}), {
      model: 'gpt-6',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    });
  });
  it('joins instructions', () => {
    const system = ['Be brief.', '', 'Be kind.'].map((content) => ({
      kind: 'text' as const,
      text: content,
    }));
    assert.equal(body({ system }).instructions, 'Be brief.\n\nBe kind.');
  });
  it('clamps the output limit to the minimum of the API and the maximum of the model', () => {
    const limit = (maxOutput: number, target = aTarget()) => body({ limits: { maxOutput } }, target).max_output_tokens;
    assert.equal(limit(5), 16);
    assert.equal(limit(999_999_999), 128_000);
    assert.equal(limit(5000, aTarget({ maxOutput: 1000 })), 1000);
  });
  it('drops and reports sampling for models that reject it', () => {
    const sampling = { temperature: 0, topP: 0.5 };
    assert.deepEqual(encode({ sampling }).droppedFields, ['temperature', 'topP']);
    const full = encode({ sampling }, aTarget({}, { sampling: 'full' }));
    assert.equal(full.body.temperature, 0);
    assert.deepEqual(full.droppedFields, []);
  });
  it('leaves stop sequences to the gateway', () => {
    const encoded = encode({ sampling: { stop: ['END'] } });
    assert.deepEqual(encoded.emulateStop, ['END']);
    assert.equal(encoded.body.stop, undefined);
  });
  it('sends the nearest effort that the model supports', () => {
    const effort = (reasoning: HubRequest['reasoning'], efforts = ['none', 'low', 'medium', 'high']) =>
      (body({ reasoning }, aTarget({}, { efforts })).reasoning as JsonObject | undefined)?.effort;
    assert.equal(effort({ effort: 'high' }), 'high');
    assert.equal(effort({ effort: 'max' }), 'high');
    assert.equal(effort({ effort: 'minimal' }), 'low');
    assert.equal(effort({ mode: 'off' }), 'none');
    assert.equal(effort({ mode: 'off' }, ['low', 'high']), 'low');
    assert.equal(effort({ mode: 'budget', budget: 2000 }), 'low');
    assert.equal(effort({ mode: 'budget', budget: 9000 }), 'medium');
    assert.equal(effort({ mode: 'budget', budget: 30_000 }), 'high');
    assert.equal(effort({ mode: 'auto' }), undefined);
    assert.deepEqual(body({ reasoning: { mode: 'auto', show: 'summary' } }).reasoning, { summary: 'auto' });
    assert.deepEqual(encode({ reasoning: { effort: 'high' } }, aTarget({}, { efforts: [] })).droppedFields, [
      'reasoning',
    ]);
  });
  it('hashes the user id and long cache keys, and uses the session as cache key', () => {
    const encoded = body({ meta: { userId: 'alice@example.test' }, session: 's'.repeat(80) });
    assert.match(String(encoded.safety_identifier), /^[\w-]{40}$/);
    assert.match(String(encoded.prompt_cache_key), /^[\w-]{40}$/);
    assert.equal(body({ session: 's1' }).prompt_cache_key, 's1');
    assert.equal(body({ session: 's1', cache: { key: 'k' } }).prompt_cache_key, 'k');
  });
  it('sets strict only when the schema meets the strict rules', () => {
    const format = (schema: JsonObject) =>
      (body({ output: { format: { kind: 'schema', schema } } }).text as JsonObject).format as JsonObject;
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
    const { tools } = body({
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
    const encoded = encode({
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
    const native = body(changes);
    assert.deepEqual(native.tools, [{ type: 'custom', name: 'p', format: { type: 'grammar', ...grammar } }]);
    assert.deepEqual(native.tool_choice, { type: 'custom', name: 'p' });
    assert.deepEqual(
      (native.input as JsonObject[]).map((item) => item.type),
      ['custom_tool_call', 'custom_tool_call_output', 'message'],
    );
    const plain = body(changes, aTarget({}, { customTools: false }));
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
    const encoded = body({
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
    assert.throws(() => body({ tools: [hosted('web_fetch')], toolChoice: { kind: 'hosted', tool: 'web_fetch' } }), {
      code: 'unsupported_parameter',
    });
  });
  it('sends client tools of another provider as functions', () => {
    const bash = { kind: 'builtin', builtin: 'bash_20250124', name: 'bash', raw: {} } as const;
    const [tool] = body({ tools: [bash] }).tools as JsonObject[];
    assert.equal(tool?.type, 'function');
    assert.throws(() => body({ tools: [{ ...bash, builtin: 'computer_20251124' }] }), {
      code: 'unsupported_parameter',
    });
  });
  it('sends a tool choice only with tools', () => {
    assert.equal(body({ toolChoice: { kind: 'required' }, parallelTools: false }).tool_choice, undefined);
    const tools: HubRequest['tools'] = [{ kind: 'function', name: 'f', schema }];
    const encoded = body({ tools, parallelTools: false, allowedTools: { mode: 'required', names: ['f'] } });
    assert.deepEqual(encoded.tool_choice, {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'f' }],
    });
    assert.equal(encoded.parallel_tool_calls, false);
  });
});

describe('responses item encoder', () => {
  it('keeps the order of items and sends no item ids', () => {
    const sent = input([
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
    const [callItem, resultItem] = input([call(id), result(id, [])]);
    assert.match(String(callItem?.call_id), /^call_[\w-]{24}$/);
    assert.equal(callItem?.call_id, resultItem?.call_id);
    assert.equal(resultItem?.output, '');
  });
  it('prefixes the result of a failed tool and keeps images in results', () => {
    const image: HubPart = { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA' } };
    const sent = input([
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
    assert.throws(() => input([result('c9', [text('x')])]), {
      code: 'invalid_request',
      message: 'No tool call found for function call output with call_id c9.',
    });
  });
  it('rejects a conversation that ends with an assistant message', () => {
    assert.throws(
      () => body({ items: [user(text('a')), assistant('b')] }),
      /does not support assistant message prefill/,
    );
  });
  it('restores reasoning in place with its id', () => {
    const sent = input([
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
    const kinds = (items: HubItem[], target = aTarget()) => input(items, target).map((item) => item.type);
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
      const [sent] = input([item, assistant('x')]);
      return ((sent?.summary ?? []) as JsonObject[]).map((part) => part.text);
    };
    assert.deepEqual(parts('One\n\nThree'), ['One', 'Three']);
    assert.deepEqual(parts('One and Three'), ['One and Three']);
    assert.deepEqual(parts(''), []);
  });
  it('sends later system messages as developer messages', () => {
    const [, item] = input([user(text('a')), { kind: 'message', role: 'system', parts: [text('Now in French.')] }]);
    assert.equal(item?.role, 'developer');
  });
  it('infers phases only for models that have them', () => {
    const items = [assistant('Looking.'), call('c1'), result('c1', [text('x')]), assistant('Found.')];
    const phases = (target = aTarget()) =>
      input(items, target).flatMap((item) => (item.role === 'assistant' ? [item.phase] : []));
    assert.deepEqual(phases(), [undefined, undefined]);
    assert.deepEqual(phases(aTarget({}, { phase: true })), ['commentary', 'final_answer']);
  });
  it('sends files and search results, and rejects audio and files of other providers', () => {
    const [item] = input([
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
    assert.throws(() => input([user({ kind: 'audio', source: { kind: 'url', url: 'https://a.example' } })]), {
      code: 'unsupported_parameter',
    });
    assert.throws(
      () => input([user({ kind: 'image', source: { kind: 'file_id', id: 'file_x', issuer: 'messages' } })]),
      /file_x/,
    );
  });
  it('sets the last four cache breakpoints when the model supports them', () => {
    const withBreakpoint = (n: number) => user(text(`m${n}`, { cache: n === 5 ? { long: true } : {} }));
    const items = [1, 2, 3, 4, 5].map(withBreakpoint);
    const system = [{ kind: 'text' as const, text: 'S', cache: {} }];
    const set = body({ items, system }, aTarget({}, { explicitCache: true }));
    const parts = (set.input as JsonObject[]).flatMap((item) => item.content as JsonObject[]);
    assert.deepEqual(
      parts.map((part) => (part.prompt_cache_breakpoint as JsonObject | undefined)?.ttl),
      [undefined, undefined, '30m', '30m', '30m', '12h'],
    );
    assert.equal(set.instructions, undefined);
    const unset = encode({ items, system, session: 's' });
    assert.deepEqual(unset.droppedFields, ['cacheBreakpoints']);
    assert.ok(!JSON.stringify(unset.body).includes('breakpoint'));
    assert.equal(unset.body.prompt_cache_key, 's');
  });
  it('encodes a tool result the same with and without a cache breakpoint', () => {
    for (const explicitCache of [false, true]) {
      const outputs = [undefined, {}].map((cache) => {
        const toolResult = result('c1', [text('r', cache && { cache })]);
        const sent = body({ items: [user(text('q')), call('c1'), toolResult] }, aTarget({}, { explicitCache }));
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
        const before = input(base).slice(0, -1);
        const after = input([...base, ...more.flat()]);
        assert.equal(JSON.stringify(after.slice(0, before.length)), JSON.stringify(before));
      }),
      { numRuns: runs(100) },
    );
  });
});
