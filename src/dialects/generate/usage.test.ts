import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeStop } from './stop-reason.ts';
import { countUsage, decodeUsage, encodeUsage } from './usage.ts';

const read = (...wires: object[]) => {
  const counts = {};
  for (const wire of wires) countUsage(counts, { ...wire });
  return decodeUsage(counts, true, 0);
};

test('thoughts and tool prompts are added to their side once', () => {
  const wire = {
    promptTokenCount: 50,
    toolUsePromptTokenCount: 7,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    cachedContentTokenCount: 10,
  };
  assert.deepEqual(read(wire), { input: 57, cacheRead: 10, cacheWrite: 0, toolPrompt: 7, output: 50, reasoning: 30 });
});

test('a later chunk replaces counts and may leave some out', () => {
  const usage = read(
    { promptTokenCount: 5 },
    { promptTokenCount: 5, candidatesTokenCount: 2 },
    { thoughtsTokenCount: 4 },
  );
  assert.deepEqual([usage.input, usage.output, usage.reasoning], [5, 6, 4]);
});

test('zero is reported, absent is not', () => {
  assert.equal(read({ promptTokenCount: 0, candidatesTokenCount: 0 }).estimated, undefined);
  assert.equal(read({}).estimated, true);
  assert.equal(read({ promptTokenCount: 5 }).estimated, true);
  assert.equal(decodeUsage({ prompt: 5 }, false, 0).estimated, undefined);
});

test('law: counts survive being written and read again', () => {
  const count = fc.nat(1_000_000);
  fc.assert(
    fc.property(count, count, count, count, count, (prompt, tool, cached, candidates, thoughts) => {
      const usage = {
        input: prompt + tool,
        cacheRead: cached,
        cacheWrite: 0,
        toolPrompt: tool,
        output: candidates + thoughts,
        reasoning: thoughts,
      };
      const wire = encodeUsage(usage);
      assert.equal(wire.totalTokenCount, usage.input + usage.output);
      const back = read(wire);
      assert.deepEqual({ ...usage, ...back }, usage);
    }),
  );
});

test('negative differences are never written', () => {
  const wire = encodeUsage({ input: 1, cacheRead: 0, cacheWrite: 0, toolPrompt: 5, output: 1, reasoning: 9 });
  assert.deepEqual([wire.promptTokenCount, wire.candidatesTokenCount], [0, 0]);
});

test('a finished call makes the answer a call, unless it was cut or filtered', () => {
  const call = { call: true, content: true };
  assert.equal(decodeStop('STOP', call), 'tool');
  assert.equal(decodeStop('OTHER', call), 'tool');
  assert.equal(decodeStop('MAX_TOKENS', call), 'length');
  assert.equal(decodeStop('SAFETY', call), 'filter');
});

test('every reason the provider gives has a meaning, new ones too', () => {
  const nothing = { call: false, content: false };
  const text = { call: false, content: true };
  const cases: [string, string][] = [
    ['STOP', 'end'],
    ['RECITATION', 'filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'filter'],
    ['MODEL_ARMOR', 'filter'],
    ['CONTINUATION', 'continuation'],
    ['TOO_MANY_TOOL_CALLS', 'malformed_call'],
    ['MISSING_THOUGHT_SIGNATURE', 'malformed_call'],
    ['OTHER', 'filter'],
    ['INVENTED_TOMORROW', 'filter'],
  ];
  for (const [reason, stop] of cases) assert.equal(decodeStop(reason, nothing), stop, reason);
  assert.equal(decodeStop('OTHER', text), 'end');
});
