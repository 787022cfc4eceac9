import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeStop } from './stop-reason.ts';
import { decodeUsage, encodeUsage, mergeUsage } from './usage.ts';

const read = (...wires: object[]) => {
  const counts = {};
  for (const wire of wires) mergeUsage(counts, { ...wire });
  return decodeUsage(counts, true, 0);
};

test('decodeUsage adds thoughts to output and tool prompts to input', () => {
  const wire = {
    promptTokenCount: 50,
    toolUsePromptTokenCount: 7,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    cachedContentTokenCount: 10,
  };
  assert.deepEqual(read(wire), { input: 57, cacheRead: 10, cacheWrite: 0, toolPrompt: 7, output: 50, reasoning: 30 });
});

test('mergeUsage replaces counts and keeps those that a later chunk omits', () => {
  const usage = read(
    { promptTokenCount: 5 },
    { promptTokenCount: 5, candidatesTokenCount: 2 },
    { thoughtsTokenCount: 4 },
  );
  assert.deepEqual([usage.input, usage.output, usage.reasoning], [5, 6, 4]);
});

test('decodeUsage marks usage without counts as estimated, but not zeros', () => {
  assert.equal(read({ promptTokenCount: 0, candidatesTokenCount: 0 }).estimated, undefined);
  assert.equal(read({}).estimated, true);
  assert.equal(read({ promptTokenCount: 5 }).estimated, true);
  assert.equal(decodeUsage({ prompt: 5 }, false, 0).estimated, undefined);
});

test('decodeUsage reverses encodeUsage for all counts', () => {
  const count = fc.nat(1_000_000);
  fc.assert(
    fc.property(count, count, count, count, count, (prompt, tool, cached, candidates, thoughts) => {
      const usage = {
        input: prompt + tool,
        cacheRead: Math.min(cached, prompt + tool),
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

test('encodeUsage never writes negative counts', () => {
  const wire = encodeUsage({ input: 1, cacheRead: 0, cacheWrite: 0, toolPrompt: 5, output: 1, reasoning: 9 });
  assert.deepEqual([wire.promptTokenCount, wire.candidatesTokenCount], [0, 0]);
});

test('decodeStop returns tool for a complete call, unless the reply was truncated or filtered', () => {
  const call = { call: true, content: true };
  assert.equal(decodeStop('STOP', call), 'tool');
  assert.equal(decodeStop('OTHER', call), 'tool');
  assert.equal(decodeStop('MAX_TOKENS', call), 'length');
  assert.equal(decodeStop('SAFETY', call), 'filter');
});

test('decodeStop maps every finish reason, including unknown ones', () => {
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
