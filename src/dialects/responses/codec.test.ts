import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { aReplyContext, aRequest, CONTEXT } from '../../../test/support/dialects/responses.ts';
import { runs } from '../../../test/support/properties.ts';
import { checkSupport, HUB_FIELDS, REQUEST_SECTIONS } from '../hub/fields.ts';
import { type HubReply, NO_USAGE } from '../hub/types.ts';
import { codecOf } from '../index.ts';
import { unwrapInput, wrapInput } from '../tools/free-text.ts';
import { echoSettings, encodeReply } from './client/encode-reply.ts';
import { openFreeTextUnwrapper } from './client/unwrap-free-text.ts';
import { decodeUsage, encodeUsage } from './usage.ts';

describe('responses codec', () => {
  it('lists support and a name for every hub field', () => {
    assert.deepEqual(Object.keys(codecOf('responses').upstream.support).sort(), [...HUB_FIELDS].sort());
    assert.deepEqual(
      Object.keys(codecOf('responses').client.fieldNames).sort(),
      [...HUB_FIELDS, ...REQUEST_SECTIONS].sort(),
    );
  });
  it('reports dropped fields and rejects unsupported ones', () => {
    const { support } = codecOf('responses').upstream;
    const { fieldNames } = codecOf('responses').client;
    const dropped = checkSupport(aRequest({ sampling: { topK: 4, seed: 1, stop: ['x'] } }), support, fieldNames);
    assert.deepEqual(dropped, ['topK', 'seed']);
    for (const sampling of [{ n: 2 }, { logitBias: { a: 1 } }]) {
      assert.throws(() => checkSupport(aRequest({ sampling }), support, fieldNames), { code: 'unsupported_parameter' });
    }
  });
  it('echoes the user id in the field that the client used', () => {
    const echo = (body: object) => {
      const request = codecOf('responses').client.decodeRequest({ model: 'm', input: 'Hi', ...body }, { headers: {} });
      const { user, safety_identifier } = echoSettings(aReplyContext({ request }));
      return { user, safety_identifier };
    };
    assert.deepEqual(echo({ user: 'ana' }), { user: 'ana', safety_identifier: null });
    assert.deepEqual(echo({ safety_identifier: 'ana' }), { user: null, safety_identifier: 'ana' });
  });
  it('encodes a reply with the requested model name, every setting echoed and no undefined member', () => {
    const request = codecOf('responses').client.decodeRequest(
      {
        model: 'asked-for',
        input: 'Hi',
        instructions: 'Be brief.',
        tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: true }, { type: 'web_search' }],
        tool_choice: { type: 'function', name: 'f' },
        reasoning: { effort: 'low', summary: 'auto' },
        text: { format: { type: 'json_object' } },
        metadata: { a: 'b' },
        previous_response_id: 'resp_0',
      },
      { headers: {} },
    );
    const reply: HubReply = {
      id: 'msg_abcdefgh',
      model: 'other',
      items: [],
      stop: 'end',
      usage: { ...NO_USAGE, tier: 'priority' },
    };
    const body = encodeReply(reply, aReplyContext({ request }));
    assert.deepEqual(JSON.parse(JSON.stringify(body)), body);
    assert.deepEqual(body, {
      id: 'resp_abcdefgh',
      object: 'response',
      created_at: 1_700_000_000,
      model: 'asked-for',
      status: 'completed',
      completed_at: 1_700_000_000,
      error: null,
      incomplete_details: null,
      output: [],
      service_tier: 'priority',
      usage: {
        input_tokens: 0,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 0,
      },
      background: false,
      frequency_penalty: 0,
      presence_penalty: 0,
      instructions: 'Be brief.',
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: 'b' },
      parallel_tool_calls: true,
      previous_response_id: 'resp_0',
      prompt: null,
      prompt_cache_key: null,
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: null,
      store: true,
      temperature: 1,
      text: { format: { type: 'json_object' }, verbosity: 'medium' },
      tool_choice: { type: 'function', name: 'f' },
      tools: [
        { type: 'function', name: 'f', description: null, parameters: { type: 'object' }, strict: true },
        { type: 'web_search' },
      ],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: null,
      access_programs: null,
    });
  });
  it('decodes its own encoding of a reply to the same reply', () => {
    const reply: HubReply = {
      id: 'resp_abcdefgh',
      model: 'asked-for',
      items: [
        { kind: 'reasoning', summary: ['a', 'b'] },
        {
          kind: 'message',
          role: 'assistant',
          parts: [
            { kind: 'text', text: 'Hi', annotations: [{ start: 0, end: 2, url: 'https://a.example', title: 'A' }] },
          ],
        },
        { kind: 'tool_call', callId: 'c1', name: 'f', namespace: 'ns', form: 'function', args: '{"a": 1}' },
        { kind: 'tool_call', callId: 'c2', name: 'p', form: 'custom', args: 'free' },
      ],
      stop: 'tool',
      usage: { input: 9, cacheRead: 3, cacheWrite: 2, cacheWriteLong: 1, output: 5, reasoning: 4, tier: 'standard' },
    };
    const body = encodeReply(reply, aReplyContext({ request: aRequest({ dialect: 'responses' }) }));
    assert.deepEqual(codecOf('responses').upstream.decodeReply(body, CONTEXT), reply);
  });
  it('decodes its own encoding of usage to the same usage', () => {
    const usage = { input: 57, cacheRead: 10, cacheWrite: 4, cacheWriteLong: 1, output: 50, reasoning: 30 };
    assert.deepEqual(decodeUsage({ usage: encodeUsage(usage) }, []), usage);
    assert.equal(encodeUsage(usage).total_tokens, 107);
  });
  it('unwraps free text the same in one piece and in many', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
        fc.array(fc.nat(200), { maxLength: 6 }),
        (text, ascii, cuts) => {
          const json = ascii
            ? wrapInput(text).replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
            : wrapInput(text);
          const cutAt = [0, ...cuts.map((cut) => cut % (json.length + 1)).sort((a, b) => a - b), json.length];
          const unwrap = openFreeTextUnwrapper();
          const pieces = cutAt.slice(1).map((end, index) => unwrap(json.slice(cutAt[index], end)));
          assert.equal(pieces.join(''), text);
          assert.equal(unwrapInput(json), text);
        },
      ),
      { numRuns: runs(300) },
    );
  });
  it('passes on tool input that is not wrapped as expected', () => {
    assert.equal(unwrapInput('{"other":1}'), '{"other":1}');
    assert.equal(unwrapInput('{"input":"cut'), '{"input":"cut');
  });
});
