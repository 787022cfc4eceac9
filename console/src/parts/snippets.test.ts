import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientInput } from '../../clients/index.ts';
import { snippetsFor } from './snippets.ts';

const input = (style: ClientInput['style'], key = '$DRAGOMAN_KEY'): ClientInput => ({
  origin: 'https://gw.example',
  style,
  model: 'model-1',
  key,
});
const byName = (style: ClientInput['style'], key?: string) =>
  Object.fromEntries(snippetsFor(input(style, key)).map(({ name, ...rest }) => [name, rest]));

test('clients of the generate-content API are offered only to keys of such a group', () => {
  const responses = byName('responses');
  for (const name of ['Google Python', 'Google TypeScript', 'Gemini CLI']) {
    assert.equal(responses[name]?.text, undefined, name);
    assert.deepEqual(responses[name]?.styles, ['generate-content'], name);
  }
  assert.match(byName('generate-content')['Google Python']?.text ?? '', /"base_url": "https:\/\/gw\.example"/);
});

test('every style serves the clients whose dialect the gateway converts', () => {
  for (const style of ['responses', 'messages', 'generate-content'] as const) {
    const snippets = byName(style);
    const unserved = Object.entries(snippets).filter(([, { text }]) => text === undefined);
    assert.deepEqual(
      unserved.map(([name]) => name),
      style === 'generate-content' ? [] : ['Gemini CLI', 'Google TypeScript', 'Google Python'],
    );
  }
});

test('base URLs have the version that the client does not add itself', () => {
  const snippets = byName('messages');
  assert.match(snippets['OpenAI Python']?.text ?? '', /base_url="https:\/\/gw\.example\/v1"/);
  assert.match(snippets['Anthropic Python']?.text ?? '', /base_url="https:\/\/gw\.example"/);
  assert.match(snippets['Claude Code']?.text ?? '', /ANTHROPIC_BASE_URL=https:\/\/gw\.example\n/);
  assert.match(snippets.Codex?.text ?? '', /base_url="https:\/\/gw\.example\/v1"/);
});

test('curl uses the native endpoint of the group', () => {
  assert.match(byName('messages').curl?.text ?? '', /gw\.example\/v1\/messages' -H "x-api-key: \$DRAGOMAN_KEY"/);
  assert.match(byName('responses').curl?.text ?? '', /gw\.example\/v1\/responses/);
  assert.match(byName('generate-content').curl?.text ?? '', /\/v1beta\/models\/model-1:streamGenerateContent/);
});

test('snippets contain the value of the key where it is known, and read it from the environment elsewhere', () => {
  for (const [name, { text = '' }] of Object.entries(byName('generate-content', 'dg-secret'))) {
    assert.ok(text.includes('dg-secret'), name);
    assert.doesNotMatch(text, /process\.env|os\.environ|\$DRAGOMAN_KEY/, name);
  }
  for (const [name, { text = '' }] of Object.entries(byName('generate-content')))
    if (text.includes('os.environ')) assert.match(text, /^import os\n/, name);
});

test('snippets of agent CLIs end with the command that opens the CLI', () => {
  const snippets = byName('generate-content');
  assert.match(snippets['Claude Code']?.text ?? '', /\nclaude$/);
  assert.match(snippets['Gemini CLI']?.text ?? '', /\ngemini -m model-1$/);
  assert.match(snippets.opencode?.text ?? '', /\nopencode -m dragoman\/model-1$/);
});
