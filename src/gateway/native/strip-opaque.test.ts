import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../../../test/support/long-test.ts';
import { StepBudget } from '../../core/index.ts';
import { packBytes } from '../../dialects/opaque/envelope.ts';
import { JSON_LIMITS } from '../../rules/index.ts';
import { stripEnvelopes } from './strip-opaque.ts';

const cut = (text: string, dialect: 'messages' | 'responses' | 'chat' | 'generate' = 'messages'): string =>
  stripEnvelopes(Buffer.from(text), dialect, new StepBudget()).toString();
const foreign = '{"type":"thinking","thinking":"","signature":"gw1.abc"}';
const own = '{ "type" : "thinking", "thinking":"x", "signature":"Ev=" }';
const text = '{"type":"text","text":"gw1. is only a text here"}';

test('stripEnvelopes removes a block with exactly one comma, wherever it stands', () => {
  const body = (blocks: string) =>
    `{"model":"m","messages":[{"role":"user","content":"gw1."}, {"role":"assistant","content":[${blocks}]}],"n":1.0}`;
  assert.equal(cut(body(`${foreign}, ${text}`)), body(text));
  assert.equal(cut(body(`${text} ,${foreign}`)), body(text));
  assert.equal(cut(body(`${own},${foreign},${text}`)), body(`${own},${text}`));
  assert.equal(cut(body(`${foreign},${foreign},${text},${foreign}`)), body(text));
  const summary = '{"type":"compaction","content":null,"encrypted_content":"gw1.abc"}';
  assert.equal(cut(body(`${summary},${text}`)), body(text));
});

test('stripEnvelopes returns the same buffer when no opaque member holds an envelope', () => {
  const body = Buffer.from(`{"messages":[{"role":"user","content":[${text}]}]}`);
  assert.equal(stripEnvelopes(body, 'messages', new StepBudget()), body);
});

test('stripEnvelopes removes a message that has no other content', () => {
  assert.equal(
    cut(
      `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${foreign}]},{"role":"user","content":"b"}]}`,
    ),
    '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}',
  );
});

test('stripEnvelopes removes reasoning items with an envelope from a responses input', () => {
  const item = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gw1.x"}';
  assert.equal(
    cut(`{"input":[{"role":"user","content":"a"},${item}],"model":"m"}`, 'responses'),
    '{"input":[{"role":"user","content":"a"}],"model":"m"}',
  );
});

test('stripEnvelopes removes search blocks that another provider made', () => {
  const call = '{"type":"server_tool_use","id":"srvtoolu_gwx","name":"web_search","input":{}}';
  const result = '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_gwx","content":[]}';
  assert.equal(
    cut(`{"messages":[{"role":"assistant","content":[${call},${result},${text}]}]}`),
    `{"messages":[{"role":"assistant","content":[${text}]}]}`,
  );
});

test('stripEnvelopes removes foreign signatures from generate parts, and keeps those of the provider', () => {
  const bytes = packBytes({ issuer: 'messages', kind: 'thinking', data: 'S+ig/==' }, 'generate-content');
  const call = '"functionCall":{"name":"f","args":{}}';
  const body = (...parts: string[]) => `{"contents":[{"role":"model","parts":[${parts.join(', ')}]}]}`;
  for (const envelope of ['gw1.abc', bytes])
    assert.equal(
      cut(
        body(
          `{"text":"","thought":true,"thoughtSignature":"${envelope}"}`,
          `{${call},"thoughtSignature":"${envelope}"}`,
          '{"text":"b","thoughtSignature":"gw1oOwnValue=="}',
        ),
        'generate',
      ),
      body(
        '{"text":"","thought":true}',
        `{${call},"thoughtSignature":"skip_thought_signature_validator"}`,
        '{"text":"b","thoughtSignature":"gw1oOwnValue=="}',
      ),
    );
});

test('stripEnvelopes names what it removes', () => {
  const namesOf = (text: string, dialect: 'messages' | 'responses' | 'chat' | 'generate'): string[] => {
    const names = new Set<string>();
    stripEnvelopes(Buffer.from(text), dialect, new StepBudget(), names);
    return [...names];
  };
  const turn = (...blocks: string[]) => `{"messages":[{"role":"assistant","content":[${blocks.join()}]}]}`;
  const search = '{"type":"server_tool_use","id":"srvtoolu_gwx","name":"web_search","input":{}}';
  assert.deepEqual(namesOf(turn(foreign, text, search, foreign), 'messages'), [
    'messages.thinking',
    'messages.server_tool_use',
  ]);
  assert.deepEqual(namesOf(turn(own, text), 'messages'), []);
  const item = (type: string) => `{"input":[{"type":"${type}","encrypted_content":"gw1.x"}]}`;
  assert.deepEqual(namesOf(item('reasoning'), 'responses'), ['input.reasoning']);
  assert.deepEqual(namesOf(item('compaction'), 'responses'), ['input.compaction']);
  const parts = '{"contents":[{"role":"model","parts":[{"text":"a","thoughtSignature":"gw1.x"}]}]}';
  assert.deepEqual(namesOf(parts, 'generate'), ['contents.thought']);
});

test('stripEnvelopes removes only the member with the envelope from a chat tool call', () => {
  const body = (...members: string[]) =>
    `{"messages":[{"role":"user","content":"gw1."},{"role":"assistant","tool_calls":[{${members.join()}},null]}]}`;
  const extra = (value: string) => `"extra_content" : {"google":{"thought_signature":"${value}"}}`;
  assert.equal(cut(body('"id":"a"', ` ${extra('gw1.x')}`), 'chat'), body('"id":"a"'));
  assert.equal(cut(body(`${extra('gw1.x')} `, ' "id":"a"'), 'chat'), body('"id":"a"'));
  assert.equal(cut(body('"id":"a"', extra('gw1.x'), '"n":1.0'), 'chat'), body('"id":"a"', '"n":1.0'));
  assert.equal(cut(body(extra('gw1.x')), 'chat'), body(''));
  assert.equal(cut(body('"id":"a"', extra('AbC=')), 'chat'), body('"id":"a"', extra('AbC=')));
});

test('stripEnvelopes leaves malformed bodies to the provider', () => {
  const shapes = ['{"messages":["gw1.",1,null,[{}]]}', '{"messages":{"a":"gw1."}}', '{"input":"gw1."}'];
  const broken = [
    '{"messages":["gw1."',
    'gw1.',
    '{"messages":[{"content":[gw1.]}]}',
    '{"input":[gw1.]}',
    '{"a":"gw1.\n"}',
  ];
  for (const text of [...shapes, ...broken])
    for (const dialect of ['messages', 'responses', 'chat'] as const) assert.equal(cut(text, dialect), text);
});

longTest('stripEnvelopes handles 200,000 envelopes in one message', () => {
  const body = (blocks: string) => `{"messages":[{"role":"assistant","content":[${blocks}]}]}`;
  const many = Array(200_000).fill(foreign).join();
  assert.equal(cut(body(`${text},${many}`)), body(text));
  assert.equal(cut(body(many)), '{"messages":[]}');
  const item = '{"type":"reasoning","encrypted_content":"gw1.x"}';
  assert.equal(cut(`{"input":[1,${Array(200_000).fill(item).join()},2]}`, 'responses'), '{"input":[1,2]}');
});

test('stripEnvelopes leaves a body beyond the JSON limits as it is', () => {
  const wide = Buffer.from(
    `{"messages":[{"role":"assistant","content":[${foreign},${Array(JSON_LIMITS.tokens).fill(0).join()}]}]}`,
  );
  assert.equal(stripEnvelopes(wide, 'messages', new StepBudget()), wide);
  const deep = Buffer.from(`{"messages":[{"content":[${foreign},${'['.repeat(200)}${']'.repeat(200)}]}]}`);
  assert.equal(stripEnvelopes(deep, 'messages', new StepBudget()), deep);
});
