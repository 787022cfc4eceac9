/**
 * Reader of sub2api. Its accounts list no models unless they map some, and its prices are those of a public list times
 * the factor of the group: the models are those that accounts map and that calls have used.
 */
import { formatNanos, isKeyFormat, type StoredLimits } from '../../core/index.ts';
import { KINDS_BY_SOURCE } from '../../rules/index.ts';
import { nanosOf } from './decimal.ts';
import { ADMINISTERS, Draft, jsonObjectOf, orNone, textList, textsOf } from './draft.ts';
import type { SourceDb, SourceRow } from './source.ts';

const ACTIVE = 'active';
/** Keys that are used up work again once their cap is raised. */
const EXHAUSTED = 'quota_exhausted';
const SUBSCRIPTION = 'subscription';

export async function readSub2api(database: SourceDb): Promise<Draft> {
  const draft = new Draft('sub2api');
  const rowsOf = async (table: string) => (await database.rows(table)).filter((row) => row.deleted_at === undefined);
  const groups = (await rowsOf('groups')).filter((group) => isLive(draft, group));
  const platforms = new Map(groups.map((group) => [group.id ?? '', group.platform ?? 'anthropic']));
  for (const { id = '', rate_multiplier: factor = '1' } of groups)
    draft.tariffs.push({ id, multiplier: formatNanos(nanosOf(factor)) });
  const links = Map.groupBy(await database.rows('account_groups'), (link) => link.account_id ?? '');
  const proxies = new Map((await rowsOf('proxies')).map((proxy) => [proxy.id ?? '', proxy]));
  const used = await database.values('usage_logs', 'model');
  for (const row of await rowsOf('accounts'))
    readAccount(draft, row, {
      groups: (links.get(row.id ?? '') ?? []).map((link) => link.group_id ?? '').filter((id) => platforms.has(id)),
      proxy: proxies.get(row.proxy_id ?? ''),
      used,
    });
  const users = await rowsOf('users');
  for (const row of users) readUser(draft, row);
  const live = new Set(users.filter((user) => user.status === ACTIVE).map((user) => user.id));
  for (const row of await rowsOf('api_keys')) readKey(draft, row, live);
  return draft;
}

function isLive(draft: Draft, { name = '', status, subscription_type: type }: SourceRow): boolean {
  if (status !== ACTIVE) draft.lose('group', name, 'it is disabled in the source');
  else if (type === SUBSCRIPTION)
    draft.lose('group', name, 'plans have no counterpart; its keys need a group that bills a balance');
  return status === ACTIVE && type !== SUBSCRIPTION;
}

interface AccountContext {
  /** Ids of its groups that come over. */
  readonly groups: readonly string[];
  readonly proxy: SourceRow | undefined;
  /** Models of all calls. */
  readonly used: readonly string[];
}

/** Which of the models of all calls belong to a platform. */
const FAMILIES: Readonly<Record<string, RegExp>> = {
  anthropic: /^claude/,
  openai: /^(?:gpt|o\d|codex|chatgpt|text-embedding|dall-e)/,
  gemini: /^(?:gemini|gemma|imagen|text-embedding-0)/,
};

function readAccount(draft: Draft, row: SourceRow, { groups, proxy, used }: AccountContext): void {
  const { id = '', name = '', platform = '', type = '' } = row;
  const kind = KINDS_BY_SOURCE.sub2api[platform];
  if (row.status !== ACTIVE || row.schedulable === 'false')
    return draft.lose('account', name, 'it is disabled in the source');
  if (!kind) return draft.lose('account', name, `accounts of ${platform} have no counterpart`);
  if (type !== 'apikey' && type !== 'api_key' && type !== 'upstream')
    return draft.lose(
      'account',
      name,
      `it signs in by ${type}, mostly with a subscription, which has no counterpart; use an API key`,
    );
  const credentials = jsonObjectOf(row.credentials);
  const texts = textsOf(credentials);
  const own = used.filter((model) => FAMILIES[platform]?.test(model));
  const mapping = expanded(textsOf((credentials.model_mapping ?? {}) as Record<string, unknown>), own);
  draft.channels.push({
    ref: id,
    name,
    kind,
    baseUrl: texts.get('base_url') || undefined,
    secrets: [texts.get('api_key')],
    proxy: proxy && proxyUrl(proxy),
    tariffs: groups,
    priority: Number(row.priority ?? 50),
    // A mapping is also a list: the account serves no other model.
    models: mapping.size > 0 ? mapping : new Map(own.map((model) => [model, model])),
    settings: { max_concurrency: Math.max(1, Number(row.concurrency ?? 1)) },
    remarks: [mapping.size === 0 && 'it takes every model; the models are those that calls have used'],
  });
}

/**
 * A name that ends with `*` stands for all that begin with it, and the longest one counts: here, for those that calls
 * have used.
 */
function expanded(mapping: ReadonlyMap<string, string>, used: readonly string[]): ReadonlyMap<string, string> {
  const patterns = [...mapping].filter(([name]) => name.endsWith('*')).sort(([a], [b]) => b.length - a.length);
  const exact = [...mapping].filter(([name]) => !name.endsWith('*'));
  const found = used.flatMap((model) => {
    const [, target] = patterns.find(([name]) => model.startsWith(name.slice(0, -1))) ?? [];
    return target === undefined ? [] : [[model, target.endsWith('*') ? model : target] as const];
  });
  return new Map([...found, ...exact]);
}

function proxyUrl({ protocol, host = '', port = '', username, password }: SourceRow): string {
  const user = username ? `${encodeURIComponent(username)}:${encodeURIComponent(password ?? '')}@` : '';
  return `${protocol}://${user}${host}:${port}`;
}

function readUser(draft: Draft, row: SourceRow): void {
  const { id = '', email = '' } = row;
  if (row.status !== ACTIVE) return draft.lose('user', email, 'it is disabled in the source');
  const frozen = nanosOf(row.frozen_balance ?? '0');
  draft.users.push({
    ref: id,
    name: email,
    email,
    balance: formatNanos(nanosOf(row.balance ?? '0')),
    isPerson: true,
    limits: { ...counted('concurrency', row.concurrency), ...counted('rpm', row.rpm_limit) },
    remarks: [
      frozen !== 0n && `${formatNanos(frozen)} are frozen in the source and stay behind; end what holds them first`,
      row.role === 'admin' && ADMINISTERS,
    ],
  });
}

/** Zero means no limit there. */
const counted = (name: 'concurrency' | 'rpm', text: string | undefined): StoredLimits =>
  Number(text ?? 0) > 0 ? { [name]: Number(text) } : {};

const spent = (name: 'spend_day' | 'spend_total', text: string | undefined, minus = '0'): StoredLimits => {
  const limit = nanosOf(text ?? '0');
  const left = limit - nanosOf(minus);
  return limit > 0n ? { [name]: formatNanos(left > 0n ? left : 0n) } : {};
};

function readKey(draft: Draft, row: SourceRow, live: ReadonlySet<string | undefined>): void {
  const { id = '', key = '', user_id: user = '', group_id: group } = row;
  const name = `${row.name || 'key'} #${id}`;
  if (!live.has(user)) return draft.lose('key', name, 'its user is disabled or deleted in the source');
  if (row.status !== ACTIVE && row.status !== EXHAUSTED)
    return draft.lose('key', name, 'it is disabled or expired in the source');
  if (group === undefined) return draft.lose('key', name, 'it has no group');
  if (!isKeyFormat(key)) return draft.lose('key', name, 'its value has fewer than 20 or more than 256 characters');
  const windows = ['rate_limit_5h', 'rate_limit_7d'].filter((column) => nanosOf(row[column] ?? '0') > 0n);
  draft.keys.push({
    ref: id,
    user,
    name,
    value: { key },
    tariffs: [group],
    models: undefined,
    expiresAt: row.expires_at,
    addresses: orNone(textList(row.ip_whitelist)),
    limits: { ...spent('spend_total', row.quota, row.quota_used), ...spent('spend_day', row.rate_limit_1d) },
    remarks: [
      row.status === EXHAUSTED && 'it is used up in the source',
      textList(row.ip_blacklist).length > 0 && 'its blocked addresses are lost',
      ...windows.map((column) => `the limit ${column} is lost; a day and a month are the periods here`),
    ],
  });
}
