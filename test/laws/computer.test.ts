/** The computer tool between messages and responses, and of both over generate-content: tool, calls, screenshots and history. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rgbPng } from '../../sim/png.ts';
import { encodeRequestFor, type HubEvent, openDecoding, pairOf, readReply } from '../../src/dialects/index.ts';
import { DECODE_CONTEXT, targetFor } from './dialect-pairs.ts';

type Json = Record<string, unknown>;
const dataOf = (stream: string): Json[] =>
  [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
const SHOT = rgbPng(800, 600, () => [1, 2, 3]).toString('base64');
const DATA_URL = `data:image/png;base64,${SHOT}`;
const M_IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: SHOT } };

/** Actions that mean the same in both vocabularies. */
const SAME: readonly (readonly [responses: Json, messages: Json])[] = [
  [
    { type: 'click', button: 'left', x: 3, y: 4, keys: null },
    { action: 'left_click', coordinate: [3, 4] },
  ],
  [
    { type: 'click', button: 'right', x: 3, y: 4, keys: ['CTRL'] },
    { action: 'right_click', coordinate: [3, 4], text: 'ctrl' },
  ],
  [
    { type: 'click', button: 'wheel', x: 3, y: 4, keys: null },
    { action: 'middle_click', coordinate: [3, 4] },
  ],
  [
    { type: 'double_click', x: 3, y: 4, keys: null },
    { action: 'double_click', coordinate: [3, 4] },
  ],
  [
    { type: 'move', x: 3, y: 4 },
    { action: 'mouse_move', coordinate: [3, 4] },
  ],
  [
    {
      type: 'drag',
      path: [
        { x: 1, y: 2 },
        { x: 3, y: 4 },
      ],
    },
    { action: 'left_click_drag', start_coordinate: [1, 2], coordinate: [3, 4] },
  ],
  [
    { type: 'keypress', keys: ['CTRL', 'S'] },
    { action: 'key', text: 'ctrl+s' },
  ],
  [
    { type: 'keypress', keys: ['ENTER'] },
    { action: 'key', text: 'Return' },
  ],
  [
    { type: 'type', text: 'hello+you' },
    { action: 'type', text: 'hello+you' },
  ],
  [
    { type: 'scroll', x: 3, y: 4, scroll_x: 0, scroll_y: -300 },
    { action: 'scroll', coordinate: [3, 4], scroll_direction: 'up', scroll_amount: 3 },
  ],
  [
    { type: 'scroll', x: 3, y: 4, scroll_x: 200, scroll_y: 0 },
    { action: 'scroll', coordinate: [3, 4], scroll_direction: 'right', scroll_amount: 2 },
  ],
  [{ type: 'wait' }, { action: 'wait', duration: 2 }],
  [{ type: 'screenshot' }, { action: 'screenshot' }],
];
/** Actions that only one side has. */
const ONLY_MESSAGES: readonly (readonly [Json, readonly string[]])[] = [
  [{ action: 'triple_click', coordinate: [3, 4] }, ['double_click', 'click']],
  [{ action: 'hold_key', text: 'shift', duration: 3 }, ['keypress']],
  [{ action: 'left_mouse_down' }, ['screenshot']],
  [{ action: 'cursor_position' }, ['screenshot']],
  [{ action: 'left_click' }, ['screenshot']],
  // Members of every object of JavaScript.
  [{ action: 'constructor', coordinate: [3, 4] }, ['screenshot']],
  [{ action: 'scroll', coordinate: [3, 4], scroll_direction: 'constructor' }, ['scroll']],
];

const OVER_MESSAGES = pairOf({ client: 'responses', upstream: 'messages' });
const OVER_RESPONSES = pairOf({ client: 'messages', upstream: 'responses' });

const encodeForMessages = (input: unknown, tool: Json = { type: 'computer' }, more: Json = {}) => {
  const request = OVER_MESSAGES.client.decodeRequest({ model: 'm', input, tools: [tool], ...more }, { headers: {} });
  return { request, encoded: encodeRequestFor(OVER_MESSAGES, request, targetFor('messages')) };
};
const M_TOOL = { type: 'computer_20251124', name: 'computer', display_width_px: 800, display_height_px: 600 };
const encodeForResponses = (messages: unknown) => {
  const body = { model: 'm', max_tokens: 99, messages, tools: [M_TOOL] };
  const request = OVER_RESPONSES.client.decodeRequest(body, { headers: {} });
  return { request, encoded: encodeRequestFor(OVER_RESPONSES, request, targetFor('responses')) };
};
const ASK = { role: 'user', content: 'Open the door.' };
const R_HISTORY = (actions: readonly Json[]) => [
  ASK,
  { type: 'computer_call', id: 'cu_1', call_id: 'c1', status: 'completed', pending_safety_checks: [], actions },
  { type: 'computer_call_output', call_id: 'c1', output: { type: 'computer_screenshot', image_url: DATA_URL } },
];

describe('a responses client over messages', () => {
  test('the tool has the size that the client or its newest screenshot has', () => {
    const toolFor = (input: unknown, tool?: Json) => (encodeForMessages(input, tool).encoded.body.tools as Json[])[0];
    const tool = { type: 'computer_20250124', name: 'computer' };
    const preview = { type: 'computer_use_preview', display_width: 1280, display_height: 720, environment: 'browser' };
    assert.deepEqual(toolFor('hi', preview), { ...tool, display_width_px: 1280, display_height_px: 720 });
    assert.deepEqual(toolFor('hi'), { ...tool, display_width_px: 1024, display_height_px: 768 });
    assert.deepEqual(toolFor(R_HISTORY([{ type: 'screenshot' }])), {
      ...tool,
      display_width_px: 800,
      display_height_px: 600,
    });
    assert.match(encodeForMessages('hi').encoded.headers['anthropic-beta'] ?? '', /computer-use-2025-01-24/);
    assert.deepEqual(encodeForMessages('hi').encoded.dropped, []);
  });

  test('a forced tool is forced', () => {
    const { encoded } = encodeForMessages('hi', undefined, { tool_choice: { type: 'computer' } });
    assert.deepEqual(encoded.body.tool_choice, { type: 'tool', name: 'computer' });
  });

  for (const [responses, messages] of SAME)
    test(`${JSON.stringify(responses)} in the history is ${JSON.stringify(messages)}`, () => {
      const { encoded } = encodeForMessages(R_HISTORY([responses]));
      const [, assistant, results] = encoded.body.messages as { content: Json[] }[];
      assert.deepEqual(assistant?.content, [{ type: 'tool_use', id: 'c1', name: 'computer', input: messages }]);
      assert.deepEqual(results?.content, [{ type: 'tool_result', tool_use_id: 'c1', content: [M_IMAGE] }]);
    });

  test('several actions are several calls, of which the last one has the screenshot', () => {
    const { encoded } = encodeForMessages(R_HISTORY([{ type: 'type', text: 'a' }, { type: 'wait' }]));
    const [, assistant, results] = encoded.body.messages as { content: Json[] }[];
    assert.deepEqual(
      assistant?.content.map(({ id, input }) => [id, (input as Json).action]),
      [
        ['c1_0', 'type'],
        ['c1', 'wait'],
      ],
    );
    assert.deepEqual(
      results?.content.map(({ tool_use_id, content }) => [tool_use_id, (content as Json[])[0]?.type]),
      [
        ['c1_0', 'text'],
        ['c1', 'image'],
      ],
    );
  });

  const reply = (input: Json) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    stop_sequence: null,
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'computer', input }],
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const { request, encoded } = encodeForMessages('hi');
  const context = { request, model: 'm', requestId: 'req_law', issuer: 'messages' as const, created: 0 };
  const outputOf = (input: Json): Json | undefined => {
    const hub = readReply(OVER_MESSAGES.upstream, encoded, reply(input), DECODE_CONTEXT);
    return (OVER_MESSAGES.client.encodeReply(hub, context) as { output: Json[] }).output[0];
  };

  for (const [responses, messages] of SAME)
    test(`a call ${JSON.stringify(messages)} is an item of the response, whole and streamed`, () => {
      const item = outputOf(messages);
      assert.deepEqual(
        [item?.type, item?.call_id, item?.action, item?.actions, item?.pending_safety_checks],
        ['computer_call', 'toolu_1', responses, [responses], []],
      );
      const decoding = openDecoding(OVER_MESSAGES.upstream, encoded, DECODE_CONTEXT);
      const encoder = OVER_MESSAGES.client.openEncoder(context);
      const json = JSON.stringify(messages);
      const events = [
        { type: 'message_start', message: { ...reply({}), content: [] } },
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'computer', input: {} },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json.slice(0, 9) } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json.slice(9) } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ];
      const hub: HubEvent[] = events.flatMap((event) => [...decoding.decode(JSON.stringify(event), event.type)]);
      const text = hub.map((event) => encoder.push(event)).join('');
      const done = dataOf(text).find(({ type }) => type === 'response.output_item.done') as unknown as { item: Json };
      assert.deepEqual({ ...done.item, id: '' }, { ...item, id: '' });
      assert.doesNotMatch(text, /function_call/);
    });

  for (const [messages, types] of ONLY_MESSAGES)
    test(`${JSON.stringify(messages)} becomes ${types.join(' and ')}`, () => {
      assert.deepEqual(
        (outputOf(messages)?.actions as Json[] | undefined)?.map(({ type }) => type),
        types,
      );
    });
});

describe('a messages client over responses', () => {
  const history = (input: Json, content: readonly Json[] = [M_IMAGE]) => [
    ASK,
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'computer', input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content }] },
  ];

  for (const [responses, messages] of SAME)
    test(`${JSON.stringify(messages)} in the history is ${JSON.stringify(responses)}`, () => {
      const { encoded } = encodeForResponses(history(messages));
      assert.deepEqual(encoded.body.tools, [{ type: 'computer' }]);
      const [, call, output] = encoded.body.input as Json[];
      assert.deepEqual(call, {
        type: 'computer_call',
        status: 'completed',
        call_id: 't1',
        pending_safety_checks: [],
        action: responses,
        actions: [responses],
      });
      assert.deepEqual(output, {
        type: 'computer_call_output',
        call_id: 't1',
        output: { type: 'computer_screenshot', image_url: DATA_URL },
      });
    });

  test('a result without a screenshot is rejected unless an earlier one shows the screen', () => {
    const text = [{ type: 'text', text: 'clicked' }];
    assert.throws(() => encodeForResponses(history({ action: 'wait' }, text)), /screenshot/);
  });

  test('a call of the response is one block for each action, whole and streamed', () => {
    const { request, encoded } = encodeForResponses([ASK]);
    const actions = SAME.map(([responses]) => responses);
    const item = {
      type: 'computer_call',
      id: 'cu_1',
      call_id: 'c1',
      status: 'completed',
      pending_safety_checks: [],
      actions,
    };
    const response = {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [item],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    const context = { request, model: 'm', requestId: 'req_law', issuer: 'responses' as const, created: 0 };
    const hub = readReply(OVER_RESPONSES.upstream, encoded, response, DECODE_CONTEXT);
    const { content } = OVER_RESPONSES.client.encodeReply(hub, context) as { content: Json[] };
    assert.deepEqual(
      content.map(({ name, input }) => [name, input]),
      SAME.map(([, messages]) => ['computer', messages]),
    );
    assert.equal(new Set(content.map(({ id }) => id)).size, SAME.length);
    const checks = [{ id: 'sc_1', code: 'c', message: 'm' }];
    const checked = { ...response, output: [{ ...item, pending_safety_checks: checks }] };
    assert.deepEqual(readReply(OVER_RESPONSES.upstream, encoded, checked, DECODE_CONTEXT).omitted, [
      'pending_safety_checks',
    ]);
    const decoding = openDecoding(OVER_RESPONSES.upstream, encoded, DECODE_CONTEXT);
    const encoder = OVER_RESPONSES.client.openEncoder(context);
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', actions: [] } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ];
    const text = events
      .flatMap((event) => [...decoding.decode(JSON.stringify(event), event.type)])
      .map((event) => encoder.push(event))
      .join('');
    const deltas = dataOf(text).flatMap((event) => {
      const { delta } = event as { delta?: { type?: string; partial_json?: string } };
      return delta?.type === 'input_json_delta' && delta.partial_json ? [JSON.parse(delta.partial_json) as Json] : [];
    });
    assert.deepEqual(
      deltas,
      SAME.map(([, messages]) => messages),
    );
  });
});

describe('clients of both over generate-content', () => {
  const EXCLUDED = ['mouse_down', 'mouse_up', 'key_down', 'key_up'];
  /** Calls of the provider's desktop, on a screen of 800 by 600 pixels, and the same in messages. */
  const DESKTOP: readonly (readonly [name: string, args: Json, messages: Json])[] = [
    ['click', { x: 500, y: 500 }, { action: 'left_click', coordinate: [400, 300] }],
    ['double_click', { x: 0, y: 10 }, { action: 'double_click', coordinate: [0, 6] }],
    ['triple_click', { x: 500, y: 500 }, { action: 'triple_click', coordinate: [400, 300] }],
    ['middle_click', { x: 500, y: 500 }, { action: 'middle_click', coordinate: [400, 300] }],
    ['right_click', { x: 500, y: 500 }, { action: 'right_click', coordinate: [400, 300] }],
    ['move', { x: 250, y: 750 }, { action: 'mouse_move', coordinate: [200, 450] }],
    [
      'drag_and_drop',
      { start_x: 250, start_y: 750, end_x: 500, end_y: 500 },
      { action: 'left_click_drag', start_coordinate: [200, 450], coordinate: [400, 300] },
    ],
    [
      'scroll',
      { x: 500, y: 500, direction: 'up', magnitude_in_pixels: 300 },
      { action: 'scroll', coordinate: [400, 300], scroll_direction: 'up', scroll_amount: 3 },
    ],
    ['type', { text: 'hello' }, { action: 'type', text: 'hello' }],
    ['hotkey', { keys: ['ctrl', 's'] }, { action: 'key', text: 'ctrl+s' }],
    ['wait', { seconds: 3 }, { action: 'wait', duration: 3 }],
    ['take_screenshot', {}, { action: 'screenshot' }],
  ];
  const FROM_DESKTOP: typeof DESKTOP = [
    ['type', { text: 'go', press_enter: true }, { action: 'type', text: 'go\n' }],
    ['press_key', { key: 'ArrowUp' }, { action: 'key', text: 'Up' }],
    ['hotkey', { keys: ['Control', 'Enter'] }, { action: 'key', text: 'ctrl+Return' }],
    ['click', {}, { action: 'screenshot' }],
    ['wait', {}, { action: 'wait', duration: 1 }],
  ];
  const TO_DESKTOP: typeof DESKTOP = [
    ['click', { x: 999, y: 0 }, { action: 'left_click', coordinate: [800, -3] }],
    ['take_screenshot', {}, { action: 'left_mouse_down' }],
    ['take_screenshot', {}, { action: 'left_click' }],
    ['hotkey', { keys: ['shift'] }, { action: 'hold_key', text: 'shift', duration: 3 }],
  ];
  const clients = {
    messages: (body: Json) => ({ model: 'm', max_tokens: 99, messages: [ASK], tools: [M_TOOL], ...body }),
    responses: (body: Json) => ({
      model: 'm',
      input: [ASK],
      tools: [{ type: 'computer_use_preview', display_width: 800, display_height: 600, environment: 'linux' }],
      ...body,
    }),
  };
  const open = (client: keyof typeof clients, body: Json = {}, model?: string) => {
    const pair = pairOf({ client, upstream: 'generate' });
    const request = pair.client.decodeRequest(clients[client](body), { headers: {} });
    return { pair, request, encoded: encodeRequestFor(pair, request, targetFor('generate', model)) };
  };
  const FIND = { name: 'move', description: 'd', input_schema: { type: 'object' } };

  test('the tool is a desktop without the actions that the others lack, and without those of its own functions', () => {
    for (const client of ['messages', 'responses'] as const)
      assert.deepEqual(open(client).encoded.body.tools, [
        { computerUse: { environment: 'ENVIRONMENT_DESKTOP', excludedPredefinedFunctions: EXCLUDED } },
      ]);
    const { encoded } = open('messages', { tools: [M_TOOL, FIND] });
    const [functions, computer] = encoded.body.tools as { computerUse: Json; functionDeclarations: Json[] }[];
    assert.equal(functions?.functionDeclarations[0]?.name, 'move');
    assert.deepEqual(computer?.computerUse.excludedPredefinedFunctions, [...EXCLUDED, 'move']);
    assert.equal(encoded.body.toolConfig, undefined);
  });

  test('older models, which drive browsers only, refuse it by name', () => {
    assert.throws(() => open('messages', {}, 'gemini-2.5-pro'), /tools\[0\]: the tool 'computer_20251124'/);
  });

  for (const [name, args, messages] of [...DESKTOP, ...TO_DESKTOP])
    test(`${JSON.stringify(messages)} in the history is ${name} ${JSON.stringify(args)}`, () => {
      const { encoded } = open('messages', {
        messages: [
          ASK,
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'computer', input: messages }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [M_IMAGE] }] },
        ],
      });
      const [, call, result] = encoded.body.contents as { parts: { functionCall: Json; functionResponse: Json }[] }[];
      assert.deepEqual(call?.parts[0]?.functionCall, { id: 't1', name, args });
      const { response, ...given } = result?.parts[0]?.functionResponse ?? {};
      const parts = [{ inlineData: { mimeType: 'image/png', data: SHOT } }];
      assert.deepEqual([given, response], [{ id: 't1', name, parts }, { output: '' }]);
    });

  test('several actions of responses are several calls, on the screen of the newest screenshot', () => {
    const actions = [{ type: 'click', button: 'left', x: 400, y: 300 }, { type: 'wait' }];
    const { encoded } = open('responses', { input: R_HISTORY(actions), tools: [{ type: 'computer' }] });
    const [, calls, results] = encoded.body.contents as { parts: { functionCall: Json; functionResponse: Json }[] }[];
    assert.deepEqual(
      calls?.parts.map(({ functionCall: { name, args } }) => [name, args]),
      [
        ['click', { x: 500, y: 500 }],
        ['wait', { seconds: 2 }],
      ],
    );
    assert.deepEqual(
      results?.parts.map(({ functionResponse: { name, parts } }) => [name, parts !== undefined]),
      [
        ['click', false],
        ['wait', true],
      ],
    );
  });

  const chunk = (name: string, args: Json) => ({
    candidates: [
      { content: { role: 'model', parts: [{ functionCall: { id: 'g1', name, args } }] }, finishReason: 'STOP' },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });
  const reply = (client: keyof typeof clients, name: string, args: Json, body?: Json) => {
    const { pair, request, encoded } = open(client, body);
    const context = { request, model: 'm', requestId: 'req_law', issuer: 'generate-content' as const, created: 0 };
    const hub = readReply(pair.upstream, encoded, chunk(name, args), DECODE_CONTEXT);
    const decoding = openDecoding(pair.upstream, encoded, DECODE_CONTEXT);
    const encoder = pair.client.openEncoder(context);
    const events = [...decoding.decode(JSON.stringify(chunk(name, args))), ...decoding.end()];
    return {
      whole: pair.client.encodeReply(hub, context) as { content: Json[]; output: Json[] },
      streamed: dataOf(events.map((event) => encoder.push(event)).join('')),
      omitted: hub.omitted,
    };
  };

  for (const [name, args, messages] of [...DESKTOP, ...FROM_DESKTOP])
    test(`a call ${name} ${JSON.stringify(args)} is ${JSON.stringify(messages)}, whole and streamed`, () => {
      const { whole, streamed } = reply('messages', name, args);
      const [{ type, name: tool, input } = {}] = whole.content;
      assert.deepEqual([type, tool, input], ['tool_use', 'computer', messages]);
      const deltas = streamed.flatMap(({ delta }) => (delta as Json | undefined)?.partial_json ?? []);
      assert.deepEqual(JSON.parse(deltas.join('')), messages);
    });

  test('a responses client gets its own item, with what its user should confirm', () => {
    const safety_decision = { decision: 'require_confirmation', explanation: 'Pays.' };
    const args = { x: 500, y: 500, intent: 'Pay', safety_decision };
    const click = { type: 'click', button: 'left', x: 400, y: 300, keys: null };
    const checks = [{ id: 'g1', code: 'require_confirmation', message: 'Pays.' }];
    const { whole, streamed, omitted } = reply('responses', 'click', args);
    const done = streamed.find(({ type }) => type === 'response.output_item.done') as unknown as { item: Json };
    for (const item of [whole.output[0], done.item])
      assert.deepEqual(
        [item?.type, item?.call_id, item?.actions, item?.pending_safety_checks],
        ['computer_call', 'g1', [click], checks],
      );
    assert.deepEqual(omitted, ['intent']);
    assert.deepEqual(reply('messages', 'click', args).omitted, ['pending_safety_checks', 'intent']);
  });

  test('a function of the client stays one', () => {
    const { whole } = reply('messages', 'move', { x: 1, y: 2 }, { tools: [M_TOOL, FIND] });
    assert.deepEqual([whole.content[0]?.name, whole.content[0]?.input], ['move', { x: 1, y: 2 }]);
  });
});

test('toolsets, and the computer tool of generate-content, are refused where they have no counterpart', () => {
  for (const type of ['computer_toolset_20260801', 'browser_toolset_20260801']) {
    const body = { model: 'm', max_tokens: 9, messages: [ASK], tools: [{ type }] };
    const request = OVER_RESPONSES.client.decodeRequest(body, { headers: {} });
    assert.throws(
      () => encodeRequestFor(OVER_RESPONSES, request, targetFor('responses')),
      new RegExp(`tools\\[0\\]: the tool '${type}'`),
    );
  }
  const pair = pairOf({ client: 'generate', upstream: 'messages' });
  const asked = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], tools: [{ computerUse: {} }] };
  const request = pair.client.decodeRequest(asked, { headers: {}, model: 'm' });
  assert.throws(() => encodeRequestFor(pair, request, targetFor('messages')), /tools\[0\]: the tool 'computerUse'/);
});
