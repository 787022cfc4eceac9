import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bodyOf, encode, message, target, textBlock, turns } from '../../../../test/support/dialects/messages.ts';
import type { HubPart, JsonObject } from '../../hub/types.ts';

describe('messages request encoder', () => {
  it('sends only the required fields of a plain request', () => {
    const encoded = encode({});
    assert.deepEqual(encoded.body, {
      model: 'claude-x',
      max_tokens: 64_000,
      messages: [{ role: 'user', content: [textBlock('Hi')] }],
    });
    assert.deepEqual(encoded.headers, { 'anthropic-version': '2023-06-01' });
    assert.deepEqual([encoded.droppedFields, encoded.emulateStop, encoded.names.size], [[], [], 0]);
  });

  it('limits max_tokens by model, request and, without a stream, by call duration', () => {
    const big = target({ maxOutput: 128_000 });
    assert.equal(bodyOf({ limits: { maxOutput: 999_999 } }, big).max_tokens, 128_000);
    assert.equal(bodyOf({ stream: true }, big).max_tokens, 128_000);
    assert.equal(bodyOf({}, big).max_tokens, 64_000);
    assert.equal(bodyOf({}, target({}, { maxOutput: 4_000 })).max_tokens, 4_000);
    assert.equal(bodyOf({ limits: { prewarm: true } }).max_tokens, 0);
  });

  it('collects system messages in order and requests JSON by instruction', () => {
    const system = [
      { kind: 'text', text: 'One', cache: { long: true } },
      { kind: 'text', text: ' ' },
    ] as const;
    const body = bodyOf({
      system,
      items: [message('system', 'Two'), message('system', 'Three'), message('user', 'Hi')],
      output: { format: { kind: 'json' } },
    });
    assert.deepEqual(body.system, [
      { ...textBlock('One'), cache_control: { type: 'ephemeral', ttl: '1h' } },
      textBlock('Two'),
      textBlock('Three'),
      textBlock('Reply with one JSON object and nothing else.'),
    ]);
  });

  it('sends sampling fields only to models that support them', () => {
    const sampling = { temperature: 1.7, topP: 0.5, topK: 3 };
    const full = encode({ sampling });
    assert.deepEqual([full.body.temperature, full.body.top_p, full.body.top_k], [1, undefined, 3]);
    assert.deepEqual(full.droppedFields, ['topP']);
    const none = encode({ sampling }, target({ sampling: 'none' }));
    assert.equal(none.body.temperature, undefined);
    assert.deepEqual(none.droppedFields, ['temperature', 'topP', 'topK']);
    assert.equal(bodyOf({ sampling: { temperature: 0 } }).temperature, 0);
    const thinking = encode({ sampling, reasoning: { effort: 'high' } });
    assert.deepEqual(thinking.droppedFields, ['temperature', 'topP', 'topK']);
  });

  it('leaves unsupported stop sequences to emulation', () => {
    const encoded = encode({ sampling: { stop: ['END', '\n'] } });
    assert.deepEqual([encoded.body.stop_sequences, encoded.emulateStop], [['END'], ['\n']]);
    assert.deepEqual(encode({ sampling: { stop: ['END'] } }, target({ stop: false })).emulateStop, ['END']);
  });

  it('sends a hash of the user id', () => {
    const id = (userId: string) => bodyOf({ meta: { userId } }).metadata as JsonObject;
    assert.match(String(id('ann@example.com').user_id), /^[\w-]{40}$/);
    assert.deepEqual(id('a'), id('a'));
    assert.notDeepEqual(id('a'), id('b'));
  });

  it('keeps the last four cache breakpoints and no one-hour one after a five-minute one', () => {
    const part = (n: number): HubPart => ({ kind: 'text', text: `${n}`, cache: n > 3 ? { long: true } : {} });
    const [turn] = turns([message('user', ...[1, 2, 3, 4, 5, 6].map(part))]);
    const breakpoints = turn?.content.map((block) => block.cache_control);
    const short = { type: 'ephemeral' };
    assert.deepEqual(breakpoints, [undefined, undefined, short, short, short, short]);
    const auto = bodyOf({ cache: { auto: true }, items: [message('user', ...[1, 2, 3, 4].map(part))] });
    assert.deepEqual(auto.cache_control, short);
    const none = encode({ items: [message('user', part(1))] }, target({ explicitCache: false }));
    assert.deepEqual(none.droppedFields, ['cacheBreakpoints']);
    assert.doesNotMatch(JSON.stringify(none.body), /cache_control/);
  });

  it('applies the last setting change of the conversation', () => {
    const body = bodyOf({
      reasoning: { mode: 'off' },
      items: [
        message('user', 'a'),
        { kind: 'config_change', effort: 'high' },
        { kind: 'config_change', effort: 'low' },
      ],
    });
    assert.deepEqual(body.output_config, { effort: 'low' });
    assert.deepEqual(body.thinking, { type: 'adaptive' });
  });

  it('maps service tiers', () => {
    assert.equal(bodyOf({ meta: { serviceTier: 'standard' } }).service_tier, 'standard_only');
    assert.equal(bodyOf({ meta: { serviceTier: 'priority' } }).service_tier, 'auto');
    assert.deepEqual(encode({ meta: { serviceTier: 'flex' } }).droppedFields, ['serviceTier']);
  });
});
