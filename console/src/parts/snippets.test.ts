import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SnippetInput, snippetsFor } from './snippets.ts';

const input = (style: SnippetInput['style']): SnippetInput => ({
  origin: 'https://gw.example',
  style,
  model: 'model-1',
  key: '$DRAGOMAN_KEY',
});
const byName = (style: SnippetInput['style']) =>
  Object.fromEntries(snippetsFor(input(style)).map(({ name, ...rest }) => [name, rest]));

test('clients of the generate-content API are offered only to keys of such a group', () => {
  const responses = byName('responses');
  assert.equal(responses.Google?.text, undefined);
  assert.equal(responses['Gemini CLI']?.text, undefined);
  assert.deepEqual(responses.Google?.styles, ['generate-content']);
  assert.match(byName('generate-content').Google?.text ?? '', /base_url="https:\/\/gw\.example"/);
});

test('every style serves the clients whose dialect the gateway converts', () => {
  for (const style of ['responses', 'messages', 'generate-content'] as const) {
    const snippets = byName(style);
    for (const name of ['curl', 'OpenAI', 'Anthropic', 'Claude Code', 'Codex'])
      assert.ok(snippets[name]?.text, `${name} with a key of a ${style} group`);
  }
});

test('each client gets the base URL that it expects', () => {
  const snippets = byName('messages');
  assert.match(snippets.OpenAI?.text ?? '', /base_url="https:\/\/gw\.example\/v1"/);
  assert.match(snippets.Anthropic?.text ?? '', /base_url="https:\/\/gw\.example"/);
  assert.match(snippets['Claude Code']?.text ?? '', /ANTHROPIC_BASE_URL=https:\/\/gw\.example\n/);
  assert.match(snippets.Codex?.text ?? '', /base_url="https:\/\/gw\.example\/v1"/);
});

test('curl uses the native endpoint of the group', () => {
  assert.match(byName('messages').curl?.text ?? '', /gw\.example\/v1\/messages -H "x-api-key: \$DRAGOMAN_KEY"/);
  assert.match(byName('responses').curl?.text ?? '', /gw\.example\/v1\/responses/);
  assert.match(byName('generate-content').curl?.text ?? '', /\/v1beta\/models\/model-1:generateContent/);
});
