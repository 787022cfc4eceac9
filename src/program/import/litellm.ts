/**
 * Reader of LiteLLM: models of its YAML file and of its database, where credentials are encrypted with the salt key;
 * users, teams and hashed keys of the database. It has budgets in place of wallets: what is left of one becomes the
 * balance.
 */
import { createDecipheriv, hash } from 'node:crypto';
import { parse as parseYaml } from 'yaml';
import { litellmPrice } from '../../catalog/setup/index.ts';
import { defined, formatNanos, type StoredLimits } from '../../core/index.ts';
import { BARE_MODELS, type ImportedKind, KINDS_BY_SOURCE } from '../../rules/index.ts';
import { azureAccount, bedrockAccount, type CloudKind, type CloudParts, isCloud, vertexAccount } from './clouds.ts';
import { nanosOf } from './decimal.ts';
import {
  ADMINISTERS,
  Draft,
  type DraftChannel,
  isTrue,
  jsonObjectOf,
  type Remarks,
  textList,
  textsOf,
} from './draft.ts';
import { openBox } from './secret-box.ts';
import type { SourceDb, SourceInput, SourceRow } from './source.ts';

type Params = Readonly<Record<string, unknown>>;

/** Every key reaches the models that belong to no team. */
const ALL = 'all';
const teamTariff = (team: string): string => `team-${team}`;

export async function readLitellm(database: SourceDb | undefined, input: SourceInput): Promise<Draft> {
  const { config, saltKey, variable } = input;
  const draft = new Draft('litellm');
  const file = (config === undefined ? {} : (parseYaml(config) ?? {})) as Readonly<Record<string, unknown>>;
  const main = (file.general_settings ?? {}) as { readonly master_key?: string };
  const salt = saltKey ?? named(main.master_key, variable);
  const rows = async (table: string) => (database ? database.rows(`LiteLLM_${table}`) : []);
  const credentials = new Map(
    (await rows('CredentialsTable')).map((row) => [row.credential_name ?? '', decryptAll(row.credential_values, salt)]),
  );
  const deployments = [
    ...((file.model_list ?? []) as { model_name?: string; litellm_params?: Params; model_info?: Params }[]).map(
      (one) => ({
        name: String(one.model_name ?? ''),
        params: resolved(one.litellm_params ?? {}, variable),
        info: one.model_info ?? {},
      }),
    ),
    ...(await rows('ProxyModelTable'))
      .filter((row) => !isTrue(row.blocked))
      .map((row) => ({
        name: row.model_name ?? '',
        params: decryptAll(row.litellm_params, salt),
        info: jsonObjectOf(row.model_info),
      })),
  ];
  const channels = new Map<string, Collected>();
  for (const { name, params, info } of deployments) {
    const shared = credentials.get(String(params.litellm_credential_name ?? ''));
    addDeployment(draft, channels, { name, params: { ...shared, ...params }, info });
  }
  draft.channels.push(...[...channels.values()].map(finished));
  const teams = await rows('TeamTable');
  for (const id of new Set(draft.channels.flatMap(({ tariffs }) => tariffs)))
    draft.tariffs.push({ id, multiplier: '1' });
  const users = await rows('UserTable');
  for (const row of users) addOwner(draft, row, 'user');
  for (const row of teams) addOwner(draft, row, 'team');
  const budgets = new Map((await rows('BudgetTable')).map((row) => [row.budget_id ?? '', row]));
  const accessGroups = accessGroupsOf(deployments);
  for (const row of await rows('VerificationToken')) {
    const team = teams.find((one) => one.team_id === row.team_id);
    // The list of a user counts for keys without a team alone.
    const owner = row.team_id ? team : users.find((one) => one.user_id === row.user_id);
    readKey(draft, row, { owner, budget: budgets.get(row.budget_id ?? ''), accessGroups });
  }
  for (const part of ['router_settings', 'litellm_settings', 'guardrails', 'mcp_servers', 'environment_variables'])
    if (part in file) draft.lose('other', part, 'this part of the file is not read; set what you need of it by hand');
  return draft;
}

// ---------------------------------------------------------------- credentials

const GCM = 'v2:gcm:';
const GCM_NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;

/** Text that is not encrypted stays as it is, as it does in LiteLLM. */
function decryptAll(text: string | undefined, salt: string | undefined): Params {
  const values = jsonObjectOf(text);
  const key = hash('sha256', salt ?? '', 'buffer');
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? decrypt(value, key) : value,
  ]);
  return Object.fromEntries(entries);
}

function decrypt(value: string, key: Buffer): string {
  if (!value.startsWith(GCM)) return openBox(Buffer.from(value, 'base64url'), key) ?? value;
  const raw = Buffer.from(value.slice(GCM.length), 'base64url');
  try {
    const cipher = createDecipheriv('aes-256-gcm', key, raw.subarray(0, GCM_NONCE_BYTES));
    cipher.setAuthTag(raw.subarray(-GCM_TAG_BYTES));
    return cipher.update(raw.subarray(GCM_NONCE_BYTES, -GCM_TAG_BYTES), undefined, 'utf8') + cipher.final('utf8');
  } catch {
    return value;
  }
}

/** The name of a model is shorter, or has other characters. */
const isSealed = (model: string): boolean => model.startsWith(GCM) || /^[A-Za-z0-9_-]{54,}={0,2}$/.test(model);

const named = (value: unknown, variable: SourceInput['variable']): string | undefined => {
  if (typeof value !== 'string') return undefined;
  return value.startsWith('os.environ/') ? variable(value.slice('os.environ/'.length)) : value;
};

const resolved = (params: Params, variable: SourceInput['variable']): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? named(value, variable) : value]),
  );

// ---------------------------------------------------------------- models and accounts

interface Deployment {
  readonly name: string;
  readonly params: Params;
  readonly info: Params;
}

type Collected = Omit<DraftChannel, 'models' | 'settings'> & {
  readonly models: Map<string, string>;
  readonly limits: Params[];
};

function addDeployment(draft: Draft, channels: Map<string, Collected>, { name: given, params, info }: Deployment) {
  const texts = textsOf(params);
  const [model = '', team] = [texts.get('model'), textsOf(info).get('team_id')];
  const name = textsOf(info).get('team_public_model_name') ?? given;
  if (isSealed(model)) return draft.lose('model', name, 'the salt key does not open it; set LITELLM_SALT_KEY');
  if (name.includes('*')) return draft.lose('model', name, 'a pattern of all models of a provider; list the models');
  const found = kindOf(model, texts.get('custom_llm_provider'));
  if (!found) return draft.lose('model', name, `the provider of ${model} has no counterpart`);
  const { kind, upstream } = found;
  const baseUrl = texts.get('api_base') ?? texts.get('base_url');
  const cloud = isCloud(kind) ? cloudOf(kind, texts, baseUrl) : undefined;
  const secret = cloud?.secret ?? texts.get('api_key');
  if (secret === undefined && kind !== 'ollama' && kind !== 'vllm')
    return draft.lose(
      'model',
      name,
      'its deployment has no credential that can be read; a variable of the environment may be missing',
    );
  const tariffs = [team === undefined ? ALL : teamTariff(team)];
  const own = { kind, baseUrl: cloud?.baseUrl ?? baseUrl, secrets: [secret ?? 'none'], cloud: cloud?.cloud, tariffs };
  const id = hash('sha256', JSON.stringify([own, Number(params.order ?? 0)]), 'hex').slice(0, 8);
  // An account has one name at its provider for each model; a second one is another account.
  let ref = id;
  for (let n = 2; ![undefined, upstream].includes(channels.get(ref)?.models.get(name)); n += 1) ref = `${id}-${n}`;
  const channel = channels.get(ref) ?? {
    ...own,
    ref,
    name: `${kind} ${ref}`,
    models: new Map<string, string>(),
    limits: [],
    priority: Number(params.order ?? 0),
    remarks: [],
  };
  channel.models.set(name, upstream);
  channel.limits.push(params);
  channels.set(ref, channel);
  const price = litellmPrice({ [name]: { ...info, ...params } }, name);
  if ('windows' in price && price.windows[0]) draft.prices.set(name, price.windows[0].rates);
}

function kindOf(model: string, provider: string | undefined) {
  const [prefix = '', ...rest] = model.split('/');
  const kinds = KINDS_BY_SOURCE.litellm;
  const own = provider === undefined ? undefined : kinds[provider];
  if (kinds[prefix] && rest.length > 0)
    return { kind: own ?? kinds[prefix], upstream: rest.join('/').replace(/^(?:converse|invoke)\//, '') };
  const kind: ImportedKind | undefined = own ?? BARE_MODELS.find(([pattern]) => pattern.test(model))?.[1];
  return kind && { kind, upstream: model };
}

function cloudOf(kind: CloudKind, texts: ReadonlyMap<string, string>, baseUrl?: string): CloudParts | undefined {
  const key = texts.get('api_key');
  if (kind === 'azure') return key === undefined ? undefined : azureAccount(baseUrl, key, texts.get('api_version'));
  if (kind === 'vertex')
    return vertexAccount(
      texts.get('vertex_credentials') ?? '',
      texts.get('vertex_location') ?? 'global',
      texts.get('vertex_project'),
    );
  const keys =
    key === undefined ? ['aws_access_key_id', 'aws_secret_access_key'].map((name) => texts.get(name) ?? '') : [key];
  return keys.includes('') ? undefined : bedrockAccount([...keys, texts.get('aws_region_name') ?? 'us-east-1']);
}

/** Limits belong to single deployments there, and to the account here. */
function finished({ limits, ...channel }: Collected): DraftChannel {
  const [only] = limits;
  const names = ['rpm', 'tpm', 'weight', 'max_parallel_requests'];
  if (limits.length !== 1 || !only) {
    const isLimited = limits.some((params) =>
      names.some((name) => params[name] !== undefined && params[name] !== null),
    );
    return {
      ...channel,
      remarks: [isLimited && 'limits of its single deployments are lost; the account may have some'],
    };
  }
  const [rpm, tpm, weight, parallel] = names.map((name) =>
    Number(only[name] ?? 0) > 0 ? Number(only[name]) : undefined,
  );
  const settings = { rpm, tpm, weight, max_concurrency: parallel };
  return { ...channel, settings: defined(settings) };
}

function accessGroupsOf(deployments: readonly Deployment[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { name, info } of deployments)
    for (const group of Array.isArray(info.access_groups) ? info.access_groups.map(String) : [])
      groups.set(group, [...(groups.get(group) ?? []), name]);
  return groups;
}

// ---------------------------------------------------------------- owners and keys

/** Of keys without a user and a team. */
const NOBODY = 'nobody';

function addOwner(draft: Draft, row: SourceRow, kind: 'user' | 'team'): void {
  const id = (kind === 'user' ? row.user_id : row.team_id) ?? '';
  const name = (kind === 'user' ? row.user_id : row.team_alias) || id;
  if (isTrue(row.blocked)) return draft.lose('user', name, 'it is blocked in the source');
  const { limits, remarks } = limitsOf(row);
  const { spend_total: left, ...others } = limits;
  draft.users.push({
    ref: `${kind}:${id}`,
    name,
    email: kind === 'user' ? row.user_email : undefined,
    balance: left ?? '0',
    limits: others,
    isPerson: kind === 'user' && row.user_email !== undefined,
    remarks: [
      row.user_role?.startsWith('proxy_admin') && ADMINISTERS,
      kind === 'team' && 'a team becomes a user with one wallet; its members and roles are lost',
      left === undefined && 'it has no budget that could become a balance; --balance sets one',
      ...remarks,
    ],
  });
}

/** A budget without a period ends when it is spent: what is left of it is the limit. It may be overspent. */
function limitsOf(row: SourceRow): { readonly limits: StoredLimits; readonly remarks: Remarks } {
  const whole = (text: string | undefined): number | undefined => (Number(text ?? 0) > 0 ? Number(text) : undefined);
  const [rpm, tpm, concurrency] = [row.rpm_limit, row.tpm_limit, row.max_parallel_requests].map(whole);
  const budget = row.max_budget === undefined || row.max_budget === 'Infinity' ? undefined : nanosOf(row.max_budget);
  const period = row.budget_duration;
  const spend =
    budget === undefined
      ? {}
      : period === undefined
        ? { spend_total: formatNanos(budget - nanosOf(row.spend ?? '0')) }
        : /^(?:1d|24h)$/.test(period)
          ? { spend_day: formatNanos(budget) }
          : /^(?:1mo|28d|30d|31d)$/.test(period)
            ? { spend_month: formatNanos(budget) }
            : undefined;
  return {
    limits: { ...(rpm && { rpm }), ...(tpm && { tpm }), ...(concurrency && { concurrency }), ...spend },
    remarks: [
      !spend &&
        `its budget of ${formatNanos(budget ?? 0n)} per ${period} is lost; a day and a month are the periods here`,
      spend && 'spend_month' in spend && `a budget of ${period} becomes one of a calendar month`,
    ],
  };
}

/** The routes of a key that makes calls alone, and those of keys that make none. */
const CALLS = 'llm_api_routes';
const MANAGEMENT =
  /^(?:management_routes|info_routes|\/(?:key|user|team|organization|customer|budget|model|spend|global)\/.*)$/;

/** What a key may have that no key has here. */
const KEY_PARTS = [
  ['aliases', 'its aliases of models'],
  ['model_max_budget', 'its budgets of single models'],
  ['budget_limits', 'its further budgets'],
  ['access_group_ids', 'its access groups'],
] as const;

/** Keys of its own console. */
const DASHBOARD = 'litellm-dashboard';

interface KeyContext {
  /** Its team or, without one, its user. */
  readonly owner: SourceRow | undefined;
  readonly budget: SourceRow | undefined;
  readonly accessGroups: ReadonlyMap<string, readonly string[]>;
}

function readKey(draft: Draft, row: SourceRow, { owner, budget, accessGroups }: KeyContext): void {
  const { token = '', team_id, user_id } = row;
  if (team_id === DASHBOARD) return;
  const name = `${row.key_alias || row.key_name || 'key'} #${token.slice(0, 8)}`;
  if (isTrue(row.blocked)) return draft.lose('key', name, 'it is blocked in the source');
  const routes = textList(row.allowed_routes);
  if (routes.length > 0 && routes.every((route) => MANAGEMENT.test(route)))
    return draft.lose('key', name, 'it manages the source and makes no calls');
  const person = user_id ? `user:${user_id}` : NOBODY;
  const ref = team_id ? `team:${team_id}` : person;
  const isKnown = draft.users.some((user) => user.ref === ref);
  if (!isKnown && ref !== NOBODY && !user_id)
    return draft.lose('key', name, 'its team is blocked or deleted in the source');
  if (!isKnown) addOwner(draft, ref === NOBODY ? { user_id: `${draft.source}-keys` } : { user_id }, 'user');
  const user = isKnown || ref !== NOBODY ? ref : `user:${draft.source}-keys`;
  // A key without a value of its own has that of its budget.
  const { limits, remarks } = limitsOf({ ...budget, ...defined(row) });
  const { spend_total: left } = limits;
  const [own, whole] = [row.models, owner?.models].map((text) => modelsOf(text, accessGroups));
  const models = own && whole ? inBoth(own, whole) : (own ?? whole);
  if (models?.length === 0) return draft.lose('key', name, 'none of its models is one of its team or user');
  draft.keys.push({
    ref: token,
    user,
    name,
    value: { key_sha256: token },
    addresses: undefined,
    expiresAt: row.expires,
    tariffs: [ALL, ...(team_id ? [teamTariff(team_id)] : [])],
    models,
    limits: { ...limits, ...(left?.startsWith('-') && { spend_total: '0' }) },
    remarks: [
      ...remarks,
      routes.length > 0 && !routes.includes(CALLS) && `it may make every call here, not only ${routes.join(', ')}`,
      ...KEY_PARTS.map(([column, note]) => !/^$|^(?:null|\{\}|\[\])$/.test(row[column] ?? '') && `${note} are lost`),
    ],
  });
}

/** Names of each list that the other one has, by itself or by a pattern. */
function inBoth(a: readonly string[], b: readonly string[]): readonly string[] {
  const within = (list: readonly string[]) => (name: string) =>
    list.some((one) => one === name || (one.endsWith('*') && name.startsWith(one.slice(0, -1))));
  return [...new Set([...a.filter(within(b)), ...b.filter(within(a))])];
}

/** Undefined for every model. */
function modelsOf(text: string | undefined, groups: KeyContext['accessGroups']): readonly string[] | undefined {
  const names = textList(text);
  if (names.length === 0 || names.some((name) => /^all-(?:proxy|team)-models$/.test(name))) return undefined;
  return names.flatMap((name) => groups.get(name) ?? [name]);
}
