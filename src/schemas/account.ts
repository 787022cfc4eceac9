/** Upstream accounts as configured, changed and shown, never with a credential. A field is written here once (`columnsOf`). */
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
      `one line of ASCII characters. \${NAME} must be the whole value, and works only in a file that the command line applies`,
    );
/** Goes into a header of every call, where a line end or a control character would make every call fail. */
const credential = secret(4096, /^(?!.*\$\{)[\x20-\x7e]*$/);
/** The JSON keys and PEM certificates of clouds are documents. `accountErrors` admits several lines only where one is expected. */
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
  ...f.fileFields(
    `
base_url: its address | "https://assets.example.com"
access_key: its access key | "AK..."
secret_key: its secret; also '"\${NAME}"' or 'secret_key_file' | "SK..."
region: its region | "eu-1"
project: the project of 'api_key' | "default"
`,
    {
      base_url: f.httpUrl,
      access_key: credential,
      secret_key: credential,
      region: f.text,
      project: f.text,
    },
  ),
});

const limit = f.count.nullable().optional();
const costLimit = f.moneyText.nullable().optional();

export const AccountEntry = z.strictObject({
  ...f.fileFields(
    `
id: name of the account, in logs and reports | openai-1
group: its group | openai | the first of 'groups'
groups: its groups, where it serves several with one credential ([several groups](guides/groups.md#accounts)) | [openai, openai-batch] | 'group' alone
adapter: of a video account: the task API that its provider speaks; see [video.md](video.md#families-of-providers) | veo | ark
base_url: address of the provider: with '/v1' for responses, without a version for messages and generate-content, with '/api/v3' for video of 'ark' | "https://api.openai.com/v1"
api_key: the credential: its value, '"\${NAME}"' for a variable of the environment, or 'api_key_file' with a path beside the file; required, unless 'cloud' signs in as the machine | "sk-..."
cloud: of an account at a cloud: its kind, how it signs in, and their settings; see the [guides](guides/README.md) | { kind: azure-openai, auth: api-key }
proxy: way to the provider; see [Outbound proxies](operating/network.md#outbound-proxies). Also '"\${NAME}"' or 'proxy_file' | "http://proxy.internal:3128" | environment
weight: share of the requests among accounts of one priority; 0 only when no other is left | 2 | 1
priority: lower numbers are used first; the next ones while those are full or out | 1 | 0
max_concurrency: requests in flight on one server | 32 | 64 | requests
rpm: requests per minute, on all servers; 'null' removes the limit | 600 | no limit | requests
tpm: tokens per minute, on all servers; 'null' removes the limit | 200000 | no limit | tokens
cost_day: provider cost per UTC day; 'null' removes the limit | "50" | no limit | US dollars
cost_month: provider cost per UTC month; 'null' removes the limit | "1000" | no limit | US dollars
polls_per_second: of a video account: reads of tasks per second; 'null' removes the limit | 50 | 'VIDEO_POLLS_PER_SECOND' | requests
cost_multiplier: of the 'cost' of models, for a discount of this account | "0.9" | "1"
features: what the account offers. '[chat]' for a server with chat completions only; 'objects' lets callers name stored files and containers, 'batches' sends [batches](batches.md#batches-of-the-provider) as batches of the provider | [responses, chat] | all of its style but 'objects', 'converse', 'search' and 'batches'
group_features: its features in single groups, in place of 'features' | { openai-batch: [chat] }
preset: kind of a chat-completions server; see [chat-servers.md](guides/chat-servers.md) | vllm | 'auto': by the host of base_url
capabilities: what the server accepts, over its preset and its models | { imageInput: false }
models: names of models at this account, by the name that would be sent otherwise | { "qwen3-32b": "qwen3:32b" }
result_hosts: of a video account: hosts of results beside 'base_url', where '*' stands for any characters | ["*.storage.example.com"] | none
assets: of a video account: the asset library of the provider | { base_url: "https://assets.example.com", access_key: "AK", secret_key: "SK", region: "eu-1", project: "default" }
`,
    {
      id: f.id,
      group: f.text.optional(),
      groups: groupList.optional(),
      adapter: z.enum(VIDEO_ADAPTERS).optional(),
      base_url: f.httpUrl,
      api_key: accountSecret.optional(),
      cloud: AccountCloud.optional(),
      proxy: proxy.optional(),
      weight: z.number().int().min(0).max(1000).optional(),
      priority: z.number().int().min(-1000).max(1000).optional(),
      max_concurrency: f.count.optional(),
      ...{ rpm: limit, tpm: limit, cost_day: costLimit, cost_month: costLimit, polls_per_second: limit },
      cost_multiplier: f.factor.optional(),
      features: z.array(z.enum(ACCOUNT_FEATURES)).optional(),
      group_features: z.record(f.text, z.array(z.enum(ACCOUNT_FEATURES))).optional(),
      preset: z.enum([...CHAT_PRESET_NAMES, 'auto']).optional(),
      capabilities: AccountCapabilities.optional(),
      models: z.record(f.text, f.text).optional(),
      result_hosts: z.array(f.text).optional(),
      assets: AssetLibrary.optional(),
    },
  ),
});

/** Changes of a stored account. An absent field keeps its value, the credential included. */
export const AccountChange = AccountEntry.omit({ id: true, group: true, adapter: true }).partial();
export type AccountChange = z.infer<typeof AccountChange>;

/** What operators set and may see: the members of audit lines. */
export const ACCOUNT_SETTINGS = AccountChange.omit({ api_key: true }).keyof().options;

const ShownCooldown = z.strictObject({
  ...f.members('replica:text host:text|null model:text|null operation:text|null reason:text provider_code:text|null'),
  ...f.members('message:text|null faults:integer ejections:integer in_use:flag'),
  state: z.enum(['half_open', 'avoided', 'in_use', 'out']),
  ...f.members('since:moment until:moment'),
});
export type ShownCooldown = z.infer<typeof ShownCooldown>;

const withoutSecrets = f.text.describe('without its query and credentials');

const LastTest = z.strictObject({
  ...f.members('at:moment ok:flag model:text|null status:integer|null reason:text|null provider_code:text|null'),
  ...f.members('message:text|null'),
});

/** Columns of the table that operators see. */
const StoredAccount = AccountEntry.omit({ api_key: true })
  .required()
  .extend({
    base_url: withoutSecrets,
    ...f.members('proxy:text|null rpm:integer|null tpm:integer|null cost_day:dollars|null cost_month:dollars|null'),
    ...f.members('polls_per_second:integer|null cost_multiplier:factor preset:text|null'),
    cloud: AccountCloud.nullable(),
    assets: AssetLibrary.pick({ region: true, project: true })
      .partial()
      .extend({ base_url: withoutSecrets })
      .nullable(),
    ...f.members('position:integer created_at:moment'),
  });
export const ACCOUNT_COLUMNS = columnNames(StoredAccount.keyof().options);

export const ShownAccount = StoredAccount.extend({
  ...f.kind('account'),
  in_flight: f.integer.describe('calls on all servers'),
  state: z.enum(['healthy', 'full', 'limited', 'cooling', 'refused_credential', 'parked', 'draining']),
  ...f.members('reason:text|null provider_code:text|null message:text|null since:moment|null until:moment|null'),
  last_test: LastTest.nullable().describe('null when it was not tested since its address, credential or proxy changed'),
  cooldowns: f.list(ShownCooldown),
}).meta({ id: 'Account' });
export type ShownAccount = z.infer<typeof ShownAccount>;
export type AccountState = ShownAccount['state'];

export const AccountTest = f.named('AccountTest', {
  object: z.literal('account_test'),
  ...f.members('account:text ok:flag model:text status:integer|null reason:text|null provider_code:text|null'),
  ...f.members('message:text|null'),
  first_byte_ms: z.number().nullable(),
  duration_ms: z.number(),
});
export type AccountTest = z.infer<typeof AccountTest>;
