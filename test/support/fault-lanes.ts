/** Lanes of the fault matrix: how a client calls the gateway, and how its response ended. */
import assert from 'node:assert/strict';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { readSse } from '../../src/core/index.ts';
import type { Dialect, ErrorFormat } from '../../src/rules/index.ts';
import { errorCode } from './error-body.ts';
import { ResponsesSocketClient } from './websocket.ts';

export type LaneMode = 'unary' | 'stream' | 'websocket';
/**
 * `plain` is a responses-style group whose accounts have no chat endpoint; `relayed` one whose accounts have
 * WebSockets.
 */
export type LaneGroup = 'claude' | 'openai' | 'gemini' | 'plain' | 'relayed';

export interface Lane {
  readonly client: Dialect;
  readonly group: LaneGroup;
  readonly mode: LaneMode;
}

const STYLE: Readonly<Record<LaneGroup, string>> = {
  claude: 'messages',
  openai: 'responses',
  gemini: 'generate-content',
  plain: 'responses',
  relayed: 'responses',
};
const FEATURES: Partial<Record<LaneGroup, readonly string[]>> = {
  openai: ['responses', 'chat', 'images', 'embeddings'],
  plain: ['responses'],
};
export const LANE_GROUPS = Object.keys(STYLE) as LaneGroup[];

/** A group of the configuration file with one account for each address, which are tried in this order. */
export function laneSetup(
  id: string,
  group: LaneGroup,
  urls: readonly string[],
): { group: object; accounts: object[] } {
  const style = STYLE[group];
  return {
    group: { id, style },
    accounts: urls.map((url, priority) => ({
      id: `${id}-${priority}`,
      group: id,
      base_url: style === 'responses' ? `${url}/v1` : url,
      api_key: `sk-upstream-${id}-${priority}`,
      priority,
      ...(FEATURES[group] && { features: FEATURES[group] }),
    })),
  };
}

/** Lanes whose bytes are forwarded, and for each client dialect those whose group speaks another one. */
export const NATIVE_LANES: readonly Lane[] = [
  { client: 'messages', group: 'claude', mode: 'unary' },
  { client: 'chat', group: 'openai', mode: 'unary' },
  { client: 'responses', group: 'openai', mode: 'unary' },
  { client: 'generate', group: 'gemini', mode: 'unary' },
];
export const CONVERTED_LANES: readonly (readonly Lane[])[] = [
  [
    { client: 'messages', group: 'openai', mode: 'unary' },
    { client: 'messages', group: 'gemini', mode: 'unary' },
  ],
  [
    { client: 'chat', group: 'claude', mode: 'unary' },
    { client: 'chat', group: 'gemini', mode: 'unary' },
    { client: 'chat', group: 'plain', mode: 'unary' },
  ],
  [
    { client: 'responses', group: 'claude', mode: 'unary' },
    { client: 'responses', group: 'gemini', mode: 'unary' },
  ],
];
export const SOCKET_LANES: readonly Lane[] = (['openai', 'claude', 'gemini', 'relayed'] as const).map((group) => ({
  client: 'responses',
  group,
  mode: 'websocket',
}));

/** The bytes of the provider pass to the client as they are. */
export const isNative = ({ client, group }: Lane): boolean =>
  NATIVE_LANES.some((lane) => lane.client === client && lane.group === group);

export const laneName = ({ client, group, mode }: Lane): string => `${client} on ${group}, ${mode}`;

/**
 * What the client received. `complete`: the reply has its end. `error`: an HTTP error, or the error event of the
 * dialect at the end. `both`: a stream with its end and an error after it.
 */
export interface Outcome {
  readonly end: 'complete' | 'error' | 'both';
  /** Of an HTTP error or an error frame; 200 for an error inside a stream. */
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
  /** Undefined for a turn on a WebSocket. */
  readonly requestId: string | undefined;
}

export interface LaneCall {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly hasTool: boolean;
  readonly agent: Agent;
}

export const PROMPT = 'hello there my dear friend';
const TOOL_PROMPT = 'What is the weather in "Paris"? Use the tool get_weather.';

export async function runLane(lane: Lane, call: LaneCall): Promise<Outcome> {
  if (lane.mode === 'websocket') return runTurn(call);
  const isStream = lane.mode === 'stream';
  const body = JSON.stringify(BODIES[lane.client](call.model, isStream, call.hasTool));
  const response = await post(call, pathOf(lane.client, call.model, isStream), body);
  if (response.status >= 400) return httpError(lane.client, response);
  assert.equal(response.status, 200, response.text.slice(0, 200));
  const requestId = idOf(response);
  if (isStream) return { ...endOfStream(lane.client, response.text), requestId };
  return {
    end: 'complete',
    status: 200,
    code: undefined,
    text: textOf(lane.client, JSON.parse(response.text.replace(/^\ufeff/, ''))),
    requestId,
  };
}

// ---------------------------------------------------------------- requests

const pathOf = (client: Dialect, model: string, isStream: boolean): string =>
  ({
    messages: '/v1/messages',
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    generate: `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  })[client];

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const TOOL = { name: 'get_weather', description: 'Returns the weather of a city' };
type Body = (model: string, stream: boolean, hasTool: boolean) => Record<string, unknown>;

const BODIES: Readonly<Record<Dialect, Body>> = {
  messages: (model, stream, hasTool) => ({
    model,
    stream,
    max_tokens: 30_000,
    messages: [{ role: 'user', content: hasTool ? TOOL_PROMPT : PROMPT }],
    ...(hasTool && { tools: [{ ...TOOL, input_schema: SCHEMA }] }),
  }),
  chat: (model, stream, hasTool) => ({
    model,
    stream,
    messages: [{ role: 'user', content: hasTool ? TOOL_PROMPT : PROMPT }],
    ...(hasTool && { tools: [{ type: 'function', function: { ...TOOL, parameters: SCHEMA } }] }),
  }),
  responses: (model, stream, hasTool) => ({
    model,
    stream,
    input: hasTool ? TOOL_PROMPT : PROMPT,
    ...(hasTool && { tools: [{ type: 'function', ...TOOL, parameters: SCHEMA, strict: false }] }),
  }),
  generate: (_model, _stream, hasTool) => ({
    contents: [{ role: 'user', parts: [{ text: hasTool ? TOOL_PROMPT : PROMPT }] }],
    ...(hasTool && { tools: [{ functionDeclarations: [{ ...TOOL, parameters: SCHEMA }] }] }),
  }),
};

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Rejects when the response does not end properly: the gateway must never just close a connection. */
function post({ url, key, agent }: LaneCall, path: string, body: string): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const sent = request(url + path, { method: 'POST', agent, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => void chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(chunks).toString('utf8'),
      }),
    );
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function runTurn({ url, key, model, hasTool }: LaneCall): Promise<Outcome> {
  const client = await new ResponsesSocketClient(url, key).open();
  const closed = Promise.withResolvers<never>();
  client.socket.on('close', () => closed.reject(new Error('the WebSocket closed before the turn ended')));
  try {
    const { stream: _, ...create } = BODIES.responses(model, true, hasTool);
    const last = await Promise.race([client.turn(create), closed.promise]);
    const isComplete = /^response\.(?:completed|incomplete)$/.test(last.type);
    const numbers = client.frames.flatMap(({ sequence_number: number }) =>
      typeof number === 'number' ? [number] : [],
    );
    assert.ok(numbers[0] === undefined || numbers[0] === 0, `the first frame has number ${numbers[0]}`);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
      'frames are numbered in order',
    );
    const failure = last.response as { error?: { code?: string } } | undefined;
    return {
      end: isComplete ? 'complete' : 'error',
      status: last.status ?? 200,
      code: last.error?.code ?? failure?.error?.code,
      text: isComplete ? textOf('responses', last.response) : '',
      requestId: undefined,
    };
  } finally {
    client.socket.on('close', () => {});
    closed.promise.catch(() => {});
    client.socket.close();
  }
}

// ---------------------------------------------------------------- responses

const FORMAT: Readonly<Record<Dialect, ErrorFormat>> = {
  messages: 'messages',
  chat: 'openai',
  responses: 'openai',
  generate: 'generate',
};

const idOf = ({ headers }: Received): string => String(headers['x-request-id']);

function httpError(client: Dialect, response: Received): Outcome {
  const { status, headers, text } = response;
  assert.match(headers['content-type'] ?? '', /^application\/json/);
  assert.ok(!/sk-upstream|127\.0\.0\.1/.test(text), 'no account secret or address');
  const retryAfter = headers['retry-after'];
  if (retryAfter !== undefined) assert.match(retryAfter, /^[1-9]\d{0,3}$/, 'seconds, at most an hour or so');
  return { end: 'error', status, code: codeIn(client, status, text), text, requestId: idOf(response) };
}

/** An error that the gateway forwards keeps the provider's own members; one of its own is validated. */
function codeIn(client: Dialect, status: number, text: string): string {
  const body = JSON.parse(text) as { error?: { message?: unknown } };
  assert.equal(typeof body.error?.message, 'string', `an error in ${text.slice(0, 200)}`);
  return text.includes('imulated') || /prompt is too long|exceeds|API key/.test(text)
    ? 'provider'
    : errorCode(FORMAT[client], status, body);
}

interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
}

function endOfStream(client: Dialect, body: string): Omit<Outcome, 'requestId'> {
  const events: SseEvent[] = [];
  readSse((data, event) => void events.push({ event, data })).feed(Buffer.from(`${body}\n\n`));
  const kept = events.filter(({ data, event }) => data !== '' && event !== 'ping' && event !== 'provider.telemetry');
  const { end, code } = ENDS[client](kept);
  return { end, status: 200, code, text: kept.map(({ data }) => deltaOf(client, data)).join('') };
}

type End = Pick<Outcome, 'end' | 'code'>;
interface EventData {
  readonly type?: string;
  readonly choices?: readonly {
    readonly finish_reason?: string | null;
    readonly delta?: { readonly content?: string };
  }[];
  readonly candidates?: readonly {
    readonly finishReason?: string;
    readonly content?: { readonly parts?: readonly { readonly text?: string }[] };
  }[];
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly type?: unknown };
  readonly response?: { readonly status?: string; readonly error?: { readonly code?: string } };
  readonly delta?: unknown;
  readonly code?: unknown;
}

const parsed = (data: string): EventData => {
  try {
    return JSON.parse(data) as EventData;
  } catch {
    return {};
  }
};
const COMPLETE: End = { end: 'complete', code: undefined };

/** Asserts that the stream ends with exactly one end of its dialect, normal or not. */
const ENDS: Readonly<Record<Dialect, (events: readonly SseEvent[]) => End>> = {
  messages(events) {
    const last = events.at(-1);
    if (last?.event === 'message_stop') {
      assert.ok(!events.some(({ event }) => event === 'error'), 'no error in a complete stream');
      return COMPLETE;
    }
    assert.equal(last?.event, 'error', `ends with ${JSON.stringify(last)}`);
    const { type, error } = parsed(last?.data ?? '');
    assert.equal(type, 'error');
    assert.equal(typeof error?.message, 'string');
    return { end: events.some(({ event }) => event === 'message_stop') ? 'both' : 'error', code: String(error?.type) };
  },
  chat(events) {
    const last = events.at(-1);
    if (last?.data === '[DONE]') return COMPLETE;
    const { error } = parsed(last?.data ?? '');
    assert.equal(typeof error?.message, 'string', `ends with ${JSON.stringify(last)}`);
    return { end: events.some(({ data }) => data === '[DONE]') ? 'both' : 'error', code: String(error?.code) };
  },
  responses(events) {
    const last = events.at(-1);
    const { type, response, code, error } = parsed(last?.data ?? '');
    if (type === 'response.completed' || type === 'response.incomplete') return COMPLETE;
    const isError = type === 'response.failed' || type === 'error' || error !== undefined;
    assert.ok(isError, `ends with ${JSON.stringify(last)?.slice(0, 300)}`);
    const isBoth = events.some(({ data }) => parsed(data).type === 'response.completed');
    return { end: isBoth ? 'both' : 'error', code: String(response?.error?.code ?? code) };
  },
  generate(events) {
    const { candidates, error } = parsed(events.at(-1)?.data ?? '');
    if (candidates?.some(({ finishReason }) => finishReason)) return COMPLETE;
    assert.equal(typeof error?.message, 'string', `ends with ${JSON.stringify(events.at(-1))?.slice(0, 300)}`);
    const isBoth = events.some(({ data }) => parsed(data).candidates?.some(({ finishReason }) => finishReason));
    return { end: isBoth ? 'both' : 'error', code: String(error?.code) };
  },
};

function deltaOf(client: Dialect, data: string): string {
  const event = parsed(data);
  if (client === 'chat') return event.choices?.map(({ delta }) => delta?.content ?? '').join('') ?? '';
  if (client === 'generate')
    return (
      event.candidates
        ?.flatMap(({ content }) => content?.parts ?? [])
        .map(({ text = '' }) => text)
        .join('') ?? ''
    );
  if (client === 'responses')
    return event.type === 'response.output_text.delta' ? String((event as { delta: string }).delta) : '';
  const { text = '' } = (event.delta ?? {}) as { text?: string };
  return event.type === 'content_block_delta' ? text : '';
}

/** The text of a unary reply. */
function textOf(client: Dialect, body: unknown): string {
  const reply = body as {
    content?: readonly { text?: string }[];
    choices?: readonly { message?: { content?: string | null } }[];
    output?: readonly { content?: readonly { text?: string }[] }[];
    candidates?: readonly { content?: { parts?: readonly { text?: string }[] } }[];
  };
  const texts: Readonly<Record<Dialect, () => readonly (string | null | undefined)[] | undefined>> = {
    messages: () => reply.content?.map(({ text }) => text),
    chat: () => reply.choices?.map(({ message }) => message?.content),
    responses: () => reply.output?.flatMap(({ content }) => content ?? []).map(({ text }) => text),
    generate: () => reply.candidates?.flatMap(({ content }) => content?.parts ?? []).map(({ text }) => text),
  };
  const found = texts[client]();
  assert.ok(found, `a reply of the ${client} dialect: ${JSON.stringify(body).slice(0, 200)}`);
  return found.join('');
}
