import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { samples } from '../../../test/support/token-corpus.ts';
import type { Model } from '../../catalog/index.ts';
import { StepBudget } from '../../core/index.ts';
import type { Caller } from '../caller.ts';
import { boundsOfRequest } from './body-bounds.ts';
import { type CallFacts, requestFacts } from './call-facts.ts';

const group = (style: string) => ({ style }) as unknown as Caller['group'];
const model = (context: number | null, maxOutput: number | null = null) =>
  ({ name: 'm', line: { context, maxOutput, capabilities: {} } }) as unknown as Model;
const facts = (more: Partial<CallFacts>): CallFacts => ({
  operation: 'responses.create',
  model: model(200_000),
  bodyBytes: 100,
  maxOutput: 10,
  ...more,
});
const inputOf = (more: Partial<CallFacts>, style = 'responses'): number =>
  requestFacts(group(style), facts(more)).maxInput;

describe('the maximum input of a request', () => {
  test('has no fewer tokens than any tokenizer counts in its text', () => {
    for (const { kind, text, tokens } of samples) {
      const request = { model: 'm', input: text };
      const { bodyBytes } = boundsOfRequest(
        'responses.create',
        request,
        Buffer.byteLength(JSON.stringify(request)),
        new StepBudget(),
      );
      for (const [name, count] of Object.entries(tokens))
        assert.ok(inputOf({ bodyBytes }) >= count, `${kind}, ${name}`);
    }
  });

  test('counts a byte of the body for each byte of text, however it is escaped', () => {
    const escaped = (text: string): string =>
      text.replace(/[^ -~]|["\\]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        assert.ok(Buffer.byteLength(JSON.stringify(text)) > Buffer.byteLength(text));
        assert.ok(escaped(text).length >= Buffer.byteLength(text));
        assert.equal(JSON.parse(`"${escaped(text)}"`), text);
      }),
    );
  });

  test('is at most the context, which references of unknown size fill', () => {
    assert.equal(inputOf({ bodyBytes: 10_000_000 }), 200_000);
    assert.equal(inputOf({ wholeContext: 'file' }), 200_000);
    assert.equal(inputOf({ toolInput: Number.POSITIVE_INFINITY }), 200_000);
    assert.equal(inputOf({ toolInput: 3_000, mediaTokens: 20, moreInput: 7 }), 3_127);
    assert.equal(inputOf({ toolInput: 2_500, ownCalls: 2 }), 2_600 + 400_000);
  });

  test('of a model without a context is that of its style, or the body where it is longer', () => {
    const wholeContext = 'file';
    assert.equal(inputOf({ model: model(null), wholeContext }, 'messages'), 200_000);
    assert.equal(inputOf({ model: model(null), wholeContext }, 'generate-content'), 1_048_576);
    assert.equal(inputOf({ model: model(null), bodyBytes: 10_000_000 }, 'messages'), 10_000_000);
  });

  test('of texts to embed is their sum, since each has a context of its own', () => {
    assert.equal(inputOf({ operation: 'embeddings.create', bodyBytes: 900_000 }), 900_000);
  });
});

test('the maximum output is the limit for each choice, of the request or of the model', () => {
  const outputOf = (more: Partial<CallFacts>): number => {
    const { maxOutput, maxDrawn = 0 } = requestFacts(group('responses'), facts(more));
    return maxOutput + maxDrawn;
  };
  assert.equal(outputOf({ maxOutput: 10, choices: 3, moreOutput: 5 }), 35);
  assert.equal(outputOf({ maxOutput: undefined, model: model(null, 100_000) }), 100_000);
  assert.equal(outputOf({ maxOutput: undefined, choices: 2 }), 64_000);
});
