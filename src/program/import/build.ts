/**
 * A configuration, people and a report from a draft. What the configuration cannot hold is left out, and the report
 * says why.
 */
import { publicRates } from '../../catalog/setup/index.ts';
import { FALLBACK, importedKind, MAX_GROUPS, mistakenBaseUrl, USER_ID } from '../../rules/index.ts';
import { AccountEntry, KeyEntry, ModelEntry, type SetupFile, UserEntry } from '../../schemas/index.ts';
import type { Draft, DraftChannel, ModelPrices, ReportRow } from './draft.ts';
import { type DraftPool, poolsOf, slugOf } from './pools.ts';

export interface PlannedPerson {
  readonly email: string;
  readonly name: string;
  readonly user: string;
}

export interface ImportSetup {
  readonly file: SetupFile;
  readonly people: readonly PlannedPerson[];
  /** References of opening balances by user: a second import books nothing. */
  readonly openings: ReadonlyMap<string, string>;
  readonly rows: readonly ReportRow[];
}

export interface BuildOptions {
  /** Begins the names of groups and accounts, and the references of balances. */
  readonly label: string;
  readonly now: number;
  /** Opening balance of users that have none in the source, where it has no wallets. */
  readonly balance?: string | undefined;
  /** The group of stored keys by user and name: it is part of what identifies a key. */
  readonly keyGroups: ReadonlyMap<string, string>;
  /** Users that exist here and have no balance from this source. */
  readonly strangers: ReadonlySet<string>;
}

/** Keys that people of an imported user may make, as they could before. */
const MAX_OWN_KEYS = 20;

export async function buildSetup(draft: Draft, options: BuildOptions): Promise<ImportSetup> {
  const { label } = options;
  const channels = draft.channels.filter((channel) => isUsable(draft, channel, label));
  const pools = new Map(draft.tariffs.map((tariff) => [tariff.id, ownPools(draft, poolsOf(tariff, channels, label))]));
  const all = [...pools.values()].flat();
  const groups = all.map(({ id, style, tariff, channels: own }) => {
    const name = `${tariff.id}: ${own.map((channel) => channel.name).join(', ')}`.slice(0, 100);
    draft.report('group', id, `${style}, factor ${tariff.multiplier}; ${name}`);
    return { id, style, name, multiplier: tariff.multiplier };
  });
  const accounts = channels.flatMap((channel) => accountsOf(draft, channel, all, label));
  const models = await modelsOf(draft, all, options.now);
  const groupsOf = (tariffs: readonly string[]): string[] =>
    tariffs.flatMap((id) => (pools.get(id) ?? []).map((pool) => pool.id)).slice(0, MAX_GROUPS);
  const people: PlannedPerson[] = [];
  const { users, ids } = usersOf(draft, { ...options, groupsOf, people });
  const keys = keysOf(draft, ids, groupsOf, options.keyGroups);
  const openings = new Map([...ids].map(([ref, id]) => [id, `import:${label}:${ref}`]));
  return { file: { groups, accounts, models, users, keys, characters: [] }, people, openings, rows: draft.rows };
}

// ---------------------------------------------------------------- groups, accounts, models

function isUsable(draft: Draft, channel: DraftChannel, label: string): boolean {
  if (channel.models.size === 0 || channel.tariffs.length === 0) {
    draft.lose('account', channel.name, channel.models.size === 0 ? 'it lists no models' : 'it is in no group');
    return false;
  }
  return channel.secrets.every((_, n) => {
    const account = AccountEntry.safeParse({ ...accountOf(channel, n, label), group: 'any' });
    return draft.accepted('account', channel.name, account) !== undefined;
  });
}

/** A key reaches a limited number of groups; the ones with the most models stay. */
function ownPools(draft: Draft, pools: DraftPool[]): DraftPool[] {
  if (pools.length <= MAX_GROUPS) return pools;
  const kept = new Set([...pools].sort((a, b) => b.models.length - a.models.length).slice(0, MAX_GROUPS));
  for (const { models, tariff } of pools.filter((pool) => !kept.has(pool)))
    for (const model of models)
      draft.lose(
        'model',
        `${model} of ${tariff.id}`,
        `channels have more than ${MAX_GROUPS} different lists of models; make some of them equal`,
      );
  return pools.filter((pool) => kept.has(pool));
}

function accountOf(channel: DraftChannel, n: number, label: string) {
  const { ref, kind, baseUrl, secrets, cloud, proxy, priority, settings } = channel;
  const row = importedKind(kind);
  const isOwnHost = baseUrl === undefined || baseUrl.startsWith(row.baseUrl ?? 'none');
  const features = kind === 'openai' && !isOwnHost ? importedKind('relay').features : row.features;
  const models = Object.fromEntries([...channel.models].filter(([name, upstream]) => name !== upstream));
  return {
    id: `${label}-${slugOf(ref)}${secrets.length > 1 ? `-${n + 1}` : ''}`,
    base_url: addressOf(channel),
    api_key: secrets[n],
    cloud,
    proxy,
    ...settings,
    priority: Math.max(-1_000, Math.min(1_000, priority)),
    ...(features && { features: [...features] }),
    ...(Object.keys(models).length > 0 && { models }),
  };
}

/** Other gateways add the version to an address; here it is part of it, or not, by the style. */
function addressOf({ kind, baseUrl, cloud }: DraftChannel): string {
  const { baseUrl: usual = '', path = '', style } = importedKind(kind);
  const plain = (baseUrl ?? usual).trim().replace(/\/+$/, '');
  if (!URL.canParse(plain)) return plain;
  const full = cloud || plain.endsWith(path) ? plain : plain + path;
  return mistakenBaseUrl(cloud?.kind ?? style, full)?.meant ?? full;
}

function accountsOf(draft: Draft, channel: DraftChannel, pools: readonly DraftPool[], label: string) {
  const groups = pools.filter((pool) => pool.channels.includes(channel)).map(({ id }) => id);
  if (groups.length === 0) return [];
  if (groups.length > MAX_GROUPS) {
    draft.lose('account', channel.name, `it would be in ${groups.length} groups, of at most ${MAX_GROUPS}`);
    return [];
  }
  return channel.secrets.flatMap((_, n) => {
    const { priority, ...account } = accountOf(channel, n, label);
    const isClipped = priority !== channel.priority;
    draft.report(
      'account',
      account.id,
      `${channel.name} at ${account.base_url}, priority ${priority}, ${groups.length} groups`,
      [...channel.remarks, isClipped && `priority ${channel.priority} becomes ${priority}`],
    );
    return [{ ...account, priority, group: groups[0], groups }] as SetupFile['accounts'];
  });
}

async function modelsOf(draft: Draft, pools: readonly DraftPool[], now: number): Promise<SetupFile['models']> {
  const served = Map.groupBy(
    pools.flatMap((pool) => pool.models.map((model) => ({ model, pool }))),
    ({ model }) => model,
  );
  const models: SetupFile['models'] = [];
  for (const [id, lines] of [...served].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const own = lines.map(({ pool }) => pool);
    const set = draft.prices.get(id);
    const prices = set ?? (await listPrices(draft, own, id, now));
    const remark = draft.modelRemarks.get(id);
    draft.report('model', id, priceText(prices), [
      remark,
      !set && prices && 'the price is that of the public list',
      !prices && 'calls are refused until it has a price',
    ]);
    for (const [others, groups] of Map.groupBy(own, (pool) => fallbackOf(pool, own).join(' '))) {
      const fallback = others === '' ? undefined : others.split(' ');
      const value = { id, groups: groups.map((pool) => pool.id), prices, fallback };
      const model = draft.accepted('model', id, ModelEntry.safeParse(value));
      if (model) models.push(model);
    }
  }
  return models;
}

/** Channels of another style that serve the model take over while those of a better priority are out. */
function fallbackOf(pool: DraftPool, own: readonly DraftPool[]): string[] {
  const beside = own.filter((other) => other.tariff === pool.tariff);
  const later = beside.slice(beside.indexOf(pool) + 1);
  return later.slice(0, FALLBACK.lines).map(({ id }) => id);
}

/** LiteLLM prices a call by the model at the provider, the others by the name that the client used. */
async function listPrices(draft: Draft, pools: readonly DraftPool[], model: string, now: number): Promise<ModelPrices> {
  for (const { kind, models } of pools.flatMap(({ channels }) => channels)) {
    const { list } = importedKind(kind);
    if (list === undefined) continue;
    const names = [model, models.get(model) ?? model];
    for (const name of draft.source === 'litellm' ? names.reverse() : names) {
      const rates = await publicRates(list, name, now);
      if (rates) return rates;
    }
  }
  return undefined;
}

const priceText = (prices: ModelPrices): string =>
  Object.entries(prices ?? {})
    .map(([rate, amount]) => `${rate} ${typeof amount === 'string' ? amount : JSON.stringify(amount)}`)
    .join(', ');

// ---------------------------------------------------------------- users, people, keys

interface UserContext extends BuildOptions {
  readonly groupsOf: (tariffs: readonly string[]) => string[];
  /** Gets the people. */
  readonly people: PlannedPerson[];
}

function usersOf(draft: Draft, context: UserContext) {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const users: SetupFile['users'] = [];
  const keysOfUser = Map.groupBy(draft.keys, (key) => key.user);
  for (const user of draft.users) {
    // Two installations have users of the same name who are not the same.
    const isPlain = context.label === draft.source && USER_ID.test(user.name) && !taken.has(user.name);
    const id = isPlain ? user.name : `${context.label}-user-${slugOf(user.ref)}`;
    const tariffs = new Set((keysOfUser.get(user.ref) ?? []).flatMap((key) => key.tariffs));
    const key_groups = context.groupsOf([...tariffs]);
    const balance = user.balance === '0' && context.balance !== undefined ? context.balance : user.balance;
    const hasAddress = user.email !== undefined && UserEntry.shape.email.safeParse(user.email).success;
    const value = {
      id,
      balance,
      ...user.limits,
      ...(hasAddress && { email: user.email }),
      ...(key_groups.length > 0 && user.isPerson && { key_groups, max_keys: MAX_OWN_KEYS }),
    };
    const entry = draft.accepted('user', user.name, UserEntry.safeParse(value));
    if (!entry) continue;
    taken.add(id);
    ids.set(user.ref, id);
    users.push(entry);
    draft.report('user', id, `balance ${balance}`, [
      id !== user.name && `was ${user.name}`,
      context.strangers.has(id) && 'a user of this name exists here, and gets its keys and balance',
      ...user.remarks,
    ]);
    if (!user.isPerson) continue;
    if (hasAddress) {
      context.people.push({ email: user.email ?? '', name: user.name, user: id });
      draft.report('person', user.email ?? '', `signs in for ${id}`, ['sets a new password by a one-time link']);
    } else draft.lose('person', user.name, 'it has no e-mail address to sign in with');
  }
  return { users, ids };
}

function keysOf(
  draft: Draft,
  users: ReadonlyMap<string, string>,
  groupsOf: (tariffs: readonly string[]) => string[],
  stored: BuildOptions['keyGroups'],
): SetupFile['keys'] {
  return draft.keys.flatMap((key) => {
    const user = users.get(key.user);
    const groups = groupsOf(key.tariffs);
    if (user === undefined) draft.lose('key', key.name, 'its user does not come over');
    else if (groups.length === 0) draft.lose('key', key.name, `its groups (${key.tariffs.join(', ')}) have no account`);
    if (user === undefined || groups.length === 0) return [];
    const name = key.name.slice(0, 100);
    const group = stored.get(`${user}/${name}`) ?? groups[0] ?? '';
    const value = {
      user,
      name,
      group,
      groups: groups.includes(group) ? groups : [group, ...groups],
      ...key.value,
      models: key.models,
      addresses: key.addresses,
      expires_at: key.expiresAt,
      ...key.limits,
    };
    const entry = draft.accepted('key', name, KeyEntry.safeParse(value));
    if (!entry) return [];
    const cap = key.limits.spend_total === undefined ? [] : [`cap ${key.limits.spend_total}`];
    const limits = [...cap, ...(key.expiresAt === undefined ? [] : [`until ${key.expiresAt}`])];
    draft.report('key', name, [`of ${user}`, ...limits].join(', '), key.remarks);
    return [{ ...entry, group }];
  });
}
