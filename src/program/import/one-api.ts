/**
 * Reader of one-api and new-api, which share most of their tables. Amounts are whole units of which an option says how
 * many a dollar has; prices are ratios. Ratios that an operator never saved are part of their program: `options` adds
 * them, as their option API shows them.
 */
import { formatNanos, isKeyFormat } from '../../core/index.ts';
import { CODING_PLANS, foreignKindName, isEmbeddingModel, KINDS_BY_SOURCE } from '../../rules/index.ts';
import { azureAccount, bedrockAccount, type CloudKind, type CloudParts, isCloud, vertexAccount } from './clouds.ts';
import { productOf, quotientOf } from './decimal.ts';
import {
  ADMINISTERS,
  Draft,
  type DraftChannel,
  isTrue,
  jsonObjectOf,
  jsonOf,
  orNone,
  partsOf,
  textList,
  textsOf,
} from './draft.ts';
import type { SourceDb, SourceRow } from './source.ts';

type Options = ReadonlyMap<string, string>;
type Source = 'new-api' | 'one-api';

const ENABLED = '1';
/** Keys that are used up keep their state, and work again once their cap is raised. */
const EXHAUSTED = '4';
const ADMIN_ROLE = 10;
/** That every user of new-api may choose, unless an operator sets them. */
const USABLE_GROUPS = ['default', 'vip'];
const UNITS_PER_DOLLAR = '500000';
const TOKENS_OF_PRICES = '1000000';
/** Channels of new-api that are older call deployments of Azure without the dots of the model. */
const DOTS_STAY_SINCE = 1_746_806_400;
/** What new-api takes for input that Claude writes to a cache, unless an operator sets it. */
const CACHE_WRITE = '1.25';
/** Of the price of a cache that stays for five minutes, in new-api. */
const ONE_HOUR_CACHE = '1.6';

export async function readOneApi(database: SourceDb, source: Source, saved: Options = new Map()): Promise<Draft> {
  const draft = new Draft(source);
  const stored = (await database.rows('options')).map(({ key = '', value = '' }) => [key, value] as const);
  const options: Options = new Map([...stored, ...saved]);
  const unit = options.get('QuotaPerUnit') || UNITS_PER_DOLLAR;
  const dollars = (units: string | undefined) => quotientOf(units ?? '0', unit);
  for (const row of await database.rows('channels')) readChannel(draft, row);
  const ratios = jsonObjectOf(options.get('GroupRatio'));
  for (const id of new Set(draft.channels.flatMap(({ tariffs }) => tariffs)))
    draft.tariffs.push({ id, multiplier: productOf(String(ratios[id] ?? '1')) });
  readPrices(draft, options, unit);
  const live = (await database.rows('users')).filter((user) => user.deleted_at === undefined && user.status !== '3');
  const users = new Map(live.map((user) => [user.id ?? '', user]));
  for (const user of live) readUser(draft, user, dollars);
  const automatic = jsonOf(options.get('AutoGroups'));
  const auto = Array.isArray(automatic) ? automatic.map(String) : ['default'];
  const usable = options.get('UserUsableGroups');
  const choices = usable === undefined ? USABLE_GROUPS : Object.keys(jsonObjectOf(usable));
  for (const token of await database.rows('tokens'))
    if (token.deleted_at === undefined)
      readToken(draft, token, { owner: users.get(token.user_id ?? ''), auto, choices, dollars });
  // Its program begins with one entry that stands for nothing.
  const special = Object.entries(jsonObjectOf(options.get('GroupGroupRatio'))).flatMap(([group, factors]) =>
    Object.keys(factors ?? {}).some((other) => other !== 'edit_this') ? [group] : [],
  );
  if (special.length > 0)
    draft.lose(
      'other',
      'GroupGroupRatio',
      `factors of users of ${special.join(', ')} in other groups; set 'multiplier' of these users`,
    );
  return draft;
}

function readChannel(draft: Draft, row: SourceRow): void {
  const { id = '', type = '' } = row;
  const name = row.name || `channel ${id}`;
  const plan = draft.source === 'new-api' ? CODING_PLANS[row.base_url ?? ''] : undefined;
  const kind = plan === undefined ? KINDS_BY_SOURCE[draft.source][type] : 'compatible';
  if (row.status !== ENABLED) return draft.lose('account', name, 'it is disabled in the source');
  if (kind === undefined)
    return draft.lose('account', name, `channels of type ${foreignKindName(draft.source, type)} have no counterpart`);
  const info = jsonObjectOf(row.channel_info);
  const keys = keysOf(row.key ?? '', info);
  if (keys.live.length === 0) return draft.lose('account', name, 'it has no credential that is enabled');
  const mapping = textsOf(jsonObjectOf(row.model_mapping));
  const hasDots = draft.source === 'new-api' && Number(row.created_time ?? 0) >= DOTS_STAY_SINCE;
  const atService = (model: string): string => (kind === 'azure' && !hasDots ? model.replaceAll('.', '') : model);
  const models = new Map(partsOf(row.models, /,/).map((model) => [model, atService(mapping.get(model) ?? model)]));
  const setting = jsonObjectOf(row.setting);
  const remarks = [
    keys.off > 0 && `${keys.off} disabled credentials stay behind`,
    (row.param_override || row.header_override) && 'overrides of parameters and headers are lost',
    Boolean(setting.system_prompt || row.system_prompt) && 'its system prompt is lost',
    row.openai_organization && 'its organization is lost; use a key of that organization',
    kind === 'bedrock' && "check the names of its models at Bedrock, in 'models' of the account",
  ];
  const channel: DraftChannel = {
    ref: id,
    name,
    kind,
    models,
    remarks,
    baseUrl: plan ?? (row.base_url || undefined),
    secrets: keys.live,
    tariffs: partsOf(row.group || 'default', /,/),
    proxy: typeof setting.proxy === 'string' && setting.proxy !== '' ? setting.proxy : undefined,
    // Higher ones come first there.
    priority: -Number(row.priority ?? 0),
    settings: { weight: Math.min(Math.max(Number(row.weight ?? 0), 1), 1_000) },
  };
  if (!isCloud(kind)) return void draft.channels.push(channel);
  for (const [n, secret] of keys.live.entries()) {
    const parts = cloudOf(kind, secret, row);
    const ref = keys.live.length === 1 ? id : `${id}-${n + 1}`;
    if (!parts) draft.lose('account', name, `its credential for ${kind} has a form that is not known`);
    else draft.channels.push({ ...channel, ref, ...parts, secrets: [parts.secret] });
  }
}

function cloudOf(kind: CloudKind, secret: string, row: SourceRow): CloudParts | undefined {
  const config = textsOf(jsonObjectOf(row.config));
  if (kind === 'azure') return azureAccount(row.base_url, secret, row.other || config.get('api_version'));
  if (kind === 'bedrock') {
    const own = ['ak', 'sk', 'region'].map((name) => config.get(name) ?? '');
    return bedrockAccount(secret.includes('|') ? secret.split('|') : own.filter((part) => part !== ''));
  }
  const regions = textsOf(jsonObjectOf(row.other));
  const location = regions.get('default') ?? (config.get('region') || (regions.size === 0 && row.other) || 'global');
  return vertexAccount(config.get('vertex_ai_adc') || secret, location, config.get('vertex_ai_project_id'));
}

/** Several credentials are a JSON array, or one a line. `channel_info` says which of them are disabled. */
function keysOf(text: string, info: Readonly<Record<string, unknown>>) {
  const list = text.trim().startsWith('[') ? jsonOf(text) : undefined;
  const all = Array.isArray(list)
    ? list.map((key: unknown) => (typeof key === 'string' ? key : JSON.stringify(key)))
    : text.trim().startsWith('{')
      ? [text]
      : partsOf(text, /\n/);
  const states = (info.multi_key_status_list ?? {}) as Readonly<Record<string, unknown>>;
  const live = all.filter((_, n) => states[n] === undefined || states[n] === 1);
  return { live, off: all.length - live.length };
}

function readPrices(draft: Draft, options: Options, unit: string): void {
  const maps = new Map([...options].map(([name, text]) => [name, jsonObjectOf(text)]));
  const ratioOf = (map: string, model: string): string | undefined => {
    const value = maps.get(map)?.[model];
    const ratio = typeof value === 'object' && value !== null ? (value as { ratio?: unknown }).ratio : value;
    if (typeof ratio === 'number' && ratio >= 0) return String(ratio);
    return map === 'CreateCacheRatio' && draft.source === 'new-api' && /claude/.test(model) ? CACHE_WRITE : undefined;
  };
  const perRatio = formatNanos(quotientOf(TOKENS_OF_PRICES, unit).nanos);
  const modes = textsOf(maps.get('billing_setting.billing_mode') ?? {});
  for (const model of new Set(draft.channels.flatMap(({ models }) => [...models.keys()]))) {
    const mode = modes.get(model);
    if (mode !== undefined && mode !== 'ratio') {
      draft.modelRemarks.set(model, 'an expression prices it in the source');
      continue;
    }
    const piece = ratioOf('ModelPrice', model);
    if (piece !== undefined) {
      draft.prices.set(model, { input: '0', output: '0', per_request: productOf(piece) });
      continue;
    }
    const prices = ratioPrices(model, perRatio, ratioOf);
    if (prices) draft.prices.set(model, prices);
    else draft.modelRemarks.set(model, 'the database has no ratio of it, only the program; --options adds those');
  }
}

/** `perRatio`: dollars of a million tokens with the ratio 1. */
function ratioPrices(model: string, perRatio: string, ratioOf: (map: string, model: string) => string | undefined) {
  const ratio = ratioOf('ModelRatio', model);
  if (ratio === undefined) return undefined;
  const times = (...factors: readonly string[]): string => productOf(ratio, perRatio, ...factors);
  const completion = ratioOf('CompletionRatioMeta', model) ?? ratioOf('CompletionRatio', model);
  if (completion === undefined && !isEmbeddingModel(model)) return undefined;
  const cached = ratioOf('CacheRatio', model);
  const written = ratioOf('CreateCacheRatio', model);
  const [image, audio, spoken] = ['ImageRatio', 'AudioRatio', 'AudioCompletionRatio'].map((map) => ratioOf(map, model));
  return {
    input: times(),
    ...(completion !== undefined && { output: times(completion) }),
    ...(cached !== undefined && { cached_input: times(cached) }),
    ...(written !== undefined && { cache_write: times(written), cache_write_1h: times(written, ONE_HOUR_CACHE) }),
    ...(image !== undefined && { image_input: times(image) }),
    ...(audio !== undefined && { audio_input: times(audio) }),
    ...(audio !== undefined && spoken !== undefined && { audio_output: times(audio, spoken) }),
  };
}

type Dollars = (units: string | undefined) => ReturnType<typeof quotientOf>;

function readUser(draft: Draft, row: SourceRow, dollars: Dollars): void {
  const name = row.username || `user-${row.id}`;
  if (row.status !== ENABLED) return draft.lose('user', name, 'it is disabled in the source');
  const { nanos, isExact } = dollars(row.quota);
  const rewards = dollars(row.aff_quota).nanos;
  draft.users.push({
    ref: row.id ?? '',
    name,
    email: row.email || undefined,
    balance: formatNanos(nanos),
    limits: {},
    isPerson: true,
    remarks: [
      !isExact && 'the balance is rounded to nine places',
      rewards !== 0n && `${formatNanos(rewards)} of rewards for invitations that were not transferred stay behind`,
      Number(row.role ?? 0) >= ADMIN_ROLE && ADMINISTERS,
    ],
  });
}

interface TokenContext {
  readonly owner: SourceRow | undefined;
  /** Groups of tokens that leave the choice to the gateway; only those that their user may choose. */
  readonly auto: readonly string[];
  /** Groups that every user may choose, beside the own one. */
  readonly choices: readonly string[];
  readonly dollars: Dollars;
}

function readToken(draft: Draft, row: SourceRow, { owner, auto, choices, dollars }: TokenContext): void {
  const { id = '', status = '' } = row;
  const name = `${row.name || 'key'} #${id}`;
  const key = `sk-${row.key?.trim()}`;
  if (owner?.status !== ENABLED) return draft.lose('key', name, 'its user is disabled or deleted in the source');
  if (status !== ENABLED && status !== EXHAUSTED)
    return draft.lose('key', name, 'it is disabled or expired in the source');
  if (!isKeyFormat(key)) return draft.lose('key', name, 'its value has fewer than 20 or more than 256 characters');
  const home = owner.group || 'default';
  const group = row.group || home;
  const own = textList(row.auto_groups);
  const left = dollars(row.remain_quota).nanos;
  const expires = Number(row.expired_time ?? -1);
  const isLimited = isTrue(row.model_limits_enabled);
  const limitedTo = isLimited ? row.model_limits : '';
  const models = partsOf(row.model_limits_enabled === undefined ? row.models : limitedTo, /,/);
  if (isLimited && models.length === 0)
    return draft.lose('key', name, 'its list of models is empty, so that it may call none');
  const chosen = own.length > 0 ? own : auto;
  draft.keys.push({
    ref: id,
    user: owner.id ?? '',
    name,
    value: { key },
    tariffs: group === 'auto' ? chosen.filter((one) => one === home || choices.includes(one)) : [group],
    models: orNone(models),
    addresses: orNone(partsOf(row.allow_ips ?? row.subnet, /[\s,]+/)),
    expiresAt: expires > 0 ? new Date(expires * 1_000).toISOString() : undefined,
    limits: isTrue(row.unlimited_quota) ? {} : { spend_total: formatNanos(left > 0n ? left : 0n) },
    remarks: [status === EXHAUSTED && 'it is used up in the source'],
  });
}
