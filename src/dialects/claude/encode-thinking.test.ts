import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bodyOf,
  call,
  encode,
  functionTool,
  message,
  result,
  target,
} from '../../../test/support/dialects/messages.ts';
import type { CapabilityOverrides } from '../../rules/index.ts';
import type { UpstreamTarget } from '../codec.ts';
import type { HubItem, HubRequest, JsonObject } from '../hub/types.ts';

describe('messages thinking encoder', () => {
  const manual = (more: CapabilityOverrides = {}) => target({ thinking: 'manual', display: false, ...more });
  const think = (more: Partial<HubRequest>, to: UpstreamTarget) => {
    const { body, droppedFields: dropped } = encode(more, to);
    return [body.thinking, (body.output_config as JsonObject | undefined)?.effort, dropped];
  };

  it('sends an effort to adaptive models', () => {
    assert.deepEqual(think({ reasoning: { effort: 'high', show: 'summary' } }, target()), [
      { type: 'adaptive', display: 'summarized' },
      'high',
      [],
    ]);
    assert.deepEqual(think({ reasoning: { effort: 'minimal' } }, target()), [{ type: 'adaptive' }, 'low', []]);
    assert.deepEqual(think({ reasoning: { effort: 'max' } }, target({ efforts: ['low', 'high'] })), [
      { type: 'adaptive' },
      'high',
      [],
    ]);
    assert.deepEqual(think({ reasoning: { mode: 'budget', budget: 8_000 } }, target()), [
      { type: 'adaptive' },
      'medium',
      [],
    ]);
    assert.deepEqual(think({ reasoning: { mode: 'auto' } }, target()), [{ type: 'adaptive' }, undefined, []]);
    assert.deepEqual(think({ reasoning: { show: 'summary' } }, target()), [undefined, undefined, []]);
  });

  it('turns thinking off in the form that the model accepts', () => {
    const off = (to: UpstreamTarget) => think({ reasoning: { mode: 'off' } }, to);
    assert.deepEqual(off(target()), [{ type: 'disabled' }, undefined, []]);
    assert.deepEqual(off(target({ thinkingOff: 'between_tools' })), [{ type: 'between_tools' }, undefined, []]);
    assert.deepEqual(off(target({ thinkingOff: false })), [undefined, 'low', []]);
    assert.deepEqual(off(target({ thinking: 'none' })), [undefined, undefined, []]);
  });

  it('sends manual models a budget below max_tokens', () => {
    assert.deepEqual(think({ reasoning: { effort: 'high' }, limits: { maxOutput: 8_000 } }, manual()), [
      { type: 'enabled', budget_tokens: 6_000 },
      undefined,
      [],
    ]);
    const explicit = { reasoning: { mode: 'budget', budget: 9_000 }, limits: { maxOutput: 8_000 } } as const;
    assert.deepEqual(think(explicit, manual())[0], { type: 'enabled', budget_tokens: 7_999 });
    assert.deepEqual(think({ reasoning: { effort: 'low' }, limits: { maxOutput: 1_000 } }, manual()), [
      { type: 'disabled' },
      undefined,
      ['reasoning'],
    ]);
  });

  it('disables thinking with a forced tool or with calls that lack their thinking, where a budget is rejected', () => {
    const forced = {
      reasoning: { effort: 'high' },
      tools: [functionTool('a')],
      toolChoice: { kind: 'required' },
    } as const;
    assert.deepEqual(think(forced, manual())[0], { type: 'disabled' });
    assert.deepEqual(think(forced, target())[0], { type: 'adaptive' });
    const loop = {
      reasoning: { effort: 'high' },
      items: [message('user', 'a'), call('c'), result('c', 'ok')],
    } as const;
    assert.deepEqual(think(loop, manual())[0], { type: 'disabled' });
    const signed: HubItem = {
      kind: 'reasoning',
      summary: [],
      opaque: { issuer: 'messages', kind: 'thinking', data: 'S' },
    };
    const whole = { ...loop, items: [message('user', 'a'), signed, call('c'), result('c', 'ok')] };
    assert.deepEqual((think(whole, manual())[0] as JsonObject).type, 'enabled');
  });

  it('disables thinking as far as the model supports it', () => {
    assert.deepEqual(think({ reasoning: { mode: 'off' } }, target()), [{ type: 'disabled' }, undefined, []]);
    assert.deepEqual(think({ reasoning: { effort: 'none' } }, target({ thinkingOff: false })), [undefined, 'low', []]);
    assert.deepEqual(think({ reasoning: { effort: 'high' } }, target({ thinking: 'none' })), [
      undefined,
      undefined,
      ['reasoning'],
    ]);
  });
});

describe('messages schema encoder', () => {
  const schemaOf = (schema: JsonObject) => {
    const { output_config } = bodyOf({ output: { format: { kind: 'schema', schema } } });
    return ((output_config as JsonObject).format as JsonObject).schema as JsonObject;
  };

  it('closes objects and moves unsupported keywords into descriptions', () => {
    assert.deepEqual(
      schemaOf({
        $schema: 'x',
        type: 'object',
        properties: {
          name: { type: 'string', minLength: 2, description: 'A name.' },
          format: { type: 'string', format: 'email' },
          tags: { type: 'array', items: { type: 'string', pattern: '^a' }, minItems: 3 },
          inner: { oneOf: [{ properties: { a: { const: 1 } } }, { type: 'null' }] },
        },
        required: ['name'],
      }),
      {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'A name.\n\n{minLength: 2}' },
          format: { type: 'string', format: 'email' },
          tags: {
            type: 'array',
            items: { type: 'string', description: '{pattern: "^a"}' },
            description: '{minItems: 3}',
          },
          inner: { anyOf: [{ properties: { a: { const: 1 } }, additionalProperties: false }, { type: 'null' }] },
        },
        required: ['name'],
        additionalProperties: false,
      },
    );
  });

  it('leaves a supported schema unchanged', () => {
    const schema = schemaOf({ properties: { a: { type: 'integer', maximum: 3 } } });
    assert.deepEqual(schemaOf(schema), schema);
  });
});
