/** What the admin API returns about configured objects: groups, accounts, models, characters, users, people, keys and settings. */
import { PERSON_ROLES, STYLES, VIDEO_ADAPTERS, VIDEO_VARIANTS } from '../rules/index.ts';
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  json,
  MONEY,
  mapOf,
  NUMBER,
  nullable,
  object,
  orNull,
  pageSchema,
  ref,
  type Schema,
  type SchemaMembers,
  TEXT,
  TIME,
  wordOf,
} from './schema.ts';

const TEXTS = arrayOf(TEXT);
const SOME_TEXT = nullable('string');
const SOME_TIME = orNull(TIME);
const FACTOR = described('decimal factor', TEXT);
/** Limits that are not set are absent. */
export const LIMITS: SchemaMembers = {
  rpm: described('requests per minute', INTEGER),
  tpm: described('tokens per minute', INTEGER),
  concurrency: described('requests at a time', INTEGER),
  spend_day: MONEY,
  spend_month: MONEY,
};
const ALL_GROUPS = described('null: every group', orNull(TEXTS));
const RATES = described('rates in the form of the configuration file', orNull(ANY_OBJECT));

const KEY: SchemaMembers = {
  id: TEXT,
  user: TEXT,
  group: TEXT,
  name: TEXT,
  hint: described('the first and last characters of its value', TEXT),
  state: wordOf(['valid', 'expired', 'revoked']),
  video_groups: ALL_GROUPS,
  models: described('patterns of models; null: every model', orNull(TEXTS)),
  addresses: described('networks of clients; null: every address', orNull(TEXTS)),
  store: described('whether responses are stored', BOOLEAN),
  own: described('made in the console by a person of the user', BOOLEAN),
  expires_at: SOME_TIME,
  revoked_at: SOME_TIME,
  created_at: TIME,
};

const PERSON_MEMBERS: SchemaMembers = {
  id: TEXT,
  email: TEXT,
  name: TEXT,
  role: wordOf(PERSON_ROLES),
  user: SOME_TEXT,
  state: wordOf(['disabled', 'active', 'invited']),
  oidc: described('has signed in with OpenID Connect', BOOLEAN),
  signed_in_at: SOME_TIME,
  created_at: TIME,
};

const COOLDOWN = object({
  replica: TEXT,
  host: SOME_TEXT,
  model: SOME_TEXT,
  operation: SOME_TEXT,
  reason: TEXT,
  provider_code: SOME_TEXT,
  message: SOME_TEXT,
  faults: INTEGER,
  ejections: INTEGER,
  in_use: BOOLEAN,
  state: wordOf(['half_open', 'avoided', 'in_use', 'out']),
  since: TIME,
  until: TIME,
});

export const CONFIG_SCHEMAS: Readonly<Record<string, Schema>> = {
  Group: object({
    id: TEXT,
    style: wordOf([...STYLES, 'video']),
    variant: { enum: [...VIDEO_VARIANTS, null] },
    name: TEXT,
    multiplier: FACTOR,
    position: INTEGER,
    created_at: TIME,
  }),
  Account: object(
    {
      id: TEXT,
      group: TEXT,
      adapter: wordOf(VIDEO_ADAPTERS),
      base_url: described('without its query and credentials', TEXT),
      proxy: SOME_TEXT,
      weight: INTEGER,
      priority: INTEGER,
      max_concurrency: INTEGER,
      cost_multiplier: FACTOR,
      features: TEXTS,
      preset: SOME_TEXT,
      capabilities: ANY_OBJECT,
      models: described('names of models at this provider', ANY_OBJECT),
      result_hosts: TEXTS,
      assets: orNull(object({ base_url: TEXT }, { region: TEXT, project: TEXT })),
      position: INTEGER,
      created_at: TIME,
      in_flight: described('calls on all servers', INTEGER),
      state: wordOf(['healthy', 'full', 'cooling', 'refused_credential', 'parked', 'draining']),
      reason: SOME_TEXT,
      provider_code: SOME_TEXT,
      message: SOME_TEXT,
      since: SOME_TIME,
      until: SOME_TIME,
      cooldowns: arrayOf(COOLDOWN),
    },
    { object: { const: 'account' } },
  ),
  AccountTest: object({
    object: { const: 'account_test' },
    account: TEXT,
    ok: BOOLEAN,
    model: TEXT,
    status: nullable('integer'),
    reason: SOME_TEXT,
    provider_code: SOME_TEXT,
    message: SOME_TEXT,
    first_byte_ms: nullable('number'),
    duration_ms: NUMBER,
  }),
  CatalogModel: object({
    id: described('a name or a pattern', TEXT),
    group: TEXT,
    upstream: SOME_TEXT,
    capabilities: ANY_OBJECT,
    context: nullable('integer'),
    max_output: nullable('integer'),
    free: BOOLEAN,
    position: INTEGER,
    created_at: TIME,
    price: described('the price in force', SOME_TEXT),
    prices: RATES,
    cost: RATES,
  }),
  ManagedCharacter: object(
    {
      id: TEXT,
      public_id: described('as callers see it', TEXT),
      group: TEXT,
      models: TEXTS,
      upstream_asset: TEXT,
      name: TEXT,
      tags: TEXTS,
      gender: TEXT,
      age_group: TEXT,
      nationality: TEXT,
      preview_url: TEXT,
      preview_type: described('the media type of an uploaded picture', SOME_TEXT),
      published: BOOLEAN,
      licence: TEXT,
      position: INTEGER,
      created_at: TIME,
    },
    { object: { const: 'character' } },
  ),
  User: object(
    {
      id: TEXT,
      email: SOME_TEXT,
      multiplier: FACTOR,
      max_keys: INTEGER,
      key_groups: ALL_GROUPS,
      created_at: TIME,
    },
    { object: { const: 'user' }, ...LIMITS },
  ),
  Person: object(PERSON_MEMBERS, { object: { const: 'person' } }),
  InvitedPerson: object({
    object: { const: 'person' },
    ...PERSON_MEMBERS,
    link: described('works once; it is shown in this response only', TEXT),
    link_expires_at: TIME,
  }),
  Key: object(KEY, { object: { const: 'key' }, ...LIMITS }),
  NewKey: object(
    { object: { const: 'key' }, ...KEY, value: described('the key itself; it is in this response only', TEXT) },
    { ...LIMITS, replaces: ref('Key') },
  ),
  /** In the console, with what examples of calls depend on. */
  OwnKey: object(
    { ...KEY, style: { enum: [...STYLES, null] } },
    { object: { const: 'key' }, ...LIMITS, value: TEXT, replaces: ref('Key') },
  ),
  Setting: object({
    name: TEXT,
    value: SOME_TEXT,
    source: wordOf(['environment', 'default']),
    about: TEXT,
    secret: BOOLEAN,
  }),
  AppliedConfig: object({
    object: { const: 'config' },
    dry_run: BOOLEAN,
    changes: arrayOf(object({ what: TEXT, object: TEXT })),
    effects: described(
      'model names that resolve to another line or have another price afterwards',
      arrayOf(
        object({
          group: TEXT,
          model: TEXT,
          before: ref('ResolvedPrice'),
          after: { anyOf: [ref('ResolvedPrice'), { type: 'null' }] },
          named: described('the document names the model or its line', BOOLEAN),
        }),
      ),
    ),
    unpriced: described('models without a price, which cannot be used', TEXTS),
    keys: described(
      'created keys; their values are in this response only',
      arrayOf(object({ name: TEXT, group: TEXT, user: TEXT, value: TEXT })),
    ),
  }),
  ResolvedPrice: object({
    line: TEXT,
    prices: { anyOf: [mapOf({}), { const: 'free' }, { type: 'null' }] },
  }),
};

const CHARACTER = { 200: json('The character', ref('ManagedCharacter')) } as const;
const ACCOUNT = { 200: json('The account in its new state', ref('Account')) } as const;
const PERSON = { 200: json('The person', ref('Person')) } as const;

export const CONFIG_RESPONSES = {
  'admin.groups': { 200: json('A page of groups, in the order of the configuration', pageSchema('Group')) },
  'admin.accounts': { 200: json('A page of accounts, in the order of the configuration', pageSchema('Account')) },
  'admin.parkAccount': ACCOUNT,
  'admin.drainAccount': ACCOUNT,
  'admin.resumeAccount': ACCOUNT,
  'admin.testAccount': { 200: json('The outcome, also of a failed test', ref('AccountTest')) },
  'admin.models': { 200: json('A page of models, in the order of the configuration', pageSchema('CatalogModel')) },
  'admin.characters': { 200: json('A page of characters', pageSchema('ManagedCharacter')) },
  'admin.createCharacter': { 201: json('The character', ref('ManagedCharacter')) },
  'admin.changeCharacter': CHARACTER,
  'admin.publishCharacter': CHARACTER,
  'admin.unpublishCharacter': CHARACTER,
  'admin.uploadPreview': CHARACTER,
  'admin.deletePreview': CHARACTER,
  'admin.deleteCharacter': {
    200: json('It is deleted', object({ object: { const: 'character' }, id: TEXT, deleted: { const: true } })),
  },
  'admin.users': { 200: json('A page of users by id', pageSchema('User')) },
  'admin.createUser': { 201: json('The user', ref('User')) },
  'admin.changeUser': { 200: json('The user', ref('User')) },
  'admin.people': { 200: json('A page of people', pageSchema('Person')) },
  'admin.invitePerson': { 201: json('The person with the one-time link', ref('InvitedPerson')) },
  'admin.changePerson': PERSON,
  'admin.resetPerson': { 200: json('The person with a new one-time link', ref('InvitedPerson')) },
  'admin.signOutPerson': PERSON,
  'admin.keys': { 200: json('A page of keys', pageSchema('Key')) },
  'admin.createKey': { 201: json('The key with its value', ref('NewKey')) },
  'admin.changeKey': { 200: json('The key', ref('Key')) },
  'admin.revokeKey': { 200: json('The key', ref('Key')) },
  'admin.rotateKey': { 201: json('The new key with its value, and the old one', ref('NewKey')) },
  'admin.settings': { 200: json('Every setting', pageSchema('Setting')) },
  'admin.applyConfig': { 200: json('What changed, or would change', ref('AppliedConfig')) },
} as const;
