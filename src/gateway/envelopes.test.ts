import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutEnvelopes } from './envelopes.ts';

const cut = (text: string, dialect: 'messages' | 'responses' = 'messages'): string =>
  withoutEnvelopes(Buffer.from(text), dialect).toString();
const foreign = '{"type":"thinking","thinking":"","signature":"gw1.abc"}';
const own = '{ "type" : "thinking", "thinking":"x", "signature":"Ev=" }';
const text = '{"type":"text","text":"gw1. is only a text here"}';

test('a block with an envelope is cut out with exactly one comma, wherever it stands', () => {
  const body = (blocks: string) =>
    `{"model":"m","messages":[{"role":"user","content":"gw1."}, {"role":"assistant","content":[${blocks}]}],"n":1.0}`;
  assert.equal(cut(body(`${foreign}, ${text}`)), body(text));
  assert.equal(cut(body(`${text} ,${foreign}`)), body(text));
  assert.equal(cut(body(`${own},${foreign},${text}`)), body(`${own},${text}`));
  assert.equal(cut(body(`${foreign},${foreign},${text},${foreign}`)), body(text));
});

test('bytes without an envelope in a slot stay the very same bytes', () => {
  const body = Buffer.from(`{"messages":[{"role":"user","content":[${text}]}]}`);
  assert.equal(withoutEnvelopes(body, 'messages'), body);
});

test('a message that held nothing else goes as a whole', () => {
  assert.equal(
    cut(
      `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${foreign}]},{"role":"user","content":"b"}]}`,
    ),
    '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}',
  );
});

test('reasoning items with an envelope are cut out of a responses input', () => {
  const item = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gw1.x"}';
  assert.equal(
    cut(`{"input":[{"role":"user","content":"a"},${item}],"model":"m"}`, 'responses'),
    '{"input":[{"role":"user","content":"a"}],"model":"m"}',
  );
});

test('blocks that told of a search elsewhere do not go to a provider that never made it', () => {
  const call = '{"type":"server_tool_use","id":"srvtoolu_gwx","name":"web_search","input":{}}';
  const result = '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_gwx","content":[]}';
  assert.equal(
    cut(`{"messages":[{"role":"assistant","content":[${call},${result},${text}]}]}`),
    `{"messages":[{"role":"assistant","content":[${text}]}]}`,
  );
});
