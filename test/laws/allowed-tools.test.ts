/** Conversions of requests with very many tools, all of them in the list of allowed tools: the cost must stay linear. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamTarget } from '../../src/dialects/codec.ts';
import { codecOf } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { target as chatTarget } from '../support/dialects/chat.ts';
import { target as generateTarget } from '../support/dialects/generate.ts';
import { target as messagesTarget } from '../support/dialects/messages.ts';
import { aTarget } from '../support/dialects/responses.ts';
import { someOf } from '../support/long-test.ts';

/** With a search per name these are 3.6 thousand million comparisons. */
const COUNT = 60_000;
const names = Array.from({ length: COUNT }, (_, n) => `tool_${n}`);
const named = (name: string) => ({ type: 'function', function: { name } });
const body = {
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  tools: names.map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  })),
  tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: names.map(named) } },
};

const TARGETS: Readonly<Record<Dialect, () => UpstreamTarget>> = {
  chat: () => chatTarget(),
  messages: () => messagesTarget(),
  responses: () => aTarget(),
  generate: () => generateTarget(),
};

for (const [dialect, target] of someOf(Object.entries(TARGETS) as [Dialect, () => UpstreamTarget][], 1))
  test(`${COUNT} allowed tools are converted from chat to ${dialect}`, () => {
    const request = codecOf('chat').client.decodeRequest(body, { headers: {}, model: 'm' });
    assert.equal(request.allowedTools?.names.length, COUNT);
    const encoded = JSON.stringify(codecOf(dialect).upstream.encodeRequest(request, target()).body);
    assert.ok(encoded.includes(`tool_${COUNT - 1}`));
  });
