import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubItem, HubStop } from '../../hub/types.ts';
import { compactionClient } from './compaction.ts';

const client = compactionClient({ sign: () => 'mac', userMessages: () => [] });
const reply = (stop: HubStop, text: string): { items: HubItem[]; stop: HubStop } => ({
  items: [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text }] }],
  stop,
});

test('compactionClient accepts only a summary that the model finished', () => {
  assert.equal(client.faultIn?.(reply('end', 'So far.')), undefined);
  for (const [stop, text] of [
    ['length', 'So f'],
    ['refusal', 'I cannot.'],
    ['filter', ''],
    ['end', ' '],
  ] as const) {
    const fault = client.faultIn?.(reply(stop, text));
    assert.equal(fault?.kind, 'no_result', stop);
    assert.match(fault.error.message, new RegExp(`stop reason: ${stop}`));
  }
});

test('compactionClient asks for the summary without the settings of the conversation', () => {
  const request = client.decodeRequest(
    {
      model: 'm',
      input: 'hi',
      stream: true,
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: 'required',
      text: { format: { type: 'json_object' } },
      temperature: 2,
    },
    { headers: {} },
  );
  assert.deepEqual(
    [request.stream, request.tools, request.toolChoice, request.output, request.sampling, request.state.store],
    [false, [], { kind: 'auto' }, { format: { kind: 'text' } }, {}, false],
  );
});
