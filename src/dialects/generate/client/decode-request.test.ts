import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../core/index.ts';
import { wrap } from '../../opaque/envelope.ts';
import { isMinted } from '../../wire/ids.ts';
import { decodeRequest } from './decode-request.ts';
import { detectWrongDialect } from './wrong-dialect.ts';

const HEAD = { headers: {}, model: 'models/gemini-x', stream: true };
const decode = (body: object) => decodeRequest({ contents: [{ parts: [{ text: 'hi' }] }], ...body }, HEAD);
const items = (...contents: unknown[]) => decodeRequest({ contents }, HEAD).items;
const isRejection = (code: string, param: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code && error.details.param === param;

test('generate request decoder reads model and method from the path and defaults the role to user', () => {
  const request = decode({});
  assert.equal(request.model, 'gemini-x');
  assert.equal(request.stream, true);
  assert.deepEqual(request.items, [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }]);
  assert.throws(
    () => decodeRequest({ contents: [{ parts: [] }] }, { headers: {} }),
    isRejection('invalid_request', 'model'),
  );
});

test('generate request decoder accepts camelCase and snake_case', () => {
  const camel = decode({
    systemInstruction: { parts: [{ text: 's' }] },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      maxOutputTokens: 5,
      stopSequences: ['x'],
      thinkingConfig: { thinkingBudget: 7, includeThoughts: true },
    },
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
  });
  const snake = decode({
    system_instruction: { parts: [{ text: 's' }] },
    tool_config: { function_calling_config: { mode: 'any', allowed_function_names: ['f'] } },
    generation_config: {
      max_output_tokens: 5,
      stop_sequences: ['x'],
      thinking_config: { thinking_budget: 7, include_thoughts: true },
    },
    tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: { type: 'object' } }] }],
  });
  assert.deepEqual(snake, camel);
  assert.deepEqual(camel.reasoning, { mode: 'budget', budget: 7, show: 'summary' });
  assert.deepEqual(camel.toolChoice, { kind: 'named', name: 'f' });
  assert.equal(camel.clientOptions.thoughts, true);
  assert.deepEqual(camel.unknown, []);
});

test('generate request decoder treats null as absent', () => {
  const request = decode({ tools: null, systemInstruction: null, generationConfig: { temperature: null, seed: 0 } });
  assert.deepEqual(request.sampling, { seed: 0 });
  assert.deepEqual(request.unknown, []);
});

test('contents decoder pairs calls and responses without ids by name and order', () => {
  const [first, second, third, fourth] = items(
    { role: 'model', parts: [{ functionCall: { name: 'f', args: { n: 1 } } }, { functionCall: { name: 'f' } }] },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'f', response: { output: 'one' } } },
        { functionResponse: { name: 'f', response: { error: 'two' } } },
      ],
    },
  );
  assert.ok(first?.kind === 'tool_call' && second?.kind === 'tool_call');
  assert.ok(third?.kind === 'tool_result' && fourth?.kind === 'tool_result');
  assert.equal(first.args, '{"n":1}');
  assert.equal(second.args, '{}');
  assert.ok(isMinted(first.callId) && first.callId !== second.callId);
  assert.equal(third.callId, first.callId);
  assert.equal(fourth.callId, second.callId);
  assert.deepEqual(third.parts, [{ kind: 'text', text: 'one' }]);
  assert.equal(fourth.isError, true);
});

test('contents decoder rejects a response without a call', () => {
  assert.throws(
    () => items({ parts: [{ functionResponse: { name: 'f', response: {} } }] }),
    isRejection('invalid_value', 'contents[0].parts[0].functionResponse'),
  );
});

test('contents decoder keeps data and media of a response', () => {
  const [, toolResult] = items(
    { role: 'model', parts: [{ functionCall: { id: '1', name: 'f' } }] },
    {
      parts: [
        {
          functionResponse: {
            id: '1',
            name: 'f',
            response: { a: 1 },
            parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }],
          },
        },
      ],
    },
  );
  assert.ok(toolResult?.kind === 'tool_result');
  assert.deepEqual(toolResult.parts, [
    { kind: 'json', value: { a: 1 } },
    { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA==' } },
  ]);
});

test('contents decoder detects the kind of media by type and files of the provider by URI', () => {
  const [message] = items({
    parts: [
      { inlineData: { mimeType: 'audio/wav', data: 'AA==' } },
      { inlineData: { mimeType: 'application/pdf', data: 'AA==', displayName: 'a.pdf' } },
      { fileData: { fileUri: 'https://x.test/v.mp4', mimeType: 'video/mp4' } },
      { fileData: { fileUri: 'gs://bucket/a' } },
    ],
  });
  assert.ok(message?.kind === 'message');
  assert.deepEqual(message.parts, [
    { kind: 'audio', source: { kind: 'base64', mime: 'audio/wav', data: 'AA==' } },
    { kind: 'file', source: { kind: 'base64', mime: 'application/pdf', data: 'AA==' }, title: 'a.pdf' },
    { kind: 'video', source: { kind: 'url', url: 'https://x.test/v.mp4', mime: 'video/mp4' } },
    { kind: 'file', source: { kind: 'file_id', id: 'gs://bucket/a', issuer: 'generate-content' } },
  ]);
});

test('contents decoder unwraps envelopes in signatures and drops thoughts with damaged ones', () => {
  const opaque = { issuer: 'messages', kind: 'thinking', data: 'S' } as const;
  const thought = (thoughtSignature: string) => ({ text: 'hm', thought: true, thoughtSignature });
  const bare = { issuer: 'generate-content', kind: 'thought', data: 'own' };
  assert.deepEqual(items({ role: 'model', parts: [thought(wrap(opaque)), thought('gw1.damaged'), thought('own')] }), [
    { kind: 'reasoning', summary: ['hm'], opaque },
    { kind: 'reasoning', summary: ['hm'], opaque: bare },
  ]);
  const [call] = items({
    role: 'model',
    parts: [{ functionCall: { id: '1', name: 'f' }, thoughtSignature: 'gw1.damaged' }],
  });
  assert.deepEqual(call, { kind: 'tool_call', callId: '1', name: 'f', form: 'function', args: '{}' });
});

test('contents decoder keeps unknown parts of the model and rejects those of the user', () => {
  const raw = { executableCode: { language: 'PYTHON', code: '1' } };
  assert.deepEqual(
    items({ role: 'model', parts: [{ text: 'a' }, raw, { text: 'b' }] }).map((item) => item.kind),
    ['message', 'opaque', 'message'],
  );
  assert.throws(() => items({ role: 'user', parts: [raw] }), isRejection('invalid_request', 'contents[0].parts[0]'));
});

test('tool decoder converts Google schemas to JSON Schema', () => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      type: { type: 'STRING', nullable: true },
      list: { type: 'ARRAY', items: { type: 'INTEGER' }, min_items: '2' },
    },
    propertyOrdering: ['type'],
  };
  const [tool] = decode({ tools: [{ functionDeclarations: [{ name: 'f', parameters }] }] }).tools;
  assert.deepEqual(tool?.kind === 'function' && tool.schema, {
    type: 'object',
    properties: {
      type: { type: ['string', 'null'] },
      list: { type: 'array', items: { type: 'integer' }, minItems: 2 },
    },
  });
});

test('tool decoder detects hosted tools by member name', () => {
  const kinds = decode({ tools: [{ googleSearch: {}, code_execution: {} }, { somethingNew: {} }] }).tools;
  assert.deepEqual(
    kinds.map((tool) => tool.kind === 'server' && tool.tool),
    ['web_search', 'code_exec', 'other'],
  );
});

test('tool decoder maps the calling mode to tool choice and allowed tools', () => {
  const choice = (functionCallingConfig: object) => {
    const { toolChoice, allowedTools } = decode({ toolConfig: { functionCallingConfig } });
    return [toolChoice.kind, allowedTools?.mode];
  };
  assert.deepEqual(choice({}), ['auto', undefined]);
  assert.deepEqual(choice({ mode: 'NONE' }), ['none', undefined]);
  assert.deepEqual(choice({ mode: 'ANY' }), ['required', undefined]);
  assert.deepEqual(choice({ mode: 'ANY', allowedFunctionNames: ['a', 'b'] }), ['required', 'required']);
  assert.deepEqual(choice({ mode: 'VALIDATED', allowedFunctionNames: ['a'] }), ['auto', 'auto']);
  assert.throws(
    () => choice({ mode: 'SOMETIMES' }),
    isRejection('invalid_value', 'toolConfig.functionCallingConfig.mode'),
  );
});

test('generate request decoder decodes thinking budgets and levels', () => {
  const reasoning = (thinkingConfig: object) => decode({ generationConfig: { thinkingConfig } }).reasoning;
  assert.deepEqual(reasoning({ thinkingBudget: 0 }), { mode: 'off' });
  assert.deepEqual(reasoning({ thinkingBudget: -1 }), { mode: 'auto' });
  assert.deepEqual(reasoning({ thinkingLevel: 'HIGH', includeThoughts: false }), { effort: 'high', show: 'none' });
  assert.throws(
    () => reasoning({ thinkingLevel: 'HIGH', thinkingBudget: 5 }),
    isRejection('invalid_value', 'generationConfig.thinkingConfig'),
  );
});

test('generate request decoder decodes the response format', () => {
  const format = (generationConfig: object) => decode({ generationConfig }).output.format;
  assert.deepEqual(format({ responseMimeType: 'application/json' }), { kind: 'json' });
  assert.deepEqual(format({ responseSchema: { type: 'STRING' } }), { kind: 'schema', schema: { type: 'string' } });
  assert.deepEqual(format({ responseFormat: { text: { mimeType: 'application/json', schema: { type: 'string' } } } }), {
    kind: 'schema',
    schema: { type: 'string' },
  });
  assert.throws(
    () => format({ responseMimeType: 'text/x.enum' }),
    isRejection('unsupported_parameter', 'generationConfig.responseMimeType'),
  );
});

test('generate request decoder lists unknown fields and rejects state at the provider', () => {
  const request = decode({ safetySettings: [], newField: 1, generationConfig: { mediaResolution: 'LOW' } });
  assert.deepEqual(request.unknown, ['safetySettings', 'newField', 'generationConfig.mediaResolution']);
  assert.throws(() => decode({ cached_content: 'x' }), isRejection('unsupported_parameter', 'cachedContent'));
});

test('generate request decoder names the path of a wrong type', () => {
  const cases: [object, string][] = [
    [{ contents: 'x' }, 'contents'],
    [{ contents: [{ parts: [{ text: 5 }] }] }, 'contents[0].parts[0].text'],
    [{ contents: [{ role: 'user' }] }, 'contents[0].parts'],
    [{ generationConfig: { temperature: 'hot' } }, 'generationConfig.temperature'],
    [{ tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name'],
  ];
  for (const [body, param] of cases) assert.throws(() => decode(body), isRejection('invalid_request', param));
});

test('generate request decoder rejects a role that only objects of JavaScript have', () => {
  for (const role of ['constructor', '__proto__']) {
    const contents = [{ role, parts: [{ text: 'hi' }] }];
    assert.throws(() => decode({ contents }), isRejection('invalid_value', 'contents[0].role'));
  }
});

test('G 4.1 r2: a body of another dialect is rejected with the endpoint that accepts it', () => {
  const endpoint = (body: object) => detectWrongDialect(body)?.endpoint;
  assert.equal(endpoint({ messages: [], max_tokens: 5 }), '/v1/messages');
  assert.equal(endpoint({ messages: [], system: 'x' }), '/v1/messages');
  assert.equal(endpoint({ messages: [{ role: 'system', content: '' }], max_tokens: 5 }), '/v1/chat/completions');
  assert.equal(endpoint({ messages: [{ role: 'user', content: 'x' }] }), '/v1/chat/completions');
  assert.equal(endpoint({ model: 'm', input: 'x' }), '/v1/responses');
  assert.equal(endpoint({ contents: [], messages: [] }), undefined);
  assert.equal(endpoint({}), undefined);
  assert.throws(
    () => decodeRequest({ model: 'm', input: 'x' }, HEAD),
    (error) =>
      error instanceof ApiError && error.code === 'wrong_dialect' && error.message.includes('POST /v1/responses'),
  );
});
