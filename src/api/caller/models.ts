/** Model lists in the shapes that the three SDK families read (G 4.7, G 4.6.4). */
import { hash } from 'node:crypto';
import { capabilitiesFor } from '../../catalog/index.ts';
import { fail, failAt } from '../../core/index.ts';
import { type Caller, groupsText, type ListedModel } from '../../gateway/index.ts';
import { type Call, idHeaders, sendJson, sendJsonText } from '../../platform/web/index.ts';
import type { WithGateway } from './files.ts';

/** Providers do not publish when a model was created; clients accept the epoch. */
const EPOCH = { created: 0, created_at: '1970-01-01T00:00:00Z' } as const;
const MAX_PAGE = 1_000;
const NATIVE_METHODS = ['generateContent', 'streamGenerateContent', 'countTokens'];

/**
 * List and items carry the fields of two SDK families. A client of the generate-content family gets the native form.
 */
export async function listModels(services: WithGateway, call: Call, caller: Caller): Promise<void> {
  if (call.errorFormat === 'generate') return listNativeModels(services, call, caller);
  const { gateway } = services;
  const all = (await gateway.listModels(caller.key)).map(toItem);
  const query = new URLSearchParams(call.query);
  const page = slice(all, query);
  sendTagged(call, {
    object: 'list',
    // Codex reads this list alone. An entry would replace the instructions that it has for the model.
    ...(query.has('client_version') && { models: [] }),
    data: page.items,
    first_id: page.items[0]?.id ?? null,
    last_id: page.items.at(-1)?.id ?? null,
    has_more: page.hasMore,
  });
}

export function getModel(services: WithGateway, call: Call, caller: Caller): void {
  if (call.errorFormat === 'generate') return getNativeModel(services, call, caller);
  sendJson(call, 200, toItem(find(services, call, caller)));
}

export async function listNativeModels({ gateway }: WithGateway, call: Call, caller: Caller): Promise<void> {
  const all = await gateway.listModels(caller.key);
  const query = new URLSearchParams(call.query);
  const size = countOf(query.get('pageSize'), 'pageSize') ?? 50;
  const start = countOf(query.get('pageToken'), 'pageToken') ?? 0;
  const end = start + size;
  sendTagged(call, {
    models: all.slice(start, end).map(toNative),
    ...(end < all.length && { nextPageToken: String(end) }),
  });
}

export function getNativeModel(services: WithGateway, call: Call, caller: Caller): void {
  sendJson(call, 200, toNative(find(services, call, caller)));
}

/** Not at all when the client has it. */
function sendTagged(call: Call, body: object): void {
  const text = JSON.stringify(body);
  const etag = `"${hash('sha256', text).slice(0, 32)}"`;
  if (!call.header('if-none-match')?.includes(etag)) return sendJsonText(call, 200, text, { etag });
  call.response.writeHead(304, { ...idHeaders(call), etag });
  call.response.end();
}

function find({ gateway }: WithGateway, call: Call, caller: Caller): ListedModel {
  const id = call.params.model ?? '';
  const found = gateway.findModel(caller.key, id);
  if (found) return found;
  throw fail('model_not_found', `model: "${id.slice(0, 100)}" is not available to keys of ${groupsText(caller)}.`, {
    param: 'model',
    model: id,
  });
}

const toItem = ({ id, group }: ListedModel) => ({
  id,
  object: 'model',
  owned_by: group.id,
  type: 'model',
  display_name: id,
  ...EPOCH,
});

function toNative({ id, group, line }: ListedModel) {
  const { maxOutput } = capabilitiesFor(group.style, { name: id, upstream: line.upstream ?? id, line });
  return {
    name: `models/${id}`,
    baseModelId: id,
    version: '001',
    displayName: id,
    inputTokenLimit: line.context ?? 1_048_576,
    outputTokenLimit: maxOutput,
    // Keys of other groups may read this list under /v1, but call no native method (G 4.1).
    supportedGenerationMethods: group.style === 'generate-content' ? NATIVE_METHODS : [],
  };
}

/**
 * Pages by `limit`, `after_id` and `before_id`; without a limit returns everything, which most clients expect of this
 * list.
 */
function slice<T extends { id: string }>(all: readonly T[], query: URLSearchParams): { items: T[]; hasMore: boolean } {
  const limit = countOf(query.get('limit'), 'limit') ?? all.length;
  const after = all.findIndex((item) => item.id === query.get('after_id')) + 1;
  const before = all.findIndex((item) => item.id === query.get('before_id'));
  if (before >= 0) return { items: all.slice(Math.max(0, before - limit), before), hasMore: before > limit };
  return { items: all.slice(after, after + limit), hasMore: after + limit < all.length };
}

function countOf(text: string | null, name: string): number | undefined {
  if (text === null) return undefined;
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 0 || (name !== 'pageToken' && (count < 1 || count > MAX_PAGE))) {
    throw failAt('invalid_value', name, `found "${text.slice(0, 20)}", expected an integer from 1 to ${MAX_PAGE}.`);
  }
  return count;
}
