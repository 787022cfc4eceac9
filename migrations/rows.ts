/** Row types, generated from the migrated schema by `npm run gen`. Do not edit. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

export type Json = ColumnType<unknown, string, string>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;

export interface AccountCooldownsRow {
  account_id: string;
  operation: string;
  model: string;
  replica_id: string;
  identity: string | null;
  reason: string;
  provider_code: string | null;
  message: string | null;
  faults: number;
  ejections: number;
  in_use: boolean;
  since: Timestamp;
  until: Timestamp;
}

export interface AccountGroupsRow {
  account_id: string | null;
  group_id: string | null;
}

export interface AccountLoadsRow {
  replica_id: string;
  in_flight: Json;
  at: Timestamp;
  used: ColumnType<unknown, string | undefined, string>;
}

export interface AccountParksRow {
  account_id: string;
  state: string;
  cause: string;
  identity: string | null;
  provider_code: string | null;
  message: string | null;
  replica_id: string | null;
  reason: string | null;
  since: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface AccountTestsRow {
  account_id: string;
  at: ColumnType<Date, Date | string | undefined, Date | string>;
  ok: boolean;
  model: string | null;
  status: number | null;
  reason: string | null;
  provider_code: string | null;
  message: string | null;
}

export interface AccountsRow {
  id: string;
  group_id: string;
  base_url: string;
  credential_sealed: string;
  weight: number;
  priority: Generated<number>;
  max_concurrency: Generated<number>;
  features: string[];
  models: ColumnType<unknown, string | undefined, string>;
  result_hosts: Generated<string[]>;
  assets: Json | null;
  assets_secret_sealed: string | null;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  cost_multiplier_ppm: Generated<bigint>;
  adapter: Generated<string>;
  proxy: string | null;
  proxy_sealed: string | null;
  preset: string | null;
  capabilities: ColumnType<unknown, string | undefined, string>;
  cloud: Json | null;
  rpm: number | null;
  tpm: number | null;
  cost_day: string | null;
  cost_month: string | null;
  polls_per_second: number | null;
  groups: string[] | null;
  group_features: ColumnType<unknown, string | undefined, string>;
}

export interface AlarmsRow {
  name: string;
  count: bigint;
  detail: string;
  since: Timestamp | null;
  looked_at: Timestamp;
}

export interface AssetAccountsRow {
  user_id: string;
  group_id: string;
  account_id: string;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface AssetGroupsRow {
  user_id: string;
  id: string;
  group_id: string;
  variant: string;
  account_id: string;
  name: string;
  description: Generated<string>;
  group_type: string;
  is_hidden: Generated<boolean>;
  status: string;
  upstream_id: string | null;
  next_check_at: Timestamp | null;
  check_attempts: Generated<number>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
  deleted_at: Timestamp | null;
}

export interface AssetsRow {
  user_id: string;
  id: string;
  asset_group_id: string;
  group_id: string;
  variant: string;
  account_id: string;
  name: Generated<string>;
  asset_type: string;
  status: string;
  source_url: string;
  upstream_id: string | null;
  failure: string | null;
  refreshed_at: Timestamp | null;
  next_check_at: Timestamp | null;
  check_attempts: Generated<number>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
  deleted_at: Timestamp | null;
}

export interface AuditRow {
  id: Generated<bigint>;
  at: ColumnType<Date, Date | string | undefined, Date | string>;
  actor: string;
  action: string;
  subject: string;
  before: Json | null;
  after: Json | null;
  request_id: string | null;
  address: string | null;
}

export interface AuthorizationSessionsRow {
  user_id: string;
  id: string;
  group_id: string;
  variant: string;
  account_id: string;
  name: Generated<string>;
  description: Generated<string>;
  status: string;
  upstream_token_sealed: string | null;
  link_sealed: string | null;
  return_token_hash: Buffer;
  redirect_url: string | null;
  asset_group_id: string | null;
  checked_at: Timestamp | null;
  next_check_at: Timestamp | null;
  check_attempts: Generated<number>;
  expires_at: Timestamp;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface BackgroundResponsesRow {
  reference: string;
  user_id: string;
  key_id: string;
  group_id: string;
  model: string;
  request_id: string;
  input_tokens: bigint;
  price_id: bigint | null;
  tier: string | null;
  response_id: string | null;
  account_id: string | null;
  state: Generated<string>;
  misses: Generated<number>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  next_check_at: Timestamp;
  cancelled_at: Timestamp | null;
  others: ColumnType<unknown, string | undefined, string>;
}

export interface BatchLinesRow {
  user_id: string;
  batch_id: string;
  n: number;
  custom_id: string;
  start: bigint;
  bytes: number;
  state: Generated<string>;
  attempts: Generated<number>;
  lease_until: Timestamp | null;
  status: number | null;
  request_id: string | null;
  sealed: Buffer | null;
}

export interface BatchesRow {
  user_id: string;
  id: string;
  key_id: string;
  address: string;
  operation: string;
  input_file: string;
  metadata: ColumnType<unknown, string | undefined, string>;
  beta: string | null;
  state: Generated<string>;
  errors: ColumnType<unknown, string | undefined, string>;
  total: number;
  succeeded: Generated<number>;
  errored: Generated<number>;
  canceled: Generated<number>;
  expired: Generated<number>;
  result_bytes: Generated<bigint>;
  output_file: string | null;
  error_file: string | null;
  ready_at: ColumnType<Date, Date | string | undefined, Date | string>;
  taken_at: ColumnType<Date, Date | string | undefined, Date | string>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  expires_at: Timestamp;
  cancelled_at: Timestamp | null;
  ended_at: Timestamp | null;
  kept_until: Timestamp;
  placing_until: Timestamp | null;
}

export interface CallbackAttemptsRow {
  user_id: string;
  event_id: string;
  attempt: number;
  status: number | null;
  error: string | null;
  duration_ms: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface CallbackCircuitsRow {
  user_id: string;
  host: string;
  failures: Generated<number>;
  probes: Generated<number>;
  probe_at: Timestamp | null;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface CallbackDefaultsRow {
  user_id: string;
  url: string;
  types: string[] | null;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface CallbackEventsRow {
  user_id: string;
  task_id: string;
  version: number;
  event_id: string;
  url: string;
  host: string;
  body: Buffer;
  state: Generated<string>;
  attempts: Generated<number>;
  next_at: ColumnType<Date, Date | string | undefined, Date | string>;
  last_status: number | null;
  last_error: string | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  finished_at: Timestamp | null;
  sending_until: Timestamp | null;
  attempts_before: Generated<number>;
}

export interface CapturesRow {
  user_id: string;
  request_id: string;
  key_id: string;
  at: ColumnType<Date, Date | string | undefined, Date | string>;
  bytes: number;
  sealed: string;
}

export interface ChangeRepliesRow {
  id: Buffer;
  fingerprint: Buffer;
  reply_sealed: string | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface CharactersRow {
  id: string;
  public_id: string;
  group_id: string;
  models: string[];
  upstream_asset: string;
  name: string;
  tags: Generated<string[]>;
  gender: Generated<string>;
  age_group: Generated<string>;
  nationality: Generated<string>;
  preview_url: Generated<string>;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  published: Generated<boolean>;
  licence: Generated<string>;
  preview: Buffer | null;
  preview_type: string | null;
}

export interface ConversationItemsRow {
  user_id: string;
  conversation_id: string;
  n: number;
  id: string;
  bytes: number;
  sealed: string;
}

export interface ConversationPagesRow {
  user_id: string;
  conversation_id: string;
  id: string;
  first_n: number;
  next_n: number;
  item_ids: string[];
  bytes: number;
  sealed: string;
}

export interface ConversationsRow {
  user_id: string;
  id: string;
  metadata: ColumnType<unknown, string | undefined, string>;
  items: Generated<number>;
  bytes: Generated<bigint>;
  next_n: Generated<number>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  expires_at: Timestamp;
}

export interface EntriesRow {
  id: Generated<bigint>;
  debit: string;
  credit: string;
  nanos: bigint;
  kind: string;
  reference: string;
  hold_id: bigint | null;
  price_id: bigint | null;
  reason: string;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface ErasuresRow {
  user_id: string;
  actor: string;
  counts: Json;
  left_at_providers: Generated<number>;
  requested_at: ColumnType<Date, Date | string | undefined, Date | string>;
  next_check_at: ColumnType<Date, Date | string | undefined, Date | string>;
  log_erased_to: Timestamp | null;
  finished_at: Timestamp | null;
}

export interface FileChargesRow {
  day: string;
  charged_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface FilePartsRow {
  user_id: string;
  file_id: string;
  start: bigint;
  sealed: Buffer;
}

export interface FilesRow {
  user_id: string;
  id: string;
  key_id: string | null;
  name: string;
  media_type: string;
  purpose: string;
  bytes: bigint;
  completed_at: Timestamp | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  expires_at: Timestamp;
}

export interface GroupsRow {
  id: string;
  style: string;
  variant: string | null;
  name: string;
  multiplier_ppm: Generated<bigint>;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  unknown_members: Generated<string>;
}

export interface HoldsRow {
  id: Generated<bigint>;
  user_id: string;
  reference: string;
  nanos: bigint;
  state: Generated<string>;
  settled_nanos: bigint | null;
  check_after: Timestamp;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  resolved_at: Timestamp | null;
}

export interface IdempotencyRecordsRow {
  user_id: string;
  operation: string;
  key_hash: Buffer;
  fingerprint: Buffer;
  owner: string;
  owner_until: Timestamp;
  resource_id: string | null;
  http_status: number | null;
  error: Json | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  finished_at: Timestamp | null;
  expires_at: Timestamp;
}

export interface KeptObjectsRow {
  kind: string | null;
  user_id: string | null;
  key_id: string | null;
  id: string | null;
  name: string | null;
  bytes: bigint | null;
  account_id: string | null;
  state: string | null;
  created_at: Timestamp | null;
  expires_at: Timestamp | null;
  is_complete: boolean | null;
  tokens: bigint | null;
}

export interface KeysRow {
  id: string;
  user_id: string;
  group_id: string;
  name: string;
  hash: Buffer;
  hint: string;
  callback_secret_sealed: string;
  video_groups: string[] | null;
  allowed_models: string[] | null;
  allowed_addresses: string[] | null;
  limits: ColumnType<unknown, string | undefined, string>;
  expires_at: Timestamp | null;
  revoked_at: Timestamp | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  store: Generated<boolean>;
  spend_id: string | null;
  is_own: Generated<boolean>;
  capture_until: Timestamp | null;
  auto_cache: Generated<boolean>;
  groups: string[] | null;
  prefer: Generated<string>;
}

export interface LeasesRow {
  user_id: string;
  replica_id: string;
  nanos: bigint;
  version: Generated<bigint>;
  is_wanted: Generated<boolean>;
  answered: Generated<bigint>;
}

export interface LedgerBalancesRow {
  account: string;
  last_id: bigint;
  nanos: bigint;
}

export interface LedgerCheckpointRow {
  entry_id: Generated<bigint>;
  next_entry_id: Generated<bigint>;
  next_transaction: Generated<bigint>;
  marked_at: ColumnType<Date, Date | string | undefined, Date | string>;
  holds_until: ColumnType<Date, Date | string | undefined, Date | string>;
  checked_at: ColumnType<Date, Date | string | undefined, Date | string>;
  is_single: Generated<boolean>;
}

export interface LedgerIdentityRow {
  id: Generated<string>;
}

export interface LedgerSegmentsRow {
  last_id: bigint;
  first_id: bigint;
  entries: bigint;
  nanos: bigint;
  digest: bigint;
  first_at: Timestamp;
  last_at: Timestamp;
  is_faulty: Generated<boolean>;
  verified_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface LedgerSumsRow {
  account: string;
  credits: bigint;
  debits: bigint;
  beyond: bigint;
}

export interface LedgerSuspectsRow {
  hold_id: bigint;
}

export interface ModelsRow {
  id: Generated<bigint>;
  group_id: string;
  pattern: string;
  upstream: string | null;
  capabilities: ColumnType<unknown, string | undefined, string>;
  context: number | null;
  max_output: number | null;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  free: Generated<boolean>;
  fallback: Generated<string[]>;
  learned: ColumnType<unknown, string | undefined, string>;
}

export interface NoticeDeliveriesRow {
  user_id: string;
  notice_id: string;
  destination_id: string;
  state: Generated<string>;
  attempts: Generated<number>;
  next_at: ColumnType<Date, Date | string | undefined, Date | string>;
  last_status: number | null;
  last_error: string | null;
  finished_at: Timestamp | null;
}

export interface NoticesRow {
  user_id: string;
  id: string;
  rule_id: string;
  content: Json;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface PeopleRow {
  id: string;
  email: string;
  name: string;
  role: string;
  user_id: string | null;
  password_hash: string | null;
  oidc_subject: string | null;
  oidc_rule: Generated<boolean>;
  disabled_at: Timestamp | null;
  signed_in_at: Timestamp | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface PersonLinksRow {
  token_hash: Buffer;
  person_id: string | null;
  purpose: string;
  created_at: Timestamp;
  expires_at: Timestamp;
}

export interface PersonSessionsRow {
  token_hash: Buffer;
  person_id: string;
  created_at: Timestamp;
  seen_at: Timestamp;
  expires_at: Timestamp;
}

export interface PricesRow {
  id: Generated<bigint>;
  model_id: bigint | null;
  valid_from: ColumnType<Date, Date | string | undefined, Date | string>;
  rates: Json;
  cost: Json | null;
  model_group: Generated<string>;
  model_pattern: Generated<string>;
}

export interface ProviderBatchLinesRow {
  user_id: string;
  reference: string;
  n: number;
  input_tokens: bigint;
  max_nanos: bigint;
}

export interface ProviderBatchesRow {
  user_id: string;
  reference: string;
  batch_id: string;
  key_id: string;
  group_id: string;
  account_id: string;
  operation: string;
  model: string;
  price_id: bigint | null;
  stores: boolean;
  requests: number;
  state: Generated<string>;
  input_file: string | null;
  upstream_id: string | null;
  is_certain: Generated<boolean>;
  nanos: Generated<bigint>;
  misses: Generated<number>;
  next_check_at: Timestamp;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  submitted_at: Timestamp | null;
  cancelled_at: Timestamp | null;
}

export interface ProviderObjectsRow {
  user_id: string;
  kind: string;
  id: string;
  account_id: string;
  key_id: string | null;
  model: string;
  tokens: bigint;
  shown: Json;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  expires_at: Timestamp;
}

export interface ProviderTasksRow {
  provider: Buffer;
  upstream_id: string;
  user_id: string;
  task_id: string;
}

export interface ReplicasRow {
  id: string;
  host: string;
  fenced: Generated<boolean>;
  started_at: ColumnType<Date, Date | string | undefined, Date | string>;
  seen_at: ColumnType<Date, Date | string | undefined, Date | string>;
  pending: Generated<bigint>;
  pending_since: Timestamp | null;
}

export interface RequestFaultHoursRow {
  hour: Timestamp;
  group_id: string;
  account_id: string;
  model: string;
  kind: string;
  attempts: bigint;
}

export interface RequestFaultsRow {
  at: Timestamp;
  request_id: string;
  attempt: number;
  group_id: string;
  account_id: string;
  model: string | null;
  kind: string;
  status: number | null;
  words: string | null;
  provider_request_id: string | null;
}

export interface RequestHoursRow {
  level: string;
  hour: Timestamp;
  group_id: string;
  account_id: string;
  model: string;
  requests: bigint;
  provider_errors: bigint;
  own_errors: bigint;
  caller_errors: bigint;
  client_closed: bigint;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  output_tokens: bigint;
  nanos: bigint;
  cost_nanos: bigint;
  cost_unknown: bigint;
  first_byte: string;
  total: string;
  added: string;
  failover: string;
}

export interface RequestHoursDueRow {
  hour: Timestamp;
}

export interface RequestsRow {
  at: Timestamp;
  id: string;
  user_id: string;
  key_id: string;
  group_id: string;
  operation: string;
  model: string | null;
  upstream_model: string | null;
  client: string | null;
  target: string | null;
  stream: boolean | null;
  status: number;
  outcome: string;
  code: string | null;
  error: string | null;
  account_id: string | null;
  attempts: Json | null;
  dropped: string[] | null;
  changed: string[] | null;
  first_byte_ms: number | null;
  total_ms: number;
  added_ms: number | null;
  failover_ms: number | null;
  usage: Json | null;
  nanos: bigint | null;
  cost_nanos: bigint | null;
  price_id: bigint | null;
  group_ppm: bigint | null;
  user_ppm: bigint | null;
  estimated: boolean | null;
  session: bigint | null;
  attempt_start_ms: number | null;
  attempt_end_ms: number | null;
  message: string | null;
  input_tokens: bigint | null;
  cached_input_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  output_tokens: bigint | null;
}

export interface RevisionsRow {
  name: string;
  revision: Generated<bigint>;
}

export interface SchemaVersionsRow {
  migration: string;
  oldest_version: string;
}

export interface SecretsRow {
  name: string;
  sealed: string;
}

export interface StoredBytesRow {
  user_id: string;
  key_id: string;
  bytes: bigint;
}

export interface StoredResponsesRow {
  id: string;
  user_id: string;
  account_id: string | null;
  item_ids: Generated<string[]>;
  sealed: string | null;
  expires_at: Timestamp;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  tokens: bigint | null;
  previous_id: string | null;
  key_id: string | null;
  bytes: Generated<bigint>;
  chain_bytes: bigint | null;
  chain_turns: number | null;
  is_hidden: Generated<boolean>;
}

export interface UsageDailyRow {
  user_id: string;
  day: string;
  key_id: string;
  group_id: string;
  model: string;
  account_id: string;
  operation: string;
  requests: bigint;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  cache_write_tokens: bigint;
  output_tokens: bigint;
  reasoning_tokens: bigint;
  audio_tokens: bigint;
  image_tokens: bigint;
  searches: bigint;
  images: bigint;
  nanos: bigint;
  estimated: bigint;
  cost_nanos: Generated<bigint>;
  cost_unknown: Generated<bigint>;
  failed_cost_nanos: Generated<bigint>;
}

export interface UsageKeptRow {
  since: string;
  is_single: Generated<boolean>;
}

export interface UsageMonthlyRow {
  user_id: string;
  month: string;
  key_id: string;
  group_id: string;
  model: string;
  account_id: string;
  operation: string;
  requests: bigint;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  cache_write_tokens: bigint;
  output_tokens: bigint;
  reasoning_tokens: bigint;
  audio_tokens: bigint;
  image_tokens: bigint;
  searches: bigint;
  images: bigint;
  nanos: bigint;
  estimated: bigint;
  cost_nanos: bigint;
  cost_unknown: bigint;
  failed_cost_nanos: Generated<bigint>;
}

export interface UsageMonthlyMonthsRow {
  month: string;
  is_complete: boolean;
}

export interface UsageQuarantineRow {
  id: string;
  fault: string;
  raw: string;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  outcome: string | null;
  outcome_reason: string | null;
  resolved_at: Timestamp | null;
}

export interface UsageRecordsRow {
  id: string;
  at: Timestamp;
  user_id: string;
  key_id: string;
  group_id: string;
  account_id: string;
  model: string;
  operation: string;
  request_id: string;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  cache_write_tokens: bigint;
  output_tokens: bigint;
  reasoning_tokens: bigint;
  images: number;
  usage: Json;
  nanos: bigint;
  price_id: bigint | null;
  estimated: boolean;
  cost_nanos: bigint | null;
  fault: string | null;
}

export interface UsageTotalsRow {
  day: string;
  group_id: string;
  model: string;
  account_id: string;
  operation: string;
  requests: bigint;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  cache_write_tokens: bigint;
  output_tokens: bigint;
  reasoning_tokens: bigint;
  audio_tokens: bigint;
  image_tokens: bigint;
  searches: bigint;
  images: bigint;
  nanos: bigint;
  estimated: bigint;
  cost_nanos: bigint;
  cost_unknown: bigint;
  failed_cost_nanos: Generated<bigint>;
}

export interface UsageTotalsDaysRow {
  day: string;
}

export interface UsersRow {
  id: string;
  email: string | null;
  multiplier_ppm: Generated<bigint>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  limits: ColumnType<unknown, string | undefined, string>;
  max_keys: Generated<number>;
  key_groups: string[] | null;
  erased_at: Timestamp | null;
  video_creates: number | null;
  end_users: Generated<boolean>;
  max_files: number | null;
  max_file_mib: number | null;
}

export interface VideoTaskAssetsRow {
  user_id: string;
  task_id: string;
  asset_id: string;
}

export interface VideoTasksRow {
  user_id: string;
  id: string;
  key_id: string;
  group_id: string;
  variant: string;
  model: string;
  upstream_model: string;
  status: Generated<string>;
  progress: Generated<number>;
  version: Generated<number>;
  submission: Generated<string>;
  submitter: string | null;
  submitter_until: Timestamp | null;
  account_id: string | null;
  upstream_id: string | null;
  callback_token_hash: Buffer;
  safety_identifier: string;
  parameters: Json;
  reported: Json | null;
  service_tier: GeneratedAlways<string | null>;
  has_video_input: boolean;
  usage_tokens: bigint | null;
  error: Json | null;
  callback_url: string | null;
  callback_secret_sealed: string;
  cancel_requested_at: Timestamp | null;
  expires_at: Timestamp;
  next_check_at: Timestamp | null;
  check_attempts: Generated<number>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>;
  finished_at: Timestamp | null;
  deleted_at: Timestamp | null;
  operation: Generated<string>;
  result_url: string | null;
  last_frame_url: string | null;
  result_reported_at: Timestamp | null;
  missing_reports: Generated<number>;
  missing_since: Timestamp | null;
  review_until: Timestamp | null;
  mirrored_at: Timestamp | null;
  mirror_after: Timestamp | null;
  candidates: Json | null;
  dismissed_at: Timestamp | null;
  link_epoch: Generated<number>;
  max_tokens: bigint | null;
  sent_expiry: number | null;
  label: string | null;
  callback_types: string[] | null;
  unit: Generated<string>;
}

export interface WalletsRow {
  user_id: string;
  credits: Generated<bigint>;
  debits: Generated<bigint>;
  held: Generated<bigint>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface WarningDestinationsRow {
  user_id: string;
  id: string;
  name: string;
  kind: string;
  url_sealed: string | null;
  host: string | null;
  secret_sealed: string | null;
  addresses: string[] | null;
  quiet: Json | null;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface WarningRulesRow {
  user_id: string;
  id: string;
  name: string;
  kind: string;
  scope: string;
  subject: string | null;
  period: string | null;
  nanos: bigint | null;
  percent: number | null;
  min_calls: number | null;
  states: string[] | null;
  destinations: string[] | null;
  paused: Generated<boolean>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface WarningStatesRow {
  user_id: string;
  rule_id: string;
  subject: string;
  period: string;
  value: string;
  since: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface WishesRow {
  user_id: string;
  owner: string;
  id: Generated<bigint>;
  nanos: bigint;
  seen_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface Rows {
  account_cooldowns: AccountCooldownsRow;
  account_groups: AccountGroupsRow;
  account_loads: AccountLoadsRow;
  account_parks: AccountParksRow;
  account_tests: AccountTestsRow;
  accounts: AccountsRow;
  alarms: AlarmsRow;
  asset_accounts: AssetAccountsRow;
  asset_groups: AssetGroupsRow;
  assets: AssetsRow;
  audit: AuditRow;
  authorization_sessions: AuthorizationSessionsRow;
  background_responses: BackgroundResponsesRow;
  batch_lines: BatchLinesRow;
  batches: BatchesRow;
  callback_attempts: CallbackAttemptsRow;
  callback_circuits: CallbackCircuitsRow;
  callback_defaults: CallbackDefaultsRow;
  callback_events: CallbackEventsRow;
  captures: CapturesRow;
  change_replies: ChangeRepliesRow;
  characters: CharactersRow;
  conversation_items: ConversationItemsRow;
  conversation_pages: ConversationPagesRow;
  conversations: ConversationsRow;
  entries: EntriesRow;
  erasures: ErasuresRow;
  file_charges: FileChargesRow;
  file_parts: FilePartsRow;
  files: FilesRow;
  groups: GroupsRow;
  holds: HoldsRow;
  idempotency_records: IdempotencyRecordsRow;
  kept_objects: KeptObjectsRow;
  keys: KeysRow;
  leases: LeasesRow;
  ledger_balances: LedgerBalancesRow;
  ledger_checkpoint: LedgerCheckpointRow;
  ledger_identity: LedgerIdentityRow;
  ledger_segments: LedgerSegmentsRow;
  ledger_sums: LedgerSumsRow;
  ledger_suspects: LedgerSuspectsRow;
  models: ModelsRow;
  notice_deliveries: NoticeDeliveriesRow;
  notices: NoticesRow;
  people: PeopleRow;
  person_links: PersonLinksRow;
  person_sessions: PersonSessionsRow;
  prices: PricesRow;
  provider_batch_lines: ProviderBatchLinesRow;
  provider_batches: ProviderBatchesRow;
  provider_objects: ProviderObjectsRow;
  provider_tasks: ProviderTasksRow;
  replicas: ReplicasRow;
  request_fault_hours: RequestFaultHoursRow;
  request_faults: RequestFaultsRow;
  request_hours: RequestHoursRow;
  request_hours_due: RequestHoursDueRow;
  requests: RequestsRow;
  revisions: RevisionsRow;
  schema_versions: SchemaVersionsRow;
  secrets: SecretsRow;
  stored_bytes: StoredBytesRow;
  stored_responses: StoredResponsesRow;
  usage_daily: UsageDailyRow;
  usage_kept: UsageKeptRow;
  usage_monthly: UsageMonthlyRow;
  usage_monthly_months: UsageMonthlyMonthsRow;
  usage_quarantine: UsageQuarantineRow;
  usage_records: UsageRecordsRow;
  usage_totals: UsageTotalsRow;
  usage_totals_days: UsageTotalsDaysRow;
  users: UsersRow;
  video_task_assets: VideoTaskAssetsRow;
  video_tasks: VideoTasksRow;
  wallets: WalletsRow;
  warning_destinations: WarningDestinationsRow;
  warning_rules: WarningRulesRow;
  warning_states: WarningStatesRow;
  wishes: WishesRow;
}
