import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withClientField } from './client-field.ts';
import { codecOf } from './index.ts';

type Named = Parameters<typeof codecOf>[0];

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

const blamed = (client: keyof typeof BODIES, upstream: Named, param: string): string | undefined => {
  const pair = { client: codecOf(client), upstream: codecOf(upstream) };
  const request = pair.client.client.decodeRequest(BODIES[client], { headers: {} });
  const error = withClientField(pair, request, { code: 'invalid_value', message: `Bad ${param}.`, param });
  assert.equal(error.message, `Bad ${param}.`, 'the words stay');
  return error.param;
};

test('a field that both sides have is named as the client calls it', () => {
  assert.equal(blamed('chat', 'responses', 'input[3].content'), 'messages');
  assert.equal(blamed('chat', 'responses', 'temperature'), 'temperature');
  assert.equal(blamed('chat', 'responses', 'reasoning.effort'), 'reasoning_effort');
  assert.equal(blamed('chat', 'responses', 'tools[0].parameters'), 'tools');
  assert.equal(blamed('chat', 'responses', 'text.format.schema'), 'response_format');
  assert.equal(blamed('chat', 'responses', 'instructions'), 'messages');
  assert.equal(blamed('chat', 'responses', 'model'), 'model');
  assert.equal(blamed('chat', 'generate', 'generation_config.temperature'), 'temperature');
  assert.equal(blamed('responses', 'generate', 'contents[0].parts[1]'), 'input');
  assert.equal(blamed('responses', 'generate', 'generationConfig.thinkingConfig.thinkingLevel'), 'reasoning');
  assert.equal(blamed('responses', 'generate', 'generation_config.max_output_tokens'), 'max_output_tokens');
  assert.equal(blamed('responses', 'generate', 'system_instruction.parts[0]'), 'instructions');
});

test('a field that the client has not sent, or has two names for, is not named', () => {
  for (const param of ['top_p', 'max_output_tokens', 'include[0]', 'store', 'text.verbosity', 'tool_choice', 'inputs'])
    assert.equal(blamed('chat', 'responses', param), undefined, param);
  assert.equal(blamed('chat', 'responses', 'safety_identifier'), undefined);
  assert.equal(blamed('responses', 'generate', 'tools[0]'), undefined);
});
