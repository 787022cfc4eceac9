/**
 * Cached contents of generate-content: how long a request keeps one,
 * and what the provider says of it, by which it is charged and owned.
 */
import * as core from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { CACHED_CONTENT_NAME, CACHED_CONTENTS, JSON_LIMITS } from '../../rules/index.ts';
import { asJson, bothSpellings } from '../request-scan.ts';
import { type NewObject, type ProviderObject, putObject } from './object-store.ts';

type Json = Readonly<Record<string, unknown>>;

export interface CachedContent {
  readonly id: string;
  readonly expiresAt: Date;
  /** From its creation to its end. */
  readonly lifetimeMs: number;
  /** Undefined where the provider does not say. */
  readonly tokens: number | undefined;
  readonly shown: Json;
}

/**
 * An object that the provider keeps after the call.
 * What it costs is charged in the transaction that records whose it is.
 */
export interface Keeping {
  /** Without a reply, the most that is known. */
  usageOf(reply: CachedContent | undefined): HubUsage;
  record(tx: Tx, reply: CachedContent, accountId: string): Promise<void>;
}

type Owner = Pick<NewObject, 'user_id' | 'key_id' | 'model'>;

const HOUR_MS = 3_600_000;

/** `most`: tokens that the contents cannot exceed. */
export const keepNew = (owner: Owner, most: number, askedMs: number): Keeping => ({
  usageOf(reply) {
    const tokens = reply?.tokens ?? most;
    const hours = (reply?.lifetimeMs ?? askedMs) / HOUR_MS;
    const usage = { input: tokens, cacheRead: 0, cacheWrite: tokens, output: 0, cacheHours: Math.ceil(tokens * hours) };
    return reply?.tokens === undefined ? { ...usage, estimated: true } : usage;
  },
  record: (tx, reply, account_id) => putObject(tx, rowOf({ ...owner, account_id }, reply, reply.tokens ?? most)),
});

/** Time that is added is paid, time that is taken away is not paid back. */
export const keepLonger = (known: ProviderObject, askedMs: number): Keeping => {
  const tokens = Number(known.tokens);
  return {
    usageOf(reply) {
      const addedMs = reply ? reply.expiresAt.getTime() - known.expires_at.getTime() : askedMs;
      const cacheHours = Math.ceil((tokens * Math.max(addedMs, 0)) / HOUR_MS);
      // The rates are those of a prompt as long as the contents.
      return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, longestPrompt: tokens, cacheHours };
    },
    record: (tx, reply) => putObject(tx, rowOf(known, reply, tokens)),
  };
};

const rowOf = (
  { user_id, key_id, model, account_id }: Owner & Pick<NewObject, 'account_id'>,
  { id, expiresAt, shown }: CachedContent,
  tokens: number,
): NewObject => ({
  user_id,
  key_id,
  model,
  account_id,
  id,
  shown,
  kind: 'cache',
  tokens: BigInt(tokens),
  expires_at: expiresAt,
});

const [EXPIRE_TIME, TTL] = [bothSpellings('expireTime'), 'ttl'];
const LIFETIME: ReadonlySet<string> = new Set([...EXPIRE_TIME, TTL]);

/** For how long from now the request keeps the contents; undefined where it does not say. */
export function askedLifetime(body: Buffer, now: number): number | undefined {
  const asked = asJson(() =>
    [...core.scanMembers(body, LIFETIME, JSON_LIMITS)].map(([name, span]) => [name, core.valueAt(body, span)] as const),
  );
  return asked.reduce<number | undefined>((longest, [name, value]) => {
    const ms = name === TTL ? durationMs(value) : Date.parse(String(value)) - now;
    if (Number.isNaN(ms))
      throw core.failAt('invalid_value', name, 'expected a time such as "300s" or "2030-01-01T00:00:00Z".');
    if (ms > CACHED_CONTENTS.maxSeconds * 1_000)
      throw core.failAt(
        'invalid_value',
        name,
        `at most ${CACHED_CONTENTS.maxSeconds} seconds from now; extend it later.`,
      );
    return Math.max(longest ?? 0, ms);
  }, undefined);
}

const durationMs = (value: unknown): number =>
  Number(/^(\d+(?:\.\d+)?)s$/.exec(String(value))?.[1] ?? Number.NaN) * 1_000;

const SHOWN = ['name', 'displayName', 'model', 'createTime', 'updateTime', 'expireTime', 'usageMetadata'] as const;

/** Undefined for a reply that names none, or does not say how long it is kept. */
export function readCachedContent(bytes: Buffer): CachedContent | undefined {
  const reply = parsed(bytes);
  const id = CACHED_CONTENT_NAME.exec(String(reply.name))?.[1];
  const [from, to] = [Date.parse(String(reply.createTime)), Date.parse(String(reply.expireTime))];
  if (id === undefined || Number.isNaN(from) || Number.isNaN(to)) return undefined;
  const { totalTokenCount: tokens } = (reply.usageMetadata ?? {}) as { totalTokenCount?: unknown };
  return {
    id,
    expiresAt: new Date(to),
    lifetimeMs: Math.max(to - from, 0),
    tokens: typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined,
    shown: Object.fromEntries(SHOWN.flatMap((name) => (reply[name] === undefined ? [] : [[name, reply[name]]]))),
  };
}

function parsed(bytes: Buffer): Json {
  try {
    return (JSON.parse(bytes.toString('utf8')) ?? {}) as Json;
  } catch {
    return {};
  }
}

export const cacheNotFound = (id: string, param?: string) =>
  core.fail('cache_not_found', `No cached content with the name "cachedContents/${id.slice(0, 100)}" exists.`, {
    ...(param !== undefined && { param }),
  });
