/**
 * Cached contents of the Google-style provider. Each belongs to the account that made it, and is unknown to every other
 * one.
 */
import { Failure, invalid } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { heldBy } from './interactions.ts';
import { type JsonObject, objectOf, textOf } from './json.ts';
import { tokensIn } from './usage.ts';

const keyOf = (exchange: Exchange, id: string): string => `${exchange.header('x-goog-api-key')} ${id}`;

export async function createCache(exchange: Exchange): Promise<void> {
  const { json, state } = exchange;
  const { contents, systemInstruction, tools, model, displayName = '' } = json;
  if (contents === undefined) throw invalid('* CreateCachedContentRequest.cached_content: contents is not specified\n');
  const id = state.ids.next('cache-');
  const usageMetadata = { totalTokenCount: tokensIn(JSON.stringify([contents, systemInstruction, tools])) };
  const times = timesOf(json);
  const cache = {
    name: `cachedContents/${id}`,
    model,
    displayName,
    usageMetadata,
    createTime: times.updateTime,
    ...times,
  };
  heldBy(exchange).set(keyOf(exchange, id), cache);
  await exchange.sendJson(cache);
}

export const readCache = (exchange: Exchange, id: string): Promise<void> => exchange.sendJson(find(exchange, id));

export const updateCache = (exchange: Exchange, id: string): Promise<void> =>
  exchange.sendJson(Object.assign(find(exchange, id), timesOf(exchange.json)));

export async function deleteCache(exchange: Exchange, id: string): Promise<void> {
  find(exchange, id);
  heldBy(exchange).delete(keyOf(exchange, id));
  await exchange.sendJson({});
}

/** Tokens of the cached content that a request uses; none without one. */
export function cachedTokens(exchange: Exchange): number {
  const name = textOf(exchange.json.cachedContent);
  const cache = name === '' ? {} : find(exchange, name.replace('cachedContents/', ''));
  return Number(objectOf(cache.usageMetadata).totalTokenCount ?? 0);
}

function timesOf({ ttl, expireTime }: JsonObject): JsonObject {
  const now = new Date();
  const end = textOf(expireTime) || now.getTime() + Number.parseFloat(textOf(ttl) || '3600') * 1_000;
  return { updateTime: now.toISOString(), expireTime: new Date(end).toISOString() };
}

function find(exchange: Exchange, id: string): JsonObject {
  const cache = heldBy(exchange).get(keyOf(exchange, id));
  if (!cache) throw new Failure(403, 'CachedContent not found (or permission denied)');
  return cache;
}
