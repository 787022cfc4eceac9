/** Tool arguments in every conversion: numbers by their text, and members in their order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { convertReply, type WireEvent } from '../support/dialects/codecs.ts';
import { convert, DIALECT_PAIRS, EMPTY_ENCODED, replyContextFor, requestFrom, targetFor } from './dialect-pairs.ts';
import { law } from './runs.ts';

// ---------------------------------------------------------------- arguments as JSON text

const NUMBERS = [
  ...['1234567890123456789', '-9007199254740993', '18446744073709551616', '123456789012345678901234567890'],
  ...['1.0', '1e400', '-1E-400', '0.1000000000000000055', '-0', '0.0', '1e2', '1E+2', '1.50', '0.0000001', '1e21'],
  ...['0', '-7', '12.5', '9007199254740991'],
];
const numbers = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n }).map(String),
  fc.tuple(fc.nat(), fc.stringMatching(/^\d{1,24}$/)).map(([whole, fraction]) => `${whole}.${fraction}`),
);
const NAMES = ['b', 'a', '1', '0', '10', '01', '4294967295', '__proto__', 'constructor', 'toJSON', '', 'é"', 'input'];
const strings = fc
  .constantFrom('', 'x', '1.0', '"a": 1.0, "1": 2', '\\', '😀', '{', ']')
  .map((text) => JSON.stringify(text));

const { object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(numbers, numbers, strings, fc.constantFrom('true', 'null', '{}', '[]')),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((list) => `[${list.join(',')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { selector: ([name]) => name, maxLength: 6 })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
}));
/** With and without white space: providers write both. */
const withSpace = (text: string): string =>
  text.replace(OUTSIDE, (token) => (token.length === 1 ? ` ${token}\n` : token));
const withoutSpace = (text: string): string => text.replace(OUTSIDE, (token) => (/^\s/.test(token) ? '' : token));
const OUTSIDE = /"(?:[^"\\]|\\.)*"|\s+|[[\]{},:]/g;
const callArguments = fc
  .tuple(object, fc.boolean())
  .map(([text, isSpaced]) => ({ text, wire: isSpaced ? withSpace(text) : text }));

// ---------------------------------------------------------------- wire texts

/** Stands for the arguments in a body until its text is written: an object, or a text inside a string. */
const HOLE = '<arguments>';
const fill = (body: unknown, args: string): string =>
  JSON.stringify(body)
    .replaceAll(`{"${HOLE}":0}`, () => args)
    .replaceAll(`"${HOLE}"`, () => JSON.stringify(args));
const OBJECT = { [HOLE]: 0 };

const HISTORIES: Readonly<Record<Dialect, unknown>> = {
  messages: {
    model: 'm',
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'find', input: OBJECT }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'ok' }] },
    ],
  },
  chat: {
    model: 'm',
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: HOLE } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
    ],
  },
  responses: {
    model: 'm',
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: HOLE },
      { type: 'function_call_output', call_id: 'call_1', output: 'ok' },
    ],
  },
  generate: {
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'find', args: OBJECT } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'call_1', name: 'find', response: { output: 'ok' } } }] },
    ],
  },
};

const USED = { toolUseId: 'call_1', name: 'find' };
const FUNCTION_CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'find', status: 'completed' };
const candidates = (args: unknown, more = {}) => [
  { index: 0, content: { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'find', args } }] }, ...more },
];

const UNARY: Readonly<Record<UpstreamDialect, unknown>> = {
  converse: {
    output: { message: { role: 'assistant', content: [{ toolUse: { ...USED, input: OBJECT } }] } },
    stopReason: 'tool_use',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'u', stop_reason: 'tool_use' },
    content: [{ type: 'tool_use', id: 'call_1', name: 'find', input: OBJECT }],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  chat: {
    id: 'chatcmpl-1',
    model: 'u',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: HOLE } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  responses: { id: 'resp_1', model: 'u', status: 'completed', output: [{ ...FUNCTION_CALL, arguments: HOLE }] },
  generate: { candidates: candidates(OBJECT, { finishReason: 'STOP' }), modelVersion: 'u', responseId: 'r1' },
};

const thirds = (text: string): string[] => {
  const size = Math.ceil(text.length / 3);
  return [text.slice(0, size), text.slice(size, 2 * size), text.slice(2 * size)].filter((piece) => piece !== '');
};

const STREAMS: Readonly<Record<UpstreamDialect, (args: string) => WireEvent[]>> = {
  converse: (args) => [
    { event: 'messageStart', data: { role: 'assistant' } },
    { event: 'contentBlockStart', data: { contentBlockIndex: 0, start: { toolUse: USED } } },
    ...thirds(args).map((input) => ({
      event: 'contentBlockDelta',
      data: { contentBlockIndex: 0, delta: { toolUse: { input } } },
    })),
    { event: 'contentBlockStop', data: { contentBlockIndex: 0 } },
    { event: 'messageStop', data: { stopReason: 'tool_use' } },
  ],
  messages: (args) =>
    [
      { type: 'message_start', message: { id: 'msg_1', model: 'u', usage: { input_tokens: 1, output_tokens: 1 } } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'call_1', name: 'find', input: {} },
      },
      ...thirds(args).map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ].map((data) => ({ event: data.type, data })),
  chat: (args) => {
    const chunk = (delta: unknown, finish_reason: string | null = null): WireEvent => ({
      data: { id: 'chatcmpl-1', model: 'u', choices: [{ index: 0, delta, finish_reason }] },
    });
    const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
    return [
      call({ id: 'call_1', type: 'function', function: { name: 'find', arguments: '' } }),
      ...thirds(args).map((text) => call({ function: { arguments: text } })),
      chunk({}, 'tool_calls'),
      { data: '[DONE]' },
    ];
  },
  responses: (args) => {
    const item = { ...FUNCTION_CALL, arguments: args };
    const response = { id: 'resp_1', model: 'u', status: 'completed', output: [item] };
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', arguments: '' } },
      ...thirds(args).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        output_index: 0,
        item_id: 'fc_1',
        delta,
      })),
      { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: args },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ].map((data) => ({ event: data.type, data }));
  },
  generate: (args) => [
    { data: fill({ candidates: candidates(OBJECT), modelVersion: 'u', responseId: 'r1' }, args) },
    { data: { candidates: [{ index: 0, content: { parts: [] }, finishReason: 'STOP' }] } },
  ],
};

// ---------------------------------------------------------------- what arrives

const HEAD = { headers: {}, model: 'm' };
const MESSAGES_FOR_CHAT = { client: 'chat', upstream: 'messages' } as const;

/** How a body begins its arguments: an object in its text, or a JSON text in a string. */
const MEMBER: Readonly<Record<UpstreamDialect, string>> = {
  converse: '"input":{',
  messages: '"input":{',
  chat: '"arguments":"',
  responses: '"arguments":"',
  generate: '"args":{',
};

/** The text of the arguments in a body, found without parsing their values. */
function argumentsIn(dialect: UpstreamDialect, text: string): string {
  const member = MEMBER[dialect];
  const found = text.indexOf(member);
  assert.ok(found >= 0, text);
  const start = found + member.length - 1;
  if (!member.endsWith('{'))
    return withoutSpace(String(JSON.parse(/"(?:[^"\\]|\\.)*"/.exec(text.slice(start))?.[0] ?? '')));
  let depth = 0;
  for (const { 0: token, index } of text.slice(start).matchAll(OUTSIDE)) {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (depth === 0) return withoutSpace(text.slice(start, start + index + 1));
  }
  return assert.fail('the arguments have no end');
}

interface MessagesEvent {
  readonly delta?: { readonly partial_json?: string };
}
interface ChatChunk {
  readonly choices?: { readonly delta?: { readonly tool_calls?: { readonly function?: { arguments?: string } }[] } }[];
}

/** The text of the arguments in a stream. */
function argumentsInStream(dialect: Dialect, stream: string): string {
  const events = [...stream.matchAll(/^data: (.*)$/gm)]
    .map(([, data]) => data ?? '')
    .filter((data) => data !== '[DONE]');
  if (dialect === 'messages')
    return withoutSpace(events.map((data) => (JSON.parse(data) as MessagesEvent).delta?.partial_json ?? '').join(''));
  if (dialect === 'chat') {
    const calls = events.flatMap((data) => (JSON.parse(data) as ChatChunk).choices?.[0]?.delta?.tool_calls ?? []);
    return withoutSpace(calls.map((call) => call.function?.arguments ?? '').join(''));
  }
  const isLast = (data: string) => dialect === 'generate' || data.includes('"response.completed"');
  return argumentsIn(dialect, events.find((data) => isLast(data) && data.includes(MEMBER[dialect])) ?? '');
}

for (const pair of DIALECT_PAIRS) {
  const { client, upstream, name } = pair;
  const share = pair.isOffered ? 0.2 : 0.05;
  test(`${name}: arguments keep numbers and order in a unary reply`, () =>
    law(
      callArguments,
      ({ text, wire }) => {
        const request = requestFrom(client, { stream: false });
        const body = parseJson(fill(UNARY[upstream], wire));
        const reply = convertReply(pairOf(pair), EMPTY_ENCODED, body, replyContextFor(request, upstream));
        assert.equal(argumentsIn(client, JSON.stringify(reply)), text);
      },
      share,
    ));
  test(`${name}: arguments keep numbers and order in a stream`, () =>
    law(
      callArguments,
      ({ text, wire }) => {
        const converted = convert(pair, STREAMS[upstream](wire));
        assert.equal(argumentsInStream(client, converted.text), text);
      },
      share,
    ));
  test(`${name}: arguments keep numbers and order in a conversation`, () =>
    law(
      callArguments,
      ({ text, wire }) => {
        const body = parseJson(fill(HISTORIES[client], wire));
        const request = codecOf(client).client.decodeRequest(body, HEAD);
        const encoded = encodeRequestFor(pairOf(pair), request, targetFor(upstream));
        assert.equal(argumentsIn(upstream, JSON.stringify(encoded.body)), text);
      },
      share,
    ));
}

test('arguments that a generate stream assembles from pieces keep numbers and order', () => {
  const pieces = [
    { jsonPath: '$.b', numberValue: '<1234567890123456789>' },
    { jsonPath: '$.1', numberValue: '<1.0>' },
    { jsonPath: '$.c.10', stringValue: 'x' },
    { jsonPath: '$.c.2', numberValue: '<1e400>' },
  ];
  const call = { functionCall: { id: 'call_1', name: 'find', partialArgs: pieces } };
  const chunk = { candidates: [{ index: 0, content: { parts: [call] }, finishReason: 'STOP' }], responseId: 'r1' };
  const data = JSON.stringify(chunk).replace(/"<(.*?)>"/g, '$1');
  const { text } = convert({ client: 'responses', upstream: 'generate' }, [{ data }]);
  assert.equal(argumentsInStream('responses', text), '{"b":1234567890123456789,"1":1.0,"c":{"10":"x","2":1e400}}');
});

for (const pair of DIALECT_PAIRS.filter(({ client }) => client === 'chat' || client === 'responses'))
  test(`${pair.name}: arguments that are not an object stay readable in a conversation`, () => {
    const isObjectForm = MEMBER[pair.upstream].endsWith('{');
    for (const args of ['{"path": "/a', '[1]', '"x"', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`]) {
      const request = codecOf(pair.client).client.decodeRequest(JSON.parse(fill(HISTORIES[pair.client], args)), HEAD);
      const sent = JSON.stringify(encodeRequestFor(pairOf(pair), request, targetFor(pair.upstream)).body);
      const expected = isObjectForm ? JSON.stringify({ INVALID_JSON: args }) : args;
      assert.equal(argumentsIn(pair.upstream, sent), withoutSpace(expected));
    }
  });

for (const pair of DIALECT_PAIRS.filter(({ upstream }) => upstream === 'chat' || upstream === 'responses'))
  test(`${pair.name}: arguments that are not an object stay readable in a unary reply`, () => {
    const args = '{"path": "/a';
    const body = JSON.parse(fill(UNARY[pair.upstream], args));
    const context = replyContextFor(requestFrom(pair.client, { stream: false }), pair.upstream);
    const reply = JSON.stringify(convertReply(pairOf(pair), EMPTY_ENCODED, body, context));
    const isObjectForm = MEMBER[pair.client].endsWith('{');
    assert.equal(
      argumentsIn(pair.client, reply),
      withoutSpace(isObjectForm ? JSON.stringify({ INVALID_JSON: args }) : args),
    );
  });

test('missing arguments are an empty object', () => {
  for (const args of ['', ' ', 'null', '{}']) {
    const request = codecOf('chat').client.decodeRequest(JSON.parse(fill(HISTORIES.chat, args)), HEAD);
    const sent = JSON.stringify(encodeRequestFor(pairOf(MESSAGES_FOR_CHAT), request, targetFor('messages')).body);
    assert.equal(argumentsIn('messages', sent), '{}');
  }
});
