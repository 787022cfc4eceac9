/** Endpoints of stored responses, token counts and compaction. */
import { Failure, invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { nowSeconds } from '../ids.ts';
import { type JsonObject, objectsOf, textOf } from '../json.ts';
import { mint } from '../opaque.ts';
import { sendStream } from '../stream.ts';
import { promptTokens } from '../usage.ts';
import { readRequest } from './request.ts';
import { usageOf } from './response.ts';
import type { StoredResponse } from './store.ts';

export async function readStored(exchange: Exchange, id: string): Promise<void> {
  const stored = find(exchange, id);
  stored.pending = false;
  if (exchange.query.get('stream') !== 'true') return exchange.sendJson(stored.response);
  const after = Number(exchange.query.get('starting_after') ?? -1);
  const stream = stored.replay();
  await sendStream(exchange, { ...stream, frames: skip(stream.frames, after + 1) });
}

export async function deleteStored(exchange: Exchange, id: string): Promise<void> {
  find(exchange, id);
  exchange.state.responses.delete(id);
  await exchange.sendJson({ id, object: 'response', deleted: true });
}

export async function cancelStored(exchange: Exchange, id: string): Promise<void> {
  const stored = find(exchange, id);
  if (!stored.background) throw invalid('Cannot cancel a synchronous response.');
  if (stored.pending) {
    stored.pending = false;
    stored.response = {
      ...stored.response,
      status: 'cancelled',
      completed_at: null,
      output: [],
      usage: null,
      tool_usage: undefined,
    };
  }
  await exchange.sendJson(stored.response);
}

export async function listInput(exchange: Exchange, id: string): Promise<void> {
  const { input } = find(exchange, id);
  const ordered = exchange.query.get('order') === 'asc' ? input : input.toReversed();
  const after = exchange.query.get('after');
  const start = after === null ? 0 : ordered.findIndex((item) => item.id === after) + 1;
  const limit = Math.min(Math.max(1, Number(exchange.query.get('limit') ?? 20) || 20), 100);
  const data = ordered.slice(start, start + limit).map(listed);
  await exchange.sendJson({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  });
}

export async function countInput(exchange: Exchange): Promise<void> {
  const { view } = readRequest(exchange, true);
  await exchange.sendJson({ object: 'response.input_tokens', input_tokens: promptTokens(view) });
}

/** Keeps user messages and replaces the other items by one opaque item. */
export async function compact(exchange: Exchange): Promise<void> {
  const { view, history } = readRequest(exchange);
  const { ids } = exchange.state;
  const id = ids.next('cmp_');
  const people = history
    .filter((item) => item.role === 'user')
    .map((item) => listed({ ...item, id: ids.next('msg_') }));
  const input = promptTokens(view);
  await exchange.sendJson({
    id: ids.next('resp_'),
    object: 'response.compaction',
    created_at: nowSeconds(),
    output: [...people, { id, type: 'compaction', encrypted_content: mint('compaction', id) }],
    usage: usageOf({ input, cached: 0, written: 0, output: 16, reasoning: 0 }),
  });
}

function find(exchange: Exchange, id: string): StoredResponse {
  const stored = exchange.state.responses.get(id);
  if (stored) return stored;
  throw new Failure(404, `Response with id '${id}' not found.`, { code: 'response_not_found' });
}

/** Lists items with every member, whatever the request leaves out: status, and content as parts. */
function listed(item: JsonObject): JsonObject {
  if (item.role === undefined)
    return /_call(?:_output)?$/.test(textOf(item.type)) ? { status: 'completed', ...item } : item;
  const kind = item.role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof item.content === 'string' ? [{ type: kind, text: item.content }] : objectsOf(item.content);
  return { status: 'completed', ...item, type: 'message', content: parts.map(listedPart) };
}

function listedPart(part: JsonObject): JsonObject {
  if (part.type === 'output_text') return { annotations: [], logprobs: [], ...part };
  return part.type === 'input_image' ? { detail: 'auto', file_id: null, image_url: null, ...part } : part;
}

async function* skip<T>(values: Iterable<T> | AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let index = 0;
  for await (const value of values) {
    if (index >= count) yield value;
    index += 1;
  }
}
