/** Tool arguments over HTTP: numbers and the order of members reach the other side as they were written. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { groupsSetup, PAIRS, type Pair, pairName, post } from '../support/conversion-harness.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const ARGS = '{"b":1234567890123456789,"1":1.0,"0":1e400,"a":{"10":0.1000000000000000055,"2":-0}}';
const QUOTED = JSON.stringify(ARGS);

let provider: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
before(async () => {
  provider = await startCanned();
  gateway = await startGateway();
  const groups = [...new Map(PAIRS.map(({ group: id, upstream }) => [id, { id, upstream, accounts: [{}] }])).values()];
  keys = await gateway.apply(groupsSetup(groups, provider.url));
});
after(async () => {
  await gateway.stop();
  await provider.close();
});

const HISTORY: Readonly<Record<Pair['client'], string>> = {
  messages: `"max_tokens":9,"messages":[{"role":"user","content":"go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"find","input":${ARGS}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"ok"}]}]`,
  chat: `"messages":[{"role":"user","content":"go"},
    {"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"find","arguments":${QUOTED}}}]},
    {"role":"tool","tool_call_id":"call_1","content":"ok"}]`,
  responses: `"input":[{"role":"user","content":"go"},
    {"type":"function_call","call_id":"call_1","name":"find","arguments":${QUOTED}},
    {"type":"function_call_output","call_id":"call_1","output":"ok"}]`,
};

const REPLY: Readonly<Record<Pair['upstream'], string>> = {
  messages: `{"id":"msg_1","type":"message","role":"assistant","model":"u","stop_reason":"tool_use",
    "content":[{"type":"tool_use","id":"call_2","name":"find","input":${ARGS}}],
    "usage":{"input_tokens":1,"output_tokens":1}}`,
  responses: `{"id":"resp_1","object":"response","model":"u","status":"completed","output":[
    {"type":"function_call","id":"fc_1","call_id":"call_2","name":"find","arguments":${QUOTED},"status":"completed"}],
    "usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`,
  generate: `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[
    {"functionCall":{"id":"call_2","name":"find","args":${ARGS}}}]}}],
    "usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
};

/** The member with the arguments, as a body of the dialect holds it. */
const MEMBER: Readonly<Record<Pair['client'] | Pair['upstream'], string>> = {
  messages: `"input":${ARGS}`,
  chat: `"arguments":${QUOTED}`,
  responses: `"arguments":${QUOTED}`,
  generate: `"args":${ARGS}`,
};

for (const pair of PAIRS)
  test(`${pairName(pair)} passes exact tool arguments in both directions`, async () => {
    provider.respondWith(jsonResponse(REPLY[pair.upstream]));
    const body = `{"model":"demo-text","temperature":1.0,${HISTORY[pair.client]}}`;
    const response = await post(gateway.url, pair.client, keys[pair.group] ?? '', body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const sent = provider.last.body.toString();
    assert.ok(sent.includes(MEMBER[pair.upstream]), sent);
    assert.ok(text.includes(MEMBER[pair.client]), text);
  });
