/** The validation rules of each provider that a request alone can break. Written without the codecs. */
import assert from 'node:assert/strict';
import type { UpstreamDialect } from '../../src/rules/index.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export const checkRules = (upstream: UpstreamDialect, body: unknown): void => RULES[upstream](objectOf(body));

const RULES: Readonly<Record<UpstreamDialect, (body: Json) => void>> = {
  messages: checkMessages,
  chat: checkChat,
  responses: checkResponses,
  generate: checkGenerate,
  converse: checkConverse,
};

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

// ---------------------------------------------------------------- messages

function checkMessages(body: Json): void {
  const messages = listOf(body.messages);
  assert.equal(messages[0]?.role, 'user', 'the first turn is the user');
  let open: string[] = [];
  let before: unknown;
  for (const message of messages) {
    assert.notEqual(message.role, before, 'turns alternate');
    before = message.role;
    const content = listOf(message.content);
    assert.ok(content.length > 0, 'no empty message');
    for (const block of content) if (block.type === 'text') assert.match(String(block.text), /\S/, 'no empty text');
    if (message.role === 'assistant') {
      open = content.filter((block) => block.type === 'tool_use').map((block) => String(block.id));
      for (const block of content) if (block.type === 'tool_use') checkUse(block);
    } else {
      const results = content.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
      assert.deepEqual(results, open, 'every call has its result in the next message, in order');
      assert.ok(
        content.slice(0, results.length).every((block) => block.type === 'tool_result'),
        'results come first',
      );
      open = [];
    }
  }
  assert.deepEqual(open, [], 'every call has a result');
  for (const tool of listOf(body.tools)) assert.match(String(tool.name), NAME);
  const budget = objectOf(body.thinking).budget_tokens;
  if (typeof budget === 'number')
    assert.ok(budget >= 1_024 && budget < Number(body.max_tokens), 'the budget fits into max_tokens');
  const forced = ['any', 'tool'].includes(String(objectOf(body.tool_choice).type));
  assert.ok(!(forced && budget !== undefined), 'no forced call together with a budget');
  assert.ok(Number(body.max_tokens) >= 0);
}

function checkUse(block: Json): void {
  assert.match(String(block.id), /^[a-zA-Z0-9_-]+$/, 'call id');
  assert.match(String(block.name), NAME, 'tool name');
  assert.ok(
    typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input),
    'input is an object',
  );
}

// ---------------------------------------------------------------- chat

function checkChat(body: Json): void {
  let open: unknown[] = [];
  for (const message of listOf(body.messages)) {
    if (message.role === 'tool') {
      assert.equal(message.tool_call_id, open.shift(), 'results follow their calls, in order');
      continue;
    }
    assert.deepEqual(open, [], 'every call has its result before the next message');
    if (message.role !== 'assistant') continue;
    open = listOf(message.tool_calls).map((call) => call.id);
    assert.ok(message.content !== null || open.length > 0 || message.refusal, 'no empty message');
    for (const call of listOf(message.tool_calls)) assert.match(String(objectOf(call.function).name), NAME);
  }
  assert.deepEqual(open, [], 'every call has a result');
  assert.ok(listOf(body.stop).length <= 4);
}

// ---------------------------------------------------------------- responses

function checkResponses(body: Json): void {
  const calls = new Set<unknown>();
  const input = listOf(body.input);
  for (const [n, item] of input.entries()) {
    if (item.type === 'function_call') {
      calls.add(item.call_id);
      assert.ok(String(item.call_id).length <= 64 && NAME.test(String(item.name)), 'ids and names');
      assert.equal(item.id, undefined, 'only reasoning items have ids');
    }
    if (item.type === 'function_call_output') assert.ok(calls.has(item.call_id), 'a result follows its call');
    if (item.type !== 'reasoning') continue;
    const next = input[n + 1];
    const own =
      next !== undefined &&
      (next.type === 'message' ? next.role === 'assistant' : next.type !== 'function_call_output');
    assert.ok(own, 'an item of the model follows reasoning');
    assert.ok(item.id && item.encrypted_content, 'reasoning has an id and its encrypted content');
  }
  assert.equal(body.store, false);
  assert.ok(body.max_output_tokens === undefined || Number(body.max_output_tokens) >= 16);
  for (const name of ['stop', 'n', 'seed', 'top_k'])
    assert.ok(!(name in body), `${name} is not a field of this dialect`);
}

// ---------------------------------------------------------------- generate

function checkGenerate(body: Json): void {
  const contents = listOf(body.contents);
  assert.equal(contents[0]?.role, 'user', 'the first turn is the user');
  let before: unknown;
  let open: unknown[] = [];
  for (const content of contents) {
    assert.notEqual(content.role, before, 'turns alternate');
    before = content.role;
    const parts = listOf(content.parts);
    assert.ok(parts.length > 0, 'no empty content');
    for (const part of parts) assert.ok(part.text !== '' || part.thoughtSignature, 'no empty part');
    const results = parts.filter((part) => part.functionResponse).map((part) => objectOf(part.functionResponse).name);
    assert.deepEqual(results, open, 'results come directly after their calls, in order');
    open = parts.filter((part) => part.functionCall).map((part) => objectOf(part.functionCall).name);
    for (const name of open) assert.match(String(name), /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/);
  }
  assert.deepEqual(open, [], 'every call has a result');
  assert.ok(listOf(objectOf(body.generationConfig).stopSequences).length <= 5);
}

// ---------------------------------------------------------------- converse

function checkConverse(body: Json): void {
  const uses = (block: Json) => objectOf(block.toolUse);
  const results = (block: Json) => objectOf(block.toolResult);
  let open: unknown[] = [];
  let hasCalls = false;
  for (const [n, { role, content }] of listOf(body.messages).entries()) {
    const blocks = listOf(content);
    assert.equal(role, n % 2 === 0 ? 'user' : 'assistant', 'turns alternate, and the first is the user');
    assert.ok(blocks.length > 0, 'no empty message');
    for (const block of blocks) {
      assert.equal(Object.keys(block).length, 1, 'a block is a union');
      if ('text' in block) assert.match(String(block.text), /\S/, 'no empty text');
      if (!('toolUse' in block)) continue;
      assert.match(String(uses(block).toolUseId), NAME, 'call id');
      assert.match(String(uses(block).name), NAME, 'tool name');
    }
    if (role === 'user') {
      const given = blocks.filter((block) => 'toolResult' in block).map((block) => results(block).toolUseId);
      assert.deepEqual(given, open, 'every call has its result in the next message, in order');
    }
    open = blocks.filter((block) => 'toolUse' in block).map((block) => uses(block).toolUseId);
    hasCalls ||= open.length > 0;
  }
  assert.deepEqual(open, [], 'every call has a result');
  assert.ok(!hasCalls || listOf(objectOf(body.toolConfig).tools).length > 0, 'calls need a list of tools');
  const { temperature = 0, topP = 0, maxTokens = 1 } = objectOf(body.inferenceConfig);
  assert.ok(Number(temperature) <= 1 && Number(topP) <= 1 && Number(maxTokens) >= 1);
}
