import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { StepBudget } from '../../core/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { findingsFor, scanRequest } from '../request-scan.ts';
import { findGoogleIds, findProviderIds } from './provider-ids.ts';

const find = (body: object | string, dialect: Dialect = 'responses') =>
  idsIn(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), dialect);

function idsIn(body: Buffer, dialect: Dialect) {
  const operation = `${dialect}.create` as const;
  const findings = findingsFor(operation, dialect, new StepBudget());
  const members = scanRequest(body, new Set(['input', 'tools', 'conversation', 'messages']), {
    operation,
    findings,
    steps: findings.steps,
  });
  return dialect === 'generate' ? findGoogleIds(body) : findProviderIds(body, dialect, { members, findings });
}

test('findProviderIds finds references to items, with and without a type', () => {
  const input = [
    { role: 'user', content: 'hi' },
    { type: 'item_reference', id: 'msg_1' },
    { id: 'msg_2' },
    { type: null, id: 'msg_3' },
    { type: 'message', id: 'msg_4', role: 'assistant', content: [] },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{"file_id":"x"}' },
  ];
  assert.deepEqual(find({ input })?.references, ['msg_1', 'msg_2', 'msg_3']);
  assert.deepEqual(find({ input: [{ id: 'msg_2' }] })?.references, ['msg_2']);
});

test('findProviderIds finds containers of tools', () => {
  const tools = [
    { type: 'code_interpreter', container: 'cntr_1' },
    { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_2' } },
  ];
  assert.deepEqual(find({ input: 'x', tools }), { references: ['cntr_1', 'cntr_2'], objectsIn: undefined });
});

for (const [about, body, dialect, field] of [
  [
    'a file of an input',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    'responses',
    'input',
  ],
  [
    'an image of a tool result',
    { input: [{ type: 'function_call_output', output: [{ type: 'input_image', file_id: 'f' }] }] },
    'responses',
    'input',
  ],
  ['a vector store', { tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] }, 'responses', 'tools'],
  [
    'files of a container',
    { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }] },
    'responses',
    'tools',
  ],
  ['a mask', { tools: [{ type: 'image_generation', input_image_mask: { file_id: 'f' } }] }, 'responses', 'tools'],
  ['a conversation', { input: 'x', conversation: { id: 'conv_1' } }, 'responses', 'conversation'],
  [
    'a file of a chat',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    'chat',
    'messages',
  ],
  [
    'a file of messages',
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
    'messages',
    'messages',
  ],
] as const)
  test(`findProviderIds finds ${about}`, () => {
    assert.equal(find(body, dialect)?.objectsIn, field);
  });

test('findProviderIds finds ids whose names are written with escapes', () => {
  assert.deepEqual(find('{"input":[{"type":"item\\u005freference","id":"msg_1"}]}')?.references, ['msg_1']);
  assert.equal(find('{"\\u0063onversation":"conv_1","input":"x"}')?.objectsIn, 'conversation');
  assert.equal(find('{"input":[{"content":[{"type":"input_file","file\\u005Fid":"f"}]}]}')?.objectsIn, 'input');
});

test('findProviderIds ignores history, schemas and texts that only look like ids', () => {
  const citation = { type: 'file_citation', file_id: 'f', index: 1 };
  const body = {
    input: [
      { role: 'assistant', content: [{ type: 'output_text', text: '"file_id"', annotations: [citation] }] },
      { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', outputs: [] },
      { type: 'file_search_call', id: 'fs_1', results: [{ file_id: 'f', text: 'x' }] },
    ],
    tools: [
      { type: 'function', name: 'f', parameters: { properties: { file_id: { type: 'string' }, container: {} } } },
      { type: 'code_interpreter', container: { type: 'auto' } },
    ],
    conversation: null,
  };
  assert.equal(find(body), undefined);
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: { file_id: 'f' } }] },
  ];
  assert.equal(find({ messages }, 'messages'), undefined);
  assert.equal(find({ input: 'no id at all', tools: [] }), undefined);
});

test('findProviderIds finds caches, files, stores and tuned models of generate-content requests', () => {
  const part = (fileUri: string) => ({ contents: [{ parts: [{ text: 'a' }, { fileData: { fileUri } }] }] });
  for (const [body, field] of [
    [{ cachedContent: 'cachedContents/a' }, 'cachedContent'],
    [{ cached_content: 'cachedContents/a' }, 'cached_content'],
    ['{"c\\u0061chedContent":"cachedContents/a"}', 'cachedContent'],
    [part('https://generativelanguage.googleapis.com/v1beta/files/a'), 'contents'],
    [part('HTTPS://GenerativeLanguage.GoogleAPIs.com./v1beta/files/a'), 'contents'],
    [part('https://proxy.example/gemini/v1beta/files/a'), 'contents'],
    [part('files/a'), 'contents'],
    [part('gs://bucket/a'), 'contents'],
    [{ systemInstruction: { parts: [{ file_data: { file_uri: 'files/a' } }] } }, 'systemInstruction'],
    [{ tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } }] }, 'tools'],
    [{ generateContentRequest: { model: 'tunedModels/a' } }, 'generateContentRequest'],
    [{ generateContentRequest: { cachedContent: 'cachedContents/a' } }, 'generateContentRequest'],
    [{ requests: [{ content: part('files/a').contents[0] }] }, 'requests'],
  ] as const)
    assert.deepEqual(
      find(body, 'generate'),
      // Only where a request for a reply names nothing else, it may be the caller's.
      { references: [], objectsIn: field, ...(field.startsWith('cached') && { cache: 'a' }) },
      JSON.stringify(body),
    );
  for (const body of [
    { cachedContent: 'cachedContents/a', cached_content: 'cachedContents/b' },
    { cachedContent: 'cachedContents/a', ...part('files/a') },
    { cachedContent: 'projects/p/locations/l/cachedContents/a' },
    { cachedContent: 'cachedContents/a/../b' },
  ])
    assert.deepEqual(Object.keys(find(body, 'generate') ?? {}), ['references', 'objectsIn'], JSON.stringify(body));
  for (const body of [
    { cachedContent: null },
    part('https://www.youtube.com/watch?v=a'),
    { contents: [{ parts: [{ functionCall: { name: 'f', args: { fileData: { fileUri: 'files/a' } } } }] }] },
    { contents: [{ parts: [{ text: '"cachedContent" and tunedModels/a' }] }] },
    { tools: [{ functionDeclarations: [{ parameters: { properties: { fileData: { fileUri: 'files/a' } } } }] }] },
  ])
    assert.equal(find(body, 'generate'), undefined, JSON.stringify(body));
});

test('the scan watches names wherever they stand, also in what no table knows', () => {
  const inside = fc.constantFrom(
    'content',
    'file',
    'unknown',
    'input',
    'source',
    'items',
    'file\\u0069d',
    'x'.repeat(50),
  );
  fc.assert(
    fc.property(fc.array(inside, { maxLength: 8 }), fc.boolean(), fc.boolean(), (names, isEscaped, isList) => {
      const file = isEscaped ? '{"f\\u0069le_id":"f"}' : '{"type":"file","file_id":"f"}';
      const body = names.reduce((text, name) => `{"${name}":${isList ? `[${text}]` : text}}`, file);
      const findings = findingsFor('messages.create', 'messages', new StepBudget());
      scanRequest(Buffer.from(`{"messages":[${body}]}`), new Set(), {
        operation: 'messages.create',
        findings,
        steps: findings.steps,
      });
      assert.equal(findings.isWatched, true);
    }),
  );
});
