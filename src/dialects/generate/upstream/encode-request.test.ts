import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubRequest, isApiError, target, user } from '../../../../test/support/dialects/generate.ts';
import type { CapabilityOverrides } from '../../../rules/index.ts';
import type { HubReasoning, HubRequest, HubTool } from '../../hub/types.ts';
import { encodeRequest } from './encode-request.ts';

const encode = (changes: Partial<HubRequest>, overrides: CapabilityOverrides = {}) =>
  encodeRequest(hubRequest(changes), target(overrides));
const config = (changes: Partial<HubRequest>, overrides: CapabilityOverrides = {}) =>
  encode(changes, overrides).body.generationConfig;

test('generate request encoder sends only contents for a plain request', () => {
  assert.deepEqual(encode({ stream: true }), {
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    headers: {},
    droppedFields: [],
    names: new Map(),
    emulateStop: [],
  });
});

test('generate request encoder sends one instruction part per system block', () => {
  const text = (value: string) => ({ kind: 'text', text: value }) as const;
  const system = [text('One.'), text(''), text('Two.')];
  assert.deepEqual(encode({ system }).body.systemInstruction, { parts: [{ text: 'One.' }, { text: 'Two.' }] });
});

test('generate request encoder maps all settings, including zeros', () => {
  const sampling = { temperature: 0, topP: 0.9, topK: 4, seed: 0, presence: 0.1, frequency: -0.1, stop: ['a'] };
  assert.deepEqual(config({ sampling, limits: { maxOutput: 10 } }), {
    temperature: 0,
    topP: 0.9,
    topK: 4,
    presencePenalty: 0.1,
    frequencyPenalty: -0.1,
    seed: 0,
    maxOutputTokens: 10,
    stopSequences: ['a'],
  });
});

test('generate request encoder drops sampling for models with fixed sampling and reports it', () => {
  const { body, droppedFields: dropped } = encode({ sampling: { temperature: 1, topK: 2 } }, { sampling: 'none' });
  assert.equal(body.generationConfig, undefined);
  assert.deepEqual(dropped, ['temperature', 'topK']);
});

test('generate request encoder clamps maxOutputTokens to the limit of the model', () => {
  assert.deepEqual(config({ limits: { maxOutput: 999_999 } }, { maxOutput: 100 }), { maxOutputTokens: 100 });
  const request = hubRequest({ limits: { maxOutput: 999_999 } });
  assert.deepEqual(encodeRequest(request, { ...target(), maxOutput: 50 }).body.generationConfig, {
    maxOutputTokens: 50,
  });
});

test('generate request encoder sends five stop sequences and leaves the others to emulation', () => {
  const stop = ['1', '2', '3', '4', '5', '6', '7'];
  const { body, emulateStop } = encode({ sampling: { stop } });
  assert.deepEqual(body.generationConfig, { stopSequences: stop.slice(0, 5) });
  assert.deepEqual(emulateStop, ['6', '7']);
});

test('generate request encoder keeps service tier names and omits the default', () => {
  assert.equal(encode({ meta: { serviceTier: 'flex' } }).body.serviceTier, 'flex');
  assert.equal(encode({ meta: { serviceTier: 'auto' } }).body.serviceTier, undefined);
});

test('generate request encoder maps output modalities', () => {
  const output = { format: { kind: 'text' }, modalities: ['text', 'image'] } as const;
  assert.deepEqual(config({ output }, { imageOutput: true }), { responseModalities: ['TEXT', 'IMAGE'] });
  assert.deepEqual(config({ output }), { responseModalities: ['TEXT'] });
  assert.deepEqual(encode({ output }).droppedFields, ['imageOutput']);
});

// ---------------------------------------------------------------- thinking

const level = (reasoning: HubReasoning, efforts?: string[]) =>
  (config({ reasoning }, efforts ? { efforts } : {}) as { thinkingConfig?: unknown } | undefined)?.thinkingConfig;
const budget = (reasoning: HubReasoning, thinkingBudget: [number, number] = [0, 24_576]) =>
  (config({ reasoning }, { thinkingConfig: 'budget', thinkingBudget }) as { thinkingConfig?: unknown } | undefined)
    ?.thinkingConfig;

test('thinking encoder maps an effort to the nearest level of the model', () => {
  const all = ['minimal', 'low', 'medium', 'high'];
  assert.deepEqual(level({ effort: 'medium' }, all), { thinkingLevel: 'MEDIUM' });
  assert.deepEqual(level({ effort: 'max' }), { thinkingLevel: 'HIGH' });
  assert.deepEqual(level({ effort: 'medium' }, ['low', 'high']), { thinkingLevel: 'LOW' });
  assert.deepEqual(level({ mode: 'off' }, all), { thinkingLevel: 'MINIMAL' });
  assert.deepEqual(level({ mode: 'off' }, ['low', 'high']), { thinkingLevel: 'LOW' });
  assert.deepEqual(level({ effort: 'none', show: 'summary' }, all), { thinkingLevel: 'MINIMAL' });
  assert.deepEqual(level({ mode: 'between_tools' }), { thinkingLevel: 'LOW' });
  assert.equal(level({ mode: 'auto' }), undefined);
});

test('thinking encoder maps a budget to a level', () => {
  assert.deepEqual(level({ mode: 'budget', budget: 1024 }), { thinkingLevel: 'LOW' });
  assert.deepEqual(level({ mode: 'budget', budget: 4096 }, ['low', 'medium', 'high']), { thinkingLevel: 'MEDIUM' });
  assert.deepEqual(level({ mode: 'budget', budget: 16_384 }), { thinkingLevel: 'HIGH' });
});

test('thinking encoder sends a budget within the range of the model', () => {
  assert.deepEqual(budget({ effort: 'minimal' }), { thinkingBudget: 1024 });
  assert.deepEqual(budget({ effort: 'medium' }), { thinkingBudget: 8192 });
  assert.deepEqual(budget({ effort: 'xhigh' }), { thinkingBudget: 24_576 });
  assert.deepEqual(budget({ mode: 'off' }), { thinkingBudget: 0 });
  assert.deepEqual(budget({ mode: 'off' }, [128, 32_768]), { thinkingBudget: 128 });
  assert.deepEqual(budget({ mode: 'budget', budget: 99_999 }), { thinkingBudget: 24_576 });
  assert.deepEqual(budget({ mode: 'auto' }, [128, 32_768]), { thinkingBudget: -1 });
});

test('thinking encoder asks for thoughts when the client asks for thinking and wants to see them', () => {
  assert.deepEqual(level({ mode: 'auto', show: 'summary' }), { includeThoughts: true });
  assert.deepEqual(level({ effort: 'low', show: 'summary' }), { thinkingLevel: 'LOW', includeThoughts: true });
  assert.deepEqual(level({ effort: 'low', show: 'none' }), { thinkingLevel: 'LOW' });
  assert.deepEqual(budget({ mode: 'off', show: 'summary' }), { thinkingBudget: 0 });
  assert.equal(level({}), undefined);
});

test('thinking encoder asks for thoughts alone only of models that think by default', () => {
  const sent = (thinksByDefault: boolean, dialect: 'chat' | 'responses') => {
    const { body, droppedFields } = encode({ dialect, reasoning: { show: 'summary' } }, { thinksByDefault });
    return [body.generationConfig, droppedFields];
  };
  const thoughts = { thinkingConfig: { includeThoughts: true } };
  assert.deepEqual(sent(true, 'chat'), [thoughts, []]);
  assert.deepEqual(sent(false, 'chat'), [undefined, []]);
  assert.deepEqual(sent(true, 'responses'), [thoughts, []]);
  assert.deepEqual(sent(false, 'responses'), [undefined, ['reasoningStyle']]);
});

test('thinking encoder drops reasoning for models without thinking and reports it', () => {
  const { body, droppedFields: dropped } = encode({ reasoning: { effort: 'high' } }, { thinkingConfig: 'none' });
  assert.equal(body.generationConfig, undefined);
  assert.deepEqual(dropped, ['reasoning']);
});

test('generate request encoder applies the last setting change of the conversation', () => {
  const items = [
    user('a'),
    { kind: 'config_change', effort: 'high' },
    { kind: 'config_change', effort: 'low', format: { kind: 'json' } },
  ] as const;
  assert.deepEqual(config({ items, reasoning: { mode: 'budget', budget: 9 } }), {
    responseMimeType: 'application/json',
    thinkingConfig: { thinkingLevel: 'LOW' },
  });
});

// ---------------------------------------------------------------- structured output

const SCHEMA = { type: 'object', properties: { a: { const: 'x' } }, additionalProperties: false };
const schemaOutput = { format: { kind: 'schema', schema: SCHEMA, name: 'n' } } as const;
const fn: HubTool = { kind: 'function', name: 'f', schema: { type: 'object', properties: {} } };

test('generate request encoder sends JSON Schema, or a Google schema to models without JSON Schema support', () => {
  assert.deepEqual(config({ output: schemaOutput }), {
    responseMimeType: 'application/json',
    responseJsonSchema: { title: 'n', ...SCHEMA },
  });
  assert.deepEqual(config({ output: schemaOutput }, { jsonSchemaTools: false }), {
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', title: 'n', properties: { a: { type: 'STRING', enum: ['x'] } } },
  });
  assert.deepEqual(config({ output: { format: { kind: 'json' } } }), { responseMimeType: 'application/json' });
});

test('generate request encoder sends the schema as an instruction when the model rejects it next to functions', () => {
  const { body } = encode({ output: schemaOutput, tools: [fn] }, { functionsWithSchema: false });
  assert.equal(body.generationConfig, undefined);
  assert.match(JSON.stringify(body.systemInstruction), /JSON Schema.*additionalProperties/);
  assert.ok(config({ output: schemaOutput, tools: [fn] }));
});

// ---------------------------------------------------------------- tools

const tools = (list: HubTool[], overrides: CapabilityOverrides = {}, changes: Partial<HubRequest> = {}) => {
  const { body } = encode({ ...changes, tools: list }, overrides);
  return { tools: body.tools, toolConfig: body.toolConfig };
};

test('tool encoder sends JSON Schema unchanged, or Google parameters to models without JSON Schema support', () => {
  const tool: HubTool = { kind: 'function', name: 'f', description: 'd', schema: SCHEMA };
  assert.deepEqual(tools([tool]).tools, [
    { functionDeclarations: [{ name: 'f', description: 'd', parametersJsonSchema: SCHEMA }] },
  ]);
  assert.deepEqual(tools([tool], { jsonSchemaTools: false }).tools, [
    {
      functionDeclarations: [
        {
          name: 'f',
          description: 'd',
          parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', enum: ['x'] } } },
        },
      ],
    },
  ]);
  assert.deepEqual(tools([fn], { jsonSchemaTools: false }).tools, [{ functionDeclarations: [{ name: 'f' }] }]);
});

test('tool encoder wraps custom tools and describes their grammar', () => {
  const grammar = { syntax: 'lark', definition: 'start: "x"' };
  const [entry] = tools([{ kind: 'custom', name: 'patch', description: 'Patches.', grammar }]).tools as [
    { functionDeclarations: { description: string; parametersJsonSchema: { required: string[] } }[] },
  ];
  assert.match(entry.functionDeclarations[0]?.description ?? '', /^Patches\.\n\n.*lark grammar:\nstart: "x"$/);
  assert.deepEqual(entry.functionDeclarations[0]?.parametersJsonSchema.required, ['input']);
});

test('tool encoder sends built-in tools of other providers as functions', () => {
  for (const builtin of [
    'bash_20250124',
    'text_editor_20250728',
    'memory_20250818',
    'shell',
    'local_shell',
    'apply_patch',
  ]) {
    const [entry] = tools([{ kind: 'builtin', builtin, name: 'tool', raw: {} }]).tools as [
      { functionDeclarations: unknown[] },
    ];
    assert.match(JSON.stringify(entry.functionDeclarations[0]), /"parametersJsonSchema":\{"type":"object"/);
  }
  assert.throws(
    () => tools([{ kind: 'builtin', builtin: 'browser_toolset_20260801', name: 'b', raw: {} }]),
    isApiError('unsupported_parameter', /browser_toolset/),
  );
});

test('generate request encoder flattens namespaces consistently and returns the original names', () => {
  const tool: HubTool = { kind: 'function', name: 'read.file', namespace: 'mcp files', schema: {} };
  const { body, names } = encode({
    tools: [tool],
    toolChoice: { kind: 'named', name: 'read.file', namespace: 'mcp files' },
    items: [
      user('a'),
      { kind: 'tool_call', callId: '1', name: 'read.file', namespace: 'mcp files', form: 'function', args: '{}' },
      { kind: 'tool_result', callId: '1', form: 'function', parts: [] },
    ],
  });
  const text = JSON.stringify(body);
  assert.equal(text.split('mcp_files__read.file').length - 1, 4);
  assert.deepEqual(names.get('mcp_files__read.file'), { name: 'read.file', namespace: 'mcp files' });
});

const server = (tool: Extract<HubTool, { kind: 'server' }>['tool']): HubTool => ({
  kind: 'server',
  tool,
  options: {},
  raw: {},
});

test('tool encoder maps hosted tools, and sets the flag for functions next to them', () => {
  assert.deepEqual(tools([server('web_search'), server('web_fetch'), server('code_exec')]), {
    tools: [{ googleSearch: {} }, { urlContext: {} }, { codeExecution: {} }],
    toolConfig: undefined,
  });
  assert.deepEqual(tools([fn, server('web_search')]).toolConfig, { includeServerSideToolInvocations: true });
});

test('tool encoder rejects a forced hosted tool, which the provider can only offer', () => {
  assert.throws(
    () => tools([fn, server('web_search')], {}, { toolChoice: { kind: 'hosted', tool: 'web_search' } }),
    isApiError('unsupported_parameter', /web_search.*not forced/),
  );
});

test('tool encoder maps the tool choice to a calling mode', () => {
  const mode = (changes: Partial<HubRequest>, list: HubTool[] = [fn]) =>
    (tools(list, {}, changes).toolConfig as { functionCallingConfig?: unknown } | undefined)?.functionCallingConfig;
  assert.equal(mode({}), undefined);
  assert.deepEqual(mode({ toolChoice: { kind: 'none' } }), { mode: 'NONE' });
  assert.deepEqual(mode({ toolChoice: { kind: 'required' } }), { mode: 'ANY' });
  assert.deepEqual(mode({ toolChoice: { kind: 'named', name: 'f' } }), { mode: 'ANY', allowedFunctionNames: ['f'] });
  assert.deepEqual(mode({ allowedTools: { mode: 'auto', names: [{ name: 'f' }] } }), {
    mode: 'VALIDATED',
    allowedFunctionNames: ['f'],
  });
  assert.deepEqual(mode({ allowedTools: { mode: 'required', names: [{ name: 'f' }] } }), {
    mode: 'ANY',
    allowedFunctionNames: ['f'],
  });
  assert.deepEqual(mode({}, [{ ...fn, strict: true } as HubTool]), { mode: 'VALIDATED' });
  assert.equal(mode({ toolChoice: { kind: 'required' } }, []), undefined);
});

test('tool encoder offers tools that the conversation adds, once each', () => {
  const added = { ...fn, name: 'g' } as HubTool;
  const items = [user('a'), { kind: 'tool_change', add: [added, fn] }] as const;
  const { body } = encode({ tools: [fn], items });
  const [entry] = body.tools as [{ functionDeclarations: { name: string }[] }];
  assert.deepEqual(
    entry.functionDeclarations.map((declared) => declared.name),
    ['f', 'g'],
  );
});
