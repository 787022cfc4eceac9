/** Requests, configurations and stream readers for tests that run all seven conversions over HTTP. */
import assert from 'node:assert/strict';
import type { ErrorFormat, Style } from '../../src/rules/index.ts';

export type ClientDialect = 'messages' | 'chat' | 'responses';

export interface Pair {
  readonly client: ClientDialect;
  readonly group: string;
  readonly upstream: 'messages' | 'responses' | 'generate';
}

/** `plain` is a responses-style group whose account has no chat endpoint, so chat requests are converted. */
export const PAIRS: readonly Pair[] = [
  { client: 'messages', group: 'openai', upstream: 'responses' },
  { client: 'messages', group: 'gemini', upstream: 'generate' },
  { client: 'chat', group: 'claude', upstream: 'messages' },
  { client: 'chat', group: 'gemini', upstream: 'generate' },
  { client: 'chat', group: 'plain', upstream: 'responses' },
  { client: 'responses', group: 'claude', upstream: 'messages' },
  { client: 'responses', group: 'gemini', upstream: 'generate' },
];
export const pairName = ({ client, group, upstream }: Pair): string => `${client} on ${group} (${upstream})`;

export const ERROR_FORMAT: Readonly<Record<ClientDialect, ErrorFormat>> = {
  messages: 'messages',
  chat: 'openai',
  responses: 'openai',
};
export const STYLE: Readonly<Record<Pair['upstream'], Style>> = {
  messages: 'messages',
  responses: 'responses',
  generate: 'generate-content',
};
const PATH: Readonly<Record<ClientDialect, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
};

// ---------------------------------------------------------------- configuration

export interface TestAccount {
  readonly api_key?: string;
  readonly max_concurrency?: number;
  /** The upstream name of model `demo-text` at this account; it may select a fault of the simulator. */
  readonly text?: string;
}

/** A group for one test, so that an account in cooldown does not affect other tests. Accounts are tried in order. */
export interface TestGroup {
  readonly id: string;
  readonly upstream: Pair['upstream'];
  readonly accounts: readonly TestAccount[];
  /** Base URL of the accounts; the simulator by default. */
  readonly url?: string;
}

export function groupsSetup(testGroups: readonly TestGroup[], simulator: string): object {
  const groups = testGroups.map(({ id }) => id);
  return {
    groups: testGroups.map(({ id, upstream }) => ({ id, style: STYLE[upstream] })),
    accounts: testGroups.flatMap(({ id, upstream, accounts, url = simulator }) =>
      accounts.map(({ text, ...more }, n) => ({
        id: `${id}-${n}`,
        group: id,
        base_url: upstream === 'responses' ? `${url}/v1` : url,
        api_key: `sk-upstream-${id}-${n}`,
        priority: n,
        ...(upstream === 'responses' && { features: ['responses'] }),
        ...(text !== undefined && { models: { 'demo-text': text } }),
        ...more,
      })),
    ),
    models: [
      { id: 'demo-*', groups, free: true },
      { id: 'missing-*', groups, free: true },
      { id: 'alias-*', groups, upstream: 'demo-text', free: true },
    ],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '100' }],
    keys: groups.map((group) => ({ user: 'ana', group, name: 'test' })),
  };
}

// ---------------------------------------------------------------- requests

export interface ChatInput {
  readonly model?: string;
  readonly text: string;
  readonly system?: string;
  readonly stream?: boolean;
  readonly tools?: readonly ToolSpec[];
  readonly thinks?: boolean;
  readonly maxTokens?: number;
  readonly schema?: object;
  readonly image?: { readonly mime: string; readonly data: string };
  /** Further fields in the client's dialect, sent as they are. */
  readonly more?: object;
}

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

const BODY: Readonly<Record<ClientDialect, (input: ChatInput) => Record<string, unknown>>> = {
  messages: ({ text, system, tools, thinks, maxTokens, schema, image }) => ({
    max_tokens: maxTokens ?? 4_000,
    ...(system !== undefined && { system }),
    messages: [
      {
        role: 'user',
        content: image
          ? [
              { type: 'image', source: { type: 'base64', media_type: image.mime, data: image.data } },
              { type: 'text', text },
            ]
          : text,
      },
    ],
    ...(tools && {
      tools: tools.map(({ name, description, schema: input_schema }) => ({ name, description, input_schema })),
    }),
    ...(thinks && { thinking: { type: 'enabled', budget_tokens: 1_024 } }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
  }),
  chat: ({ text, system, stream, tools, thinks, maxTokens, schema, image }) => ({
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      {
        role: 'user',
        content: image
          ? [
              { type: 'image_url', image_url: { url: `data:${image.mime};base64,${image.data}` } },
              { type: 'text', text },
            ]
          : text,
      },
    ],
    ...(stream && { stream_options: { include_usage: true } }),
    ...(tools && {
      tools: tools.map(({ name, description, schema: parameters }) => ({
        type: 'function',
        function: { name, description, parameters },
      })),
    }),
    ...(thinks && { reasoning_effort: 'high' }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }),
  }),
  responses: ({ text, system, tools, thinks, maxTokens, schema, image }) => ({
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(system !== undefined && { instructions: system }),
    input: image
      ? [
          {
            role: 'user',
            content: [
              { type: 'input_image', image_url: `data:${image.mime};base64,${image.data}`, detail: 'auto' },
              { type: 'input_text', text },
            ],
          },
        ]
      : text,
    ...(tools && {
      tools: tools.map(({ name, description, schema: parameters }) => ({
        type: 'function',
        name,
        description,
        parameters,
        strict: false,
      })),
    }),
    ...(thinks && { reasoning: { effort: 'high', summary: 'auto' } }),
    ...(schema && { text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } } }),
  }),
};

export const requestBody = (client: ClientDialect, input: ChatInput): Record<string, unknown> => ({
  model: input.model ?? 'demo-text',
  ...BODY[client](input),
  ...(input.stream && { stream: true }),
  ...input.more,
});

export const post = (url: string, client: ClientDialect, key: string, body: unknown, signal?: AbortSignal) =>
  fetch(url + PATH[client], {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });

/** The same request as bytes, for tests that read the socket themselves. */
export function rawPost(client: ClientDialect, key: string, body: unknown): string {
  const text = JSON.stringify(body);
  const head = [
    `POST ${PATH[client]} HTTP/1.1`,
    'host: gateway.test',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

// ---------------------------------------------------------------- streams

export interface SseBlock {
  readonly event?: string;
  readonly data?: string;
  /** A comment line; SSE readers ignore it. */
  readonly comment?: string;
}

/** The blocks of a finished stream. Bytes after the last blank line fail the test. */
export function parseBlocks(text: string): SseBlock[] {
  const pieces = text.split('\n\n');
  assert.equal(pieces.pop(), '', 'the last block is complete');
  return pieces.map((piece) => {
    const lines = piece.split('\n');
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [event, data, comment] = [field('event'), field('data'), field('')];
    return {
      ...(event !== undefined && { event }),
      ...(data !== undefined && { data }),
      ...(comment !== undefined && { comment }),
    };
  });
}

export const blockData = (block: SseBlock | undefined): Record<string, unknown> =>
  JSON.parse(block?.data ?? assert.fail(`no data in ${JSON.stringify(block)}`));

export interface StreamError {
  readonly code: unknown;
  readonly type: unknown;
  readonly message: string;
}

/** Asserts that a stream ends with the error event of its dialect and has no normal end; returns the error. */
export const streamError: Readonly<Record<ClientDialect, (blocks: readonly SseBlock[]) => StreamError>> = {
  messages(blocks) {
    const names = blocks.map(({ event }) => event);
    assert.equal(names.indexOf('error'), names.length - 1, 'the error is the last event, and the only one');
    assert.ok(!names.includes('message_delta') && !names.includes('message_stop'), 'no normal end');
    const { type, error, request_id } = blockData(blocks.at(-1)) as {
      type: string;
      error: StreamError;
      request_id: string;
    };
    assert.equal(type, 'error');
    assert.match(request_id, /^req_/);
    return error;
  },
  chat(blocks) {
    const events = blocks.filter(({ data }) => data !== undefined);
    assert.ok(!events.some(({ data }) => data === '[DONE]'), 'a broken stream is not done');
    const chunks = events.slice(0, -1).map((block) => blockData(block) as { choices: { finish_reason: unknown }[] });
    assert.ok(chunks.every(({ choices }) => choices.every(({ finish_reason }) => finish_reason === null)));
    const last = blockData(events.at(-1)) as { error: StreamError };
    assert.deepEqual(Object.keys(last), ['error']);
    assert.deepEqual(Object.keys(last.error).sort(), ['code', 'message', 'param', 'type']);
    return last.error;
  },
  responses(blocks) {
    const events = blocks.filter(({ data }) => data !== undefined);
    const names = events.map(({ event }) => event);
    for (const end of ['response.completed', 'response.incomplete', 'error']) assert.ok(!names.includes(end), end);
    assert.equal(names.indexOf('response.failed'), names.length - 1, 'the failure is the last event');
    assert.deepEqual(
      events.map((block) => blockData(block).sequence_number),
      events.map((_, n) => n),
    );
    const { response } = blockData(events.at(-1)) as {
      response: { status: string; error: StreamError; output: unknown };
    };
    assert.equal(response.status, 'failed');
    assert.ok(Array.isArray(response.output));
    return { ...response.error, type: undefined };
  },
};
