import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dialect } from '../rules/index.ts';
import { withClientField } from './client-field.ts';
import { pairOf } from './index.ts';

const BODIES = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'hi' },
    ],
    max_tokens: 100,
    temperature: 1,
    user: 'u1',
    reasoning_effort: 'high',
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
  },
  responses: {
    model: 'm',
    input: 'hi',
    instructions: 'Be short.',
    max_output_tokens: 100,
    reasoning: { effort: 'low' },
  },
} as const;

const clientParam = (client: keyof typeof BODIES, upstream: Dialect, param: string): string | undefined => {
  const pair = pairOf({ client, upstream });
  const request = pair.client.decodeRequest(BODIES[client], { headers: {} });
  const error = withClientField(pair, request, { code: 'invalid_value', message: `Bad ${param}.`, param });
  assert.equal(error.message, `Bad ${param}.`, 'the message stays');
  return error.param;
};

test('withClientField translates a field that both dialects have', () => {
  assert.equal(clientParam('chat', 'responses', 'input[3].content'), 'messages');
  assert.equal(clientParam('chat', 'responses', 'temperature'), 'temperature');
  assert.equal(clientParam('chat', 'responses', 'reasoning.effort'), 'reasoning_effort');
  assert.equal(clientParam('chat', 'responses', 'tools[0].parameters'), 'tools');
  assert.equal(clientParam('chat', 'responses', 'text.format.schema'), 'response_format');
  assert.equal(clientParam('chat', 'responses', 'instructions'), 'messages');
  assert.equal(clientParam('chat', 'responses', 'model'), 'model');
  assert.equal(clientParam('chat', 'generate', 'generation_config.temperature'), 'temperature');
  assert.equal(clientParam('responses', 'generate', 'contents[0].parts[1]'), 'input');
  assert.equal(clientParam('responses', 'generate', 'generationConfig.thinkingConfig.thinkingLevel'), 'reasoning');
  assert.equal(clientParam('responses', 'generate', 'generation_config.max_output_tokens'), 'max_output_tokens');
  assert.equal(clientParam('responses', 'generate', 'system_instruction.parts[0]'), 'instructions');
});

test('withClientField omits a field that the client did not send or has two names for', () => {
  for (const param of ['top_p', 'max_output_tokens', 'include[0]', 'store', 'text.verbosity', 'tool_choice', 'inputs'])
    assert.equal(clientParam('chat', 'responses', param), undefined, param);
  assert.equal(clientParam('chat', 'responses', 'safety_identifier'), undefined);
  assert.equal(clientParam('responses', 'generate', 'tools[0]'), undefined);
});
