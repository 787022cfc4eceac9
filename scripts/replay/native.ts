/** The first way: a real request on a key of its own dialect. Request and response pass unchanged. */
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import type { ReceivedRequest } from '../../test/support/canned.ts';
import { readBody } from './events.ts';
import { canonical } from './facts.ts';
import { isBroken } from './fold.ts';
import { isFramed } from './frames.ts';
import type { Lane } from './lanes.ts';
import { type Difference, difference, type Outcome, type Replay } from './outcome.ts';
import { isRecord, type JsonRecord, jsonOf, type Recording, recordOf } from './recording.ts';
import { rejectionIn } from './rejection.ts';

export interface Sent {
  readonly path: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export async function replayNative(replay: Replay, lane: Lane): Promise<Outcome> {
  const { recording } = replay;
  const sent = requestFor(recording);
  const received = lane.play(() => recording);
  const response = await fetch(lane.url + sent.path, {
    method: 'POST',
    headers: headersOf(sent.headers, lane.keys[recording.cloud ?? recording.dialect]),
    body: sent.body,
  });
  const body = Buffer.from(await response.arrayBuffer());
  const spoilsLane = response.status >= 500 || recording.status !== 200;
  const refusal = received.length === 0 ? rejectionIn(response.status, body.toString('utf8')) : undefined;
  if (refusal !== undefined) return { replay, refusal, differences: [], spoilsLane };
  return {
    replay,
    differences: [
      ...(received[0] ? requestDifferences(sent, received[0], recording) : []),
      ...responseDifferences(recording, response.status, body),
    ],
    spoilsLane,
  };
}

export const headersOf = (headers: Readonly<Record<string, string>>, key: string): Record<string, string> => ({
  ...headers,
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
});

/** The recorded request, or the smallest one that a fixture could be the response to. */
export function requestFor({ dialect, cloud, request, isStream }: Recording): Sent {
  if (dialect === 'converse') throw new TypeError('no client speaks Converse');
  const model = request?.model || 'replayed-model';
  const verb = isStream ? 'streamGenerateContent' : 'generateContent';
  const query = request?.query ?? (dialect === 'generate' && isStream ? '?alt=sse' : '');
  return {
    path: (dialect === 'generate' ? `/v1beta/models/${model}:${verb}` : PATHS[dialect]) + query,
    body:
      (request && withModel(dialect, cloud ? fromCloud(request.json, isStream) : request.json, model, request.body)) ||
      smallest(dialect, model, isStream),
    headers: request?.headers ?? {},
  };
}

export const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const;

/** Without what the cloud adds to a body of the provider's own API, and with what it has in the path. */
const fromCloud = ({ anthropic_version, ...json }: JsonRecord, isStream: boolean): JsonRecord =>
  anthropic_version !== undefined && isStream ? { ...json, stream: true } : json;

/** Some servers take the model from the path. */
function withModel(dialect: Dialect, json: JsonRecord, model: string, body: Buffer): Buffer {
  if (dialect === 'generate' || json.model === model) return body;
  return Buffer.from(JSON.stringify({ model, ...json }));
}

function smallest(dialect: Dialect, model: string, isStream: boolean): Buffer {
  const stream = isStream ? { stream: true } : {};
  const turn = { role: 'user', content: 'Hello' };
  const bodies: Readonly<Record<Dialect, object>> = {
    messages: { model, max_tokens: 1_000, messages: [turn], ...stream },
    chat: { model, messages: [turn], ...stream, ...(isStream && { stream_options: { include_usage: true } }) },
    responses: { model, input: 'Hello', ...stream },
    generate: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  };
  return Buffer.from(JSON.stringify(bodies[dialect]));
}

// ---------------------------------------------------------------- comparison

function requestDifferences(sent: Sent, received: ReceivedRequest, recording: Recording): Difference[] {
  const { dialect, cloud } = recording;
  if (cloud) return cloudDifferences(received, recording);
  const path = sent.path === received.target ? [] : [difference('request path', sent.path, received.target)];
  if (sent.body.equals(received.body) || isUsageAdded(dialect, sent.body, received.body)) return path;
  return [...path, difference('request bytes', sent.body.toString('utf8'), received.body.toString('utf8'))];
}

/** A cloud gets its own path, and what it adds to the body in another place. */
function cloudDifferences({ target, body }: ReceivedRequest, { cloud, request, isStream }: Recording): Difference[] {
  const model = request?.model ?? '';
  const path =
    cloud === 'bedrock'
      ? `/model/${encodeURIComponent(model)}/${isStream ? 'invoke-with-response-stream' : 'invoke'}`
      : `/publishers/google/models/${model}:${isStream ? 'streamGenerateContent' : 'generateContent'}`;
  const [given, expected] = [jsonOf(body.toString('utf8')), request?.json];
  return [
    ...(target.replace(/\?.*$/, '').endsWith(path) ? [] : [difference('request path', path, target)]),
    ...(canonical(given) === canonical(expected)
      ? []
      : [difference('request body', canonical(expected), canonical(given))]),
  ];
}

/** The gateway asks a chat stream for its usage, and changes nothing else (ADR 13). */
function isUsageAdded(dialect: UpstreamDialect, sent: Buffer, received: Buffer): boolean {
  if (dialect !== 'chat') return false;
  const [before, after] = [sent, received].map((bytes) => recordOf(jsonOf(bytes.toString('utf8'))));
  const { stream_options: asked, ...rest } = recordOf(before);
  const { stream_options: added, ...same } = recordOf(after);
  const expected = { ...recordOf(asked), include_usage: true };
  return canonical(rest) === canonical(same) && canonical(added) === canonical(expected);
}

function responseDifferences(recording: Recording, status: number, body: Buffer): Difference[] {
  if (status !== recording.status)
    return [difference('status', recording.status, `${status} ${body.toString('utf8')}`)];
  if (body.equals(recording.body)) return [];
  if (isFramed(recording.body)) return eventDifferences(recording, body);
  const [expected, found] = [recording.body.toString('utf8'), body.toString('utf8')];
  if (isUsageHidden(recording, found)) return [];
  // The gateway ends a stream that broke off with an error.
  if (isBroken(recording) && found.startsWith(expected)) return [];
  // A chat stream that is finished gets the `[DONE]` that it lacks (`TOLERANCES.noTerminalEvent`).
  if (found === `${expected}data: [DONE]\n\n`) return [];
  const at = [...expected].findIndex((char, n) => char !== found[n]);
  return [difference('response bytes', expected.slice(Math.max(0, at - 20)), found.slice(Math.max(0, at - 20)))];
}

/** A client gets the events of a cloud's frames as server-sent events. */
function eventDifferences({ events }: Recording, body: Buffer): Difference[] {
  const [expected, found] = [events, readBody(body.toString('utf8'))?.events].map(canonical);
  return expected === found ? [] : [difference('response events', expected, found)];
}

/** A client that did not ask for usage does not get the chunk that holds nothing else (ADR 13). */
function isUsageHidden({ dialect, isStream, request, body }: Recording, found: string): boolean {
  if (dialect !== 'chat' || !isStream || recordOf(request?.json.stream_options).include_usage === true) return false;
  const blocks = body.toString('utf8').split(/(?<=\r?\n\r?\n)/);
  return blocks.filter((block) => !isUsageChunk(block)).join('') === found;
}

function isUsageChunk(block: string): boolean {
  const chunk = jsonOf(block.trim().replace(/^data: ?/, ''));
  return isRecord(chunk) && isRecord(chunk.usage) && Array.isArray(chunk.choices) && chunk.choices.length === 0;
}
