/**
 * Upstream accounts as configured, changed and shown, never with a credential. A field is written here once;
 * `columnsOf` names its column.
 */
import { z } from 'zod';
import { isProxyUrl, PROXY_EXPECTED } from '../core/index.ts';
import { CHAT_PRESET_NAMES, FEATURES, OPT_IN_FEATURES, VIDEO_ADAPTERS } from '../rules/index.ts';
import { AccountCapabilities } from './account-capabilities.ts';
import { AccountCloud } from './account-cloud.ts';
import { columnNames } from './columns.ts';
import * as f from './field.ts';
import { groupList } from './group-list.ts';

const secret = (max: number, form: RegExp) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(
      form,
      `one line of ASCII characters. \${NAME} must be the whole value, ` +
        'and works only in a file that the command line applies',
    );
/** Goes into a header of every call, where a line end or a control character would make every call fail. */
const credential = secret(4096, /^(?!.*\$\{)[\x20-\x7e]*$/);
/**
 * The JSON keys and PEM certificates of clouds are documents. `accountErrors` admits several lines only where one is
 * expected.
 */
const accountSecret = secret(16_384, /^(?!.*\$\{)(?:[\x20-\x7e]{0,4096}|(?:\{|-----BEGIN )[\x20-\x7e\t\r\n]*)$/);

const proxy = z
  .string()
  .trim()
  .max(4096)
  .refine(
    (address) => address === 'none' || address === 'environment' || isProxyUrl(address),
    `${PROXY_EXPECTED}; or none, or environment`,
  );

const ACCOUNT_FEATURES = [...new Set([...Object.values(FEATURES).flat(), ...Object.values(OPT_IN_FEATURES).flat()])];

const AssetLibrary = z.strictObject({
  base_url: f.fileField(f.httpUrl, 'its address', { example: '"https://assets.example.com"' }),
  access_key: f.fileField(credential, 'its access key', { example: '"AK..."' }),
  secret_key: f.fileField(credential, `its secret; also \`"\${NAME}"\` or \`secret_key_file\``, { example: '"SK..."' }),
  region: f.fileField(f.text, 'its region', { example: '"eu-1"' }),
  project: f.fileField(f.text, 'the project of `api_key`', { example: '"default"' }),
});

const limit = f.count.nullable().optional();
const costLimit = f.moneyText.nullable().optional();

export const AccountEntry = z.strictObject({
  id: f.fileField(f.id, 'name of the account, in logs and reports', { example: 'openai-1' }),
  group: f.fileField(f.text.optional(), 'its group', { example: 'openai', fallback: 'the first of `groups`' }),
  groups: f.fileField(
    groupList.optional(),
    'its groups, where it serves several with one credential ([several groups](guides/groups.md#accounts))',
    { example: '[openai, openai-batch]', fallback: '`group` alone' },
  ),
  adapter: f.fileField(
    z.enum(VIDEO_ADAPTERS).optional(),
    'of a video account: the task API that its provider speaks; see [video.md](video.md#families-of-providers)',
    { example: 'veo', fallback: 'ark' },
  ),
  base_url: f.fileField(
    f.httpUrl,
    'address of the provider: with `/v1` for responses, ' +
      'without a version for messages and generate-content, with `/api/v3` for video of `ark`',
    { example: '"https://api.openai.com/v1"' },
  ),
  api_key: f.fileField(
    accountSecret.optional(),
    `the credential: its value, \`"\${NAME}"\` for a variable of the environment, ` +
      'or `api_key_file` with a path beside the file; required, unless `cloud` signs in as the machine',
    { example: '"sk-..."' },
  ),
  cloud: f.fileField(
    AccountCloud.optional(),
    'of an account at a cloud: its kind, how it signs in, and their settings; see the [guides](guides/README.md)',
    { example: '{ kind: azure-openai, auth: api-key }' },
  ),
  proxy: f.fileField(
    proxy.optional(),
    'way to the provider; see [Outbound proxies](operating/network.md#outbound-proxies). ' +
      `Also \`"\${NAME}"\` or \`proxy_file\``,
    { example: '"http://proxy.internal:3128"', fallback: 'environment' },
  ),
  weight: f.fileField(
    z.number().int().min(0).max(1000).optional(),
    'share of the requests among accounts of one priority; 0 only when no other is left',
    { example: '2', fallback: '1' },
  ),
  priority: f.fileField(
    z.number().int().min(-1000).max(1000).optional(),
    'lower numbers are used first; the next ones while those are full or out',
    { example: '1', fallback: '0' },
  ),
  max_concurrency: f.fileField(limit, 'requests in flight on one server; `null` removes the limit', {
    example: '32',
    fallback: 'as many as the provider takes ([Limits](operating/accounts.md#limits-of-an-account))',
    unit: 'requests',
  }),
  rpm: f.fileField(limit, 'requests per minute, on all servers; `null` removes the limit', {
    example: '600',
    fallback: 'no limit',
    unit: 'requests',
  }),
  tpm: f.fileField(limit, 'tokens per minute, on all servers; `null` removes the limit', {
    example: '200000',
    fallback: 'no limit',
    unit: 'tokens',
  }),
  cost_day: f.fileField(costLimit, 'provider cost per UTC day; `null` removes the limit', {
    example: '"50"',
    fallback: 'no limit',
    unit: f.DOLLARS,
  }),
  cost_month: f.fileField(costLimit, 'provider cost per UTC month; `null` removes the limit', {
    example: '"1000"',
    fallback: 'no limit',
    unit: f.DOLLARS,
  }),
  polls_per_second: f.fileField(limit, 'of a video account: reads of tasks per second; `null` removes the limit', {
    example: '50',
    fallback: '`VIDEO_POLLS_PER_SECOND`',
    unit: 'requests',
  }),
  cost_multiplier: f.fileField(f.factor.optional(), 'of the `cost` of models, for a discount of this account', {
    example: '"0.9"',
    fallback: '"1"',
  }),
  features: f.fileField(
    z.array(z.enum(ACCOUNT_FEATURES)).optional(),
    'what the account offers. `[chat]` for a server with chat completions only; ' +
      '`objects` lets callers name stored files and containers, ' +
      '`batches` sends [batches](batches.md#batches-of-the-provider) as batches of the provider',
    { example: '[responses, chat]', fallback: 'all of its style but `objects`, `converse`, `search` and `batches`' },
  ),
  group_features: f.fileField(
    z.record(f.text, z.array(z.enum(ACCOUNT_FEATURES))).optional(),
    'its features in single groups, in place of `features`',
    { example: '{ openai-batch: [chat] }' },
  ),
  preset: f.fileField(
    z.enum([...CHAT_PRESET_NAMES, 'auto']).optional(),
    'kind of a chat-completions server; see [chat-servers.md](guides/chat-servers.md)',
    { example: 'vllm', fallback: '`auto`: by the host of base_url' },
  ),
  capabilities: f.fileField(AccountCapabilities.optional(), 'what the server accepts, over its preset and its models', {
    example: '{ imageInput: false }',
  }),
  models: f.fileField(
    z.record(f.text, f.text).optional(),
    'names of models at this account, by the name that would be sent otherwise',
    { example: '{ "qwen3-32b": "qwen3:32b" }' },
  ),
  result_hosts: f.fileField(
    z.array(f.text).optional(),
    'of a video account: hosts of results beside `base_url`, where `*` stands for any characters',
    { example: '["*.storage.example.com"]', fallback: 'none' },
  ),
  assets: f.fileField(AssetLibrary.optional(), 'of a video account: the asset library of the provider', {
    example:
      '{ base_url: "https://assets.example.com", access_key: "AK", secret_key: "SK", ' +
      'region: "eu-1", project: "default" }',
  }),
});

/** Changes of a stored account. An absent field keeps its value, the credential included. */
export const AccountChange = AccountEntry.omit({ id: true, group: true, adapter: true }).partial();
export type AccountChange = z.infer<typeof AccountChange>;

/** What operators set and may see: the members of audit lines. */
export const ACCOUNT_SETTINGS = AccountChange.omit({ api_key: true }).keyof().options;

const ShownCooldown = z.strictObject({
  replica: f.text,
  host: f.someText,
  model: f.someText,
  operation: f.someText,
  reason: f.text,
  provider_code: f.someText,
  message: f.someText,
  faults: f.integer,
  ejections: f.integer,
  in_use: f.flag,
  state: z.enum(['half_open', 'avoided', 'in_use', 'out']),
  since: f.moment,
  until: f.moment,
});
export type ShownCooldown = z.infer<typeof ShownCooldown>;

const withoutSecrets = f.text.describe('without its query and credentials');

const LastTest = z.strictObject({
  at: f.moment,
  ok: f.flag,
  model: f.someText,
  status: f.someInteger,
  reason: f.someText,
  provider_code: f.someText,
  message: f.someText,
});

/** Columns of the table that operators see. */
const StoredAccount = AccountEntry.omit({ api_key: true })
  .required()
  .extend({
    base_url: withoutSecrets,
    proxy: f.someText,
    max_concurrency: f.someInteger,
    rpm: f.someInteger,
    tpm: f.someInteger,
    cost_day: f.someDollars,
    cost_month: f.someDollars,
    polls_per_second: f.someInteger,
    cost_multiplier: f.factorText,
    preset: f.someText,
    cloud: AccountCloud.nullable(),
    assets: AssetLibrary.pick({ region: true, project: true })
      .partial()
      .extend({ base_url: withoutSecrets })
      .nullable(),
    position: f.integer,
    created_at: f.moment,
  });
export const ACCOUNT_COLUMNS = columnNames(StoredAccount.keyof().options);

export const ShownAccount = StoredAccount.extend({
  ...f.kind('account'),
  in_flight: f.integer.describe('calls on all servers'),
  learned_concurrency: f.someInteger.describe(
    'of an account without `max_concurrency`: calls in flight that one process allows since its provider refused some; ' +
      'the smallest one',
  ),
  state: z.enum(['healthy', 'full', 'limited', 'cooling', 'refused_credential', 'parked', 'draining']),
  reason: f.someText,
  provider_code: f.someText,
  message: f.someText,
  since: f.someMoment,
  until: f.someMoment,
  last_test: LastTest.nullable().describe('null when it was not tested since its address, credential or proxy changed'),
  cooldowns: f.list(ShownCooldown),
}).meta({ id: 'Account' });
export type ShownAccount = z.infer<typeof ShownAccount>;
export type AccountState = ShownAccount['state'];

export const AccountTest = f.named('AccountTest', {
  object: z.literal('account_test'),
  account: f.text,
  ok: f.flag,
  model: f.text,
  status: f.someInteger,
  reason: f.someText,
  provider_code: f.someText,
  message: f.someText,
  first_byte_ms: z.number().nullable(),
  duration_ms: z.number(),
});
export type AccountTest = z.infer<typeof AccountTest>;
