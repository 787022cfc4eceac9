/** Values that no table knows: settings of style pass to a provider that has them and are named elsewhere; tools follow the table of tools. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { ClientDialect, UpstreamDialect } from '../../src/rules/index.ts';
import { targetFor } from './dialect-pairs.ts';
import { SMALLEST } from './probes.ts';

type Json = Record<string, unknown>;
const convert = (client: Exclude<ClientDialect, 'generate' | 'images'>, upstream: UpstreamDialect, more: Json) => {
  const pair = pairOf({ client, upstream });
  const request = pair.client.decodeRequest({ model: 'm', ...SMALLEST[client], ...more }, { headers: {} });
  return encodeRequestFor(pair, request, targetFor(upstream));
};
const image = (detail: string) => ({
  messages: [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail } }] },
  ],
});

for (const [client, upstream, more, member, name] of [
  ['chat', 'responses', { verbosity: 'terse' }, '"verbosity":"terse"', 'verbosity'],
  ['responses', 'chat', { text: { verbosity: 'terse' } }, '"verbosity":"terse"', 'text.verbosity'],
  ['chat', 'responses', image('xhigh'), '"detail":"xhigh"', 'image_url.detail'],
] as const)
  test(`a new value of ${name} passes to a provider that has it, and is named elsewhere`, () => {
    const kept = convert(client, upstream, more);
    assert.ok(JSON.stringify(kept.body).includes(member), JSON.stringify(kept.body));
    assert.deepEqual(kept.dropped, []);
    assert.deepEqual(convert(client, 'messages', more).dropped, [name]);
  });

test('a new way of thinking, style of summaries or display of thoughts is named, and shows thoughts', () => {
  const { body, dropped } = convert('responses', 'messages', { reasoning: { effort: 'low', summary: 'full' } });
  assert.deepEqual(dropped, ['reasoning.summary']);
  assert.equal((body.thinking as Json).display, 'summarized');
  const over = (thinking: Json) => {
    const { body, dropped } = convert('messages', 'responses', { thinking });
    return [body.reasoning, dropped];
  };
  assert.deepEqual(over({ type: 'adaptive', display: 'full' }), [{ summary: 'auto' }, ['thinking.display']]);
  assert.deepEqual(over({ type: 'dreaming' }), [{ summary: 'auto' }, ['thinking.type']]);
});

test('audio of any format passes to a provider that takes it', () => {
  const input_audio = { format: 'flac', data: 'AAAA' };
  const { body } = convert('chat', 'generate', {
    messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio }] }],
  });
  assert.deepEqual((body.contents as { parts: Json[] }[])[0]?.parts, [
    { inlineData: { mimeType: 'audio/flac', data: 'AAAA' } },
  ]);
});

test('a chat tool of another type is dropped or refused as in the other dialects', () => {
  const { body, dropped } = convert('chat', 'messages', { tools: [{ type: 'code_browser', code_browser: {} }] });
  assert.deepEqual([body.tools, dropped], [undefined, ['tools']]);
  const search = convert('chat', 'messages', { tools: [{ type: 'web_search' }] }).body.tools as Json[];
  assert.equal(search[0]?.type, 'web_search_20250305');
  for (const type of ['file_search', 'computer', 'mcp'])
    assert.throws(
      () => convert('chat', 'generate', { tools: [{ type }] }),
      new RegExp(`tools\\[0\\]: the tool '${type}'`),
    );
});
