/**
 * Small databases of other gateways, written by hand after their published schemas: the columns that an import reads,
 * and rows that show what comes over, changes and is lost. `upstream` is the address of the simulated providers.
 */
import { createCipheriv, createHash, hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { connect } from '../../src/platform/db/index.ts';

type Value = string | number | null | Buffer;
type Table = readonly [name: string, columns: string, ...rows: (readonly Value[])[]];

const createTable = ([name, columns]: Table): string => `create table "${name}" (${columns})`;
const namesIn = (columns: string): string[] => columns.split(', ').map((column) => column.split(' ')[0] ?? '');

export function writeSqlite(path: string, tables: readonly Table[]): void {
  const database = new DatabaseSync(path);
  for (const table of tables) {
    const [name, columns, ...rows] = table;
    database.exec(createTable(table));
    const insert = database.prepare(`insert into "${name}" values (${namesIn(columns).map(() => '?')})`);
    for (const row of rows) insert.run(...row);
  }
  database.close();
}

export async function writePostgres(url: string, tables: readonly Table[]): Promise<void> {
  const client = await connect(url);
  for (const table of tables) {
    const [name, columns, ...rows] = table;
    await client.query(createTable(table));
    for (const row of rows)
      await client.query(`insert into "${name}" values (${namesIn(columns).map((_, n) => `$${n + 1}`)})`, [...row]);
  }
  await client.end();
}

/** The part of a key of new-api and one-api that they store. */
export const storedKey = (name: string): string => hash('sha256', name, 'hex').slice(0, 48);

const IN_2100 = 4_102_444_800;

const RATIOS: Table = [
  'options',
  '"key" text, value text',
  ['ModelRatio', '{"demo-responses":0.625,"demo-alias":0.625,"demo-messages":1.5,"demo-generate":0.15,"demo-draw":0}'],
  ['CompletionRatio', '{"demo-responses":8,"demo-alias":8,"demo-messages":5,"demo-generate":8.333333333333334}'],
  ['GroupRatio', '{"default":1,"vip":0.8}'],
  ['CacheRatio', '{"demo-responses":0.1}'],
  ['ModelPrice', '{"demo-draw":0.04}'],
  ['AutoGroups', '["default","staff"]'],
  ['UserUsableGroups', '{"default":"","vip":""}'],
  ['GroupGroupRatio', '{"vip":{"edit_this":0.9},"svip":{"default":0.5}}'],
];

export const newApi = (upstream: string): readonly Table[] => [
  RATIOS,
  [
    'channels',
    'id integer, type integer, "key" text, status integer, name text, weight integer, created_time integer, base_url text, other text, models text, "group" text, model_mapping text, priority integer, setting text, channel_info json',
    [
      1,
      1,
      'sk-upstream-n1\nsk-upstream-n2\nsk-upstream-off',
      1,
      'openai',
      5,
      0,
      upstream,
      '',
      'demo-responses,demo-alias',
      'default,vip',
      '{"demo-alias":"demo-responses"}',
      10,
      '{}',
      // As GORM writes it.
      Buffer.from('{"is_multi_key":true,"multi_key_status_list":{"2":2}}'),
    ],
    [2, 14, 'sk-upstream-n3', 1, 'claude', 0, 0, upstream, '', 'demo-messages', 'default', null, 0, null, '{}'],
    [3, 24, 'sk-upstream-n4', 1, 'gemini', 0, 0, upstream, '', 'demo-generate,demo-draw', 'default', '', 0, '{}', '{}'],
    [4, 1, 'sk-upstream-n5', 1, 'only one', 0, 0, upstream, '', 'demo-responses', 'default', '', 0, '{}', '{}'],
    [5, 57, '{}', 1, 'subscription', 0, 0, '', '', 'gpt-5-codex', 'default', '', 0, '{}', '{}'],
    [7, 1, 'sk-upstream-n7', 1, 'of staff', 0, 0, upstream, '', 'demo-staff', 'staff', '', 0, '{}', '{}'],
    [8, 26, 'sk-upstream-n8', 1, 'plan', 0, 0, 'glm-coding-plan', '', 'glm-x', 'vip', '', 0, '{}', '{}'],
    [6, 1, 'sk-upstream-n6', 2, 'switched off', 0, 0, upstream, '', 'demo-responses', 'default', '', 0, '{}', '{}'],
  ],
  [
    'users',
    'id integer, username text, password text, role integer, status integer, email text, quota integer, aff_quota integer, "group" text, deleted_at text',
    [1, 'root', '$2a$10$x', 100, 1, '', 50_000_000, 0, 'default', null],
    [2, 'ana', '$2a$10$x', 1, 1, 'ana@example.test', 6_172_839, 250_000, 'default', null],
    [3, 'debtor', '$2a$10$x', 1, 1, 'debtor@example.test', -1_234_567, 0, 'vip', null],
    [4, 'gone', '$2a$10$x', 1, 2, 'gone@example.test', 1, 0, 'default', null],
    [5, '张伟', '$2a$10$x', 1, 1, 'wei@example.test', 1_000_001, 0, 'vip', null],
  ],
  [
    'tokens',
    'id integer, user_id integer, "key" text, status integer, name text, expired_time integer, remain_quota integer, unlimited_quota integer, model_limits_enabled integer, model_limits text, allow_ips text, "group" text, deleted_at text',
    [1, 2, storedKey('all'), 1, 'all', -1, 0, 1, 0, '', '', '', null],
    [
      2,
      2,
      storedKey('capped'),
      1,
      'capped',
      IN_2100,
      2_500_001,
      0,
      1,
      'demo-responses,demo-alias',
      '127.0.0.0/8',
      '',
      null,
    ],
    [3, 5, storedKey('vip'), 1, 'vip', -1, 0, 1, 0, '', '', '', null],
    [4, 2, storedKey('auto'), 1, 'auto', -1, 0, 1, 0, '', '', 'auto', null],
    [5, 2, storedKey('off'), 2, 'off', -1, 0, 1, 0, '', '', '', null],
    [6, 4, storedKey('gone'), 1, 'of a disabled user', -1, 0, 1, 0, '', '', '', null],
    [7, 2, storedKey('deleted'), 1, 'deleted', -1, 0, 1, 0, '', '', '', '2026-01-01'],
    [9, 2, storedKey('none'), 1, 'none', -1, 0, 1, 1, '', '', '', null],
    [8, 2, storedKey('empty'), 4, 'empty', -1, -7, 0, 0, '', '', '', null],
  ],
  ['redemptions', 'id integer, quota integer', [1, 500_000], [2, 500_000]],
];

export const oneApi = (upstream: string): readonly Table[] => [
  RATIOS,
  [
    'channels',
    'id integer, type integer, "key" text, status integer, name text, weight integer, base_url text, models text, "group" text, model_mapping text, priority integer, config text',
    [1, 50, 'sk-upstream-o1', 1, 'compatible', 0, `${upstream}/v1`, 'demo-responses', 'default', '', 0, ''],
    [2, 14, 'sk-upstream-o2', 1, 'claude', 0, upstream, 'demo-messages', 'default', '', 0, ''],
    [4, 8, 'sk-upstream-o4', 1, 'custom', 0, 'https://custom.example.test', 'custom-model', 'default', '', 0, ''],
    [5, 51, 'sk-upstream-o5', 1, 'gemini', 0, '', 'gemini-x', 'default', '', 0, ''],
    [3, 18, 'x', 1, 'xunfei', 0, '', 'SparkDesk', 'default', '', 0, ''],
  ],
  [
    'users',
    'id integer, username text, role integer, status integer, email text, quota integer, "group" text',
    [2, 'ben', 1, 1, 'ben@example.test', 3_333_333, 'default'],
  ],
  [
    'tokens',
    'id integer, user_id integer, "key" text, status integer, name text, expired_time integer, remain_quota integer, unlimited_quota integer, models text, subnet text',
    [1, 2, storedKey('one'), 1, 'one', -1, 1_000_000, 0, 'demo-responses,demo-messages', '127.0.0.1/32,10.0.0.0/8'],
  ],
];

export const SUB2API_KEY = `sk-${hash('sha256', 'sub2api', 'hex')}`;

export const sub2api = (upstream: string): readonly Table[] => [
  [
    'groups',
    'id bigint, name text, rate_multiplier decimal(10,4), status text, platform text, subscription_type text, deleted_at timestamptz',
    [1, 'default', '1.5', 'active', 'anthropic', 'standard', null],
    [2, 'plan', '1', 'active', 'anthropic', 'subscription', null],
  ],
  [
    'proxies',
    'id bigint, protocol text, host text, port integer, username text, password text, deleted_at timestamptz',
    [1, 'http', 'proxy.example.test', 3128, 'me', 'p@ss', null],
  ],
  [
    'accounts',
    'id bigint, name text, platform text, type text, credentials jsonb, proxy_id bigint, concurrency integer, priority integer, status text, deleted_at timestamptz, schedulable boolean',
    [
      1,
      'api key',
      'anthropic',
      'apikey',
      `{"api_key":"sk-upstream-s1","base_url":"${upstream}","model_mapping":{"claude-sonnet-*":"demo-messages","claude-*":"nothing"}}`,
      null,
      3,
      50,
      'active',
      null,
      'true',
    ],
    [2, 'signed in', 'anthropic', 'oauth', '{"access_token":"x"}', null, 3, 50, 'active', null, 'true'],
    [3, 'behind a proxy', 'openai', 'apikey', '{"api_key":"sk-upstream-s2"}', 1, 3, 50, 'active', null, 'true'],
    [4, 'paused', 'openai', 'apikey', '{"api_key":"sk-upstream-s4"}', null, 3, 50, 'active', null, 'false'],
  ],
  ['account_groups', 'account_id bigint, group_id bigint', [1, 1], [2, 1], [3, 1], [4, 1]],
  [
    'users',
    'id bigint, email text, role text, balance decimal(20,8), concurrency integer, status text, deleted_at timestamptz',
    [1, 'cleo@example.test', 'user', '123456789.12345678', 5, 'active', null],
    [2, 'owing@example.test', 'user', '-0.00000001', 5, 'active', null],
  ],
  [
    'api_keys',
    'id bigint, user_id bigint, "key" text, name text, group_id bigint, status text, ip_whitelist jsonb, quota decimal(20,8), quota_used decimal(20,8), expires_at timestamptz, rate_limit_5h decimal(20,8), deleted_at timestamptz',
    [1, 1, SUB2API_KEY, 'main', 1, 'active', '["127.0.0.1"]', '10', '2.5', '2100-01-01T00:00:00Z', '1', null],
    [2, 1, 'sk-too-short', 'short', 1, 'active', null, '0', '0', null, '0', null],
    [4, 1, `${SUB2API_KEY}3`, 'used up', 1, 'quota_exhausted', null, '1', '1.25', null, '0', null],
    [3, 1, `${SUB2API_KEY}2`, 'of a plan', 2, 'active', null, '0', '0', null, '0', null],
  ],
  ['usage_logs', 'id bigint, model text', [1, 'gpt-4o-mini'], [2, 'claude-sonnet-4-5']],
];

export const LITELLM_SALT = 'sk-salt-of-the-rehearsal';
/** Boxes of NaCl with that salt key: `openai/demo-responses` and `sk-upstream-litellm-1`. */
const BOXED_MODEL = 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBiTuj-uYBuPR1LtQkvn-IoBIC1dgAf7951I69MzLbdTeh2kXrzg';
const BOXED_KEY = 'AgICAgICAgICAgICAgICAgICAgICAgICBqvWmLH2l-B0rmJnuPLJvGrR9194NS49Owy0Iycaqj0bfFgVXg';

/** The newer form of LiteLLM. */
function sealGcm(text: string): string {
  const cipher = createCipheriv('aes-256-gcm', hash('sha256', LITELLM_SALT, 'buffer'), Buffer.alloc(12, 7));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return `v2:gcm:${Buffer.concat([Buffer.alloc(12, 7), sealed, cipher.getAuthTag()]).toString('base64url')}`;
}

export const litellmKey = (name: string): string => `sk-${hash('sha256', name, 'hex').slice(0, 22)}`;
const hashed = (name: string): string => createHash('sha256').update(litellmKey(name)).digest('hex');

export const litellm = (upstream: string): readonly Table[] => [
  [
    'LiteLLM_ProxyModelTable',
    'model_id text, model_name text, litellm_params jsonb, model_info jsonb, blocked boolean',
    [
      'a',
      'house',
      JSON.stringify({ model: BOXED_MODEL, api_key: BOXED_KEY, api_base: `${upstream}/v1` }),
      '{"input_cost_per_token":0.00000125,"output_cost_per_token":0.00001}',
      'false',
    ],
    [
      'b',
      'claude',
      JSON.stringify({
        model: sealGcm('anthropic/demo-messages'),
        api_key: sealGcm('sk-upstream-litellm-2'),
        api_base: upstream,
        input_cost_per_token: 0.000003,
        output_cost_per_token: 0.000015,
      }),
      '{}',
      'false',
    ],
    ['c', 'sealed', JSON.stringify({ model: `${BOXED_MODEL.slice(0, -4)}AAAA`, api_key: 'x' }), '{}', 'false'],
  ],
  [
    'LiteLLM_UserTable',
    'user_id text, user_email text, max_budget double precision, spend double precision, budget_duration text, rpm_limit bigint, models text[]',
    ['dora', 'dora@example.test', 25, 4.9000000000000004, null, 600, '{}'],
    ['late', null, 10, 12.25, null, null, '{}'],
    ['narrow', null, 'Infinity', 0, null, null, '{house}'],
  ],
  [
    'LiteLLM_TeamTable',
    'team_id text, team_alias text, max_budget double precision, spend double precision, models text[], blocked boolean',
    ['team-1', 'research', 100, 0.1, '{claude}', 'false'],
  ],
  [
    'LiteLLM_VerificationToken',
    'token text, key_name text, key_alias text, spend double precision, expires timestamp, models text[], user_id text, team_id text, max_budget double precision, budget_duration text, blocked boolean, allowed_routes text[], model_max_budget jsonb',
    [
      hashed('dora'),
      'sk-...1111',
      'dora',
      1,
      '2100-01-01T00:00:00',
      '{}',
      'dora',
      null,
      5.5,
      null,
      null,
      '{llm_api_routes}',
      '{}',
    ],
    [hashed('team'), 'sk-...2222', 'team', 0, null, '{all-team-models}', null, 'team-1', null, null, null, '{}', '{}'],
    [
      hashed('both'),
      'sk-...6666',
      'both',
      0,
      null,
      '{house,cla*}',
      null,
      'team-1',
      null,
      null,
      null,
      '{}',
      '{"claude":1}',
    ],
    [hashed('apart'), 'sk-...7777', 'apart', 0, null, '{house}', null, 'team-1', null, null, null, '{}', '{}'],
    [
      hashed('manager'),
      'sk-...8888',
      'manager',
      0,
      null,
      '{}',
      'dora',
      null,
      null,
      null,
      null,
      '{management_routes}',
      '{}',
    ],
    [
      hashed('narrow'),
      'sk-...9999',
      'narrow',
      0,
      null,
      '{}',
      'narrow',
      null,
      null,
      null,
      null,
      '{/chat/completions}',
      '{}',
    ],
    [hashed('weekly'), 'sk-...3333', 'weekly', 0, null, '{}', 'dora', null, 7, '7d', null, '{}', '{}'],
    [hashed('blocked'), 'sk-...4444', 'blocked', 0, null, '{}', 'dora', null, null, null, 'true', '{}', '{}'],
    [hashed('orphan'), 'sk-...5555', 'orphan', 0, null, '{}', null, null, null, null, null, '{}', '{}'],
  ],
  ['LiteLLM_OrganizationTable', 'organization_id text', ['o']],
];
