/** Row types, generated from the migrated schema by `npm run gen`. Do not edit. */
import type { ColumnType, Generated } from 'kysely';

export type Json = ColumnType<unknown, string, string>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;

export interface AccountsRow {
  id: string;
  group_id: string;
  base_url: string;
  credential_sealed: string;
  weight: number;
  priority: Generated<number>;
  max_concurrency: number;
  features: string[];
  models: ColumnType<unknown, string | undefined, string>;
  result_hosts: Generated<string[]>;
  assets: Json | null;
  assets_secret_sealed: string | null;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface AdminsRow {
  id: string;
  email: string;
  password_hash: string;
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
}

export interface CreditsRow {
  reference: string;
  user_id: string;
  nanos: bigint;
  reason: string;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface GroupsRow {
  id: string;
  style: string;
  variant: string | null;
  name: string;
  multiplier_ppm: Generated<bigint>;
  position: number;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
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
}

export interface PricesRow {
  id: Generated<bigint>;
  model_id: bigint;
  valid_from: ColumnType<Date, Date | string | undefined, Date | string>;
  rates: Json;
}

export interface RevisionsRow {
  name: string;
  revision: Generated<bigint>;
}

export interface SecretsRow {
  name: string;
  sealed: string;
}

export interface UsersRow {
  id: string;
  email: string | null;
  multiplier_ppm: Generated<bigint>;
  created_at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface Rows {
  accounts: AccountsRow;
  admins: AdminsRow;
  characters: CharactersRow;
  credits: CreditsRow;
  groups: GroupsRow;
  keys: KeysRow;
  models: ModelsRow;
  prices: PricesRow;
  revisions: RevisionsRow;
  secrets: SecretsRow;
  users: UsersRow;
}
