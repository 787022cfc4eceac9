/** Shapes of the responses that the console reads. Money is a decimal string and stays one. */

export interface List<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: 'operator' | 'user';
  readonly user: string | null;
}

export interface Session {
  readonly person: Person;
  readonly csrf: string;
  readonly oidc: boolean;
}

export interface PersonRow extends Person {
  readonly state: 'invited' | 'active' | 'disabled';
  readonly oidc: boolean;
  readonly signed_in_at: string | null;
  readonly created_at: string;
}

export interface PersonLink extends PersonRow {
  readonly link: string;
  readonly link_expires_at: string;
}

/** What a one-time link is for. */
export interface LinkPurpose {
  readonly purpose: 'first' | 'invite' | 'reset';
  readonly name: string | null;
  readonly email: string | null;
}

export interface Limits {
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
  readonly spend_day?: string;
  readonly spend_month?: string;
}

export type Style = 'responses' | 'messages' | 'generate-content' | 'video';

export interface Group {
  readonly id: string;
  readonly style: Style;
  readonly variant: string | null;
  readonly name: string;
  readonly multiplier: string;
  readonly created_at: string;
}

export interface Cooldown {
  readonly replica?: string;
  readonly host?: string | null;
  readonly model: string | null;
  readonly operation: string | null;
  readonly reason: string;
  readonly provider_code?: string | null;
  readonly message?: string | null;
  readonly faults?: number;
  readonly state?: 'out' | 'in_use' | 'half_open' | 'avoided';
  readonly since: string;
  readonly until: string;
}

/** `full`, `draining` and the parked states come from the pool; an account without a state is healthy or cooling by its cooldowns. */
export type AccountState = 'healthy' | 'cooling' | 'full' | 'parked' | 'draining' | 'refused_credential';

export interface Account {
  readonly id: string;
  readonly group: string;
  readonly adapter: string;
  readonly base_url: string;
  readonly proxy: string | null;
  readonly weight: number;
  readonly priority: number;
  readonly max_concurrency: number;
  readonly cost_multiplier: string;
  readonly features: readonly string[];
  readonly preset: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly models: Readonly<Record<string, string>> | null;
  readonly result_hosts: readonly string[];
  readonly cooldowns: readonly Cooldown[];
  readonly created_at: string;
  readonly state?: AccountState;
  readonly reason?: string | null;
  readonly message?: string | null;
  readonly provider_code?: string | null;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly in_flight?: number;
}

export interface AccountTest {
  readonly ok: boolean;
  readonly model: string | null;
  readonly status: number | null;
  readonly reason: string | null;
  readonly provider_code: string | null;
  readonly message: string | null;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
}

export type Rates = Readonly<Record<string, unknown>>;

export interface Model {
  readonly id: string;
  readonly group: string;
  readonly upstream: string | null;
  readonly capabilities: unknown;
  readonly context: number | null;
  readonly max_output: number | null;
  readonly free: boolean;
  readonly price: string | null;
  readonly prices: Rates | null;
  readonly cost: Rates | null;
  readonly created_at: string;
}

export interface Price {
  readonly id: string;
  readonly model: string;
  readonly group: string;
  readonly removed: boolean;
  readonly valid_from: string;
  readonly prices: Rates;
  readonly cost: Rates | null;
}

export interface User extends Limits {
  readonly id: string;
  readonly email: string | null;
  readonly multiplier: string;
  readonly max_keys?: number;
  readonly key_groups?: readonly string[] | null;
  readonly created_at: string;
}

export interface Balance {
  readonly user: string;
  readonly balance: string;
  readonly held: string;
  readonly leased?: string;
  readonly available: string;
}

export interface Key extends Limits {
  readonly id: string;
  readonly user: string;
  readonly group: string;
  readonly name: string;
  readonly hint: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly video_groups: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly addresses: readonly string[] | null;
  readonly store: boolean;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly created_at: string;
  /** Made in the console, so that its user may change it. */
  readonly own?: boolean;
  /** Of its group; operators read it from the groups. */
  readonly style?: Style;
}

export interface NewKey extends Key {
  readonly value: string;
}

export interface StatementLine {
  readonly entry: string;
  readonly at: string;
  readonly kind: string;
  readonly amount: string;
  readonly balance: string;
  readonly reference: string;
  readonly reason: string;
  readonly price: string | null;
}

export interface UsageLine {
  readonly day?: string;
  readonly user?: string;
  readonly key?: string;
  readonly model?: string;
  readonly group?: string;
  readonly account?: string;
  readonly operation?: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly images: number;
  readonly estimated_requests: number;
  /** Operators read it as revenue, users as charge. */
  readonly revenue?: string;
  readonly charge?: string;
  readonly cost?: string | null;
  readonly margin?: string | null;
  readonly unknown_cost_requests?: number;
}

export interface UsageReport extends List<UsageLine> {
  readonly period: { readonly start: string; readonly end: string };
  readonly total?: UsageLine;
}

export interface Alarm {
  readonly name: string;
  readonly count: number;
  readonly detail: string;
  readonly about: string;
  readonly advice: string;
  readonly checked_seconds_ago: number;
}

export interface AuditLine {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly request_id: string | null;
  readonly address: string | null;
}

export interface Callback {
  readonly id: string;
  readonly user: string;
  readonly task: string;
  readonly version: number;
  readonly host: string;
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}

export interface CallbackAttempt {
  readonly attempt: number;
  readonly at: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

export interface CallbackDetail extends Callback {
  readonly attempt_log: readonly CallbackAttempt[];
}

export interface Review {
  readonly task: string;
  readonly user: string;
  readonly model: string;
  readonly account: string | null;
  readonly upstream_task: string | null;
  readonly held: string;
  readonly tokens: number | null;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly asked_until: string;
}

export interface Quarantined {
  readonly id: string;
  readonly fault: string;
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly resolved_at: string | null;
}

export interface Character {
  readonly id: string;
  readonly public_id: string;
  readonly group: string;
  readonly models: readonly string[];
  readonly upstream_asset: string;
  readonly name: string;
  readonly tags: readonly string[] | null;
  readonly gender: string | null;
  readonly age_group: string | null;
  readonly nationality: string | null;
  readonly preview_url: string | null;
  readonly preview_type: string | null;
  readonly published: boolean;
  readonly licence: string | null;
  readonly created_at: string;
}

export interface Attempt {
  readonly account: string;
  readonly model?: string | null;
  /** Absent while the attempt runs, as the members below. */
  readonly outcome?: string | null;
  readonly status?: number | null;
  readonly start_ms: number;
  readonly first_byte_ms?: number | null;
  readonly end_ms?: number | null;
  readonly words?: string | null;
}

export interface RequestLine {
  readonly id: string;
  readonly at: string;
  readonly user: string;
  readonly key: string;
  readonly group: string;
  readonly account: string | null;
  readonly operation: string;
  readonly model: string | null;
  readonly upstream_model: string | null;
  readonly dialect: string | null;
  /** For operators, as `attempts` and `pricing`. */
  readonly target_dialect?: string | null;
  readonly converted?: boolean;
  readonly stream: boolean | null;
  readonly status: number;
  readonly outcome: string;
  readonly code: string | null;
  readonly error: 'provider' | 'ours' | 'caller' | null;
  readonly attempts?: readonly Attempt[];
  readonly dropped: readonly string[];
  readonly changed: readonly string[];
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
  readonly added_ms: number | null;
  readonly failover_ms: number | null;
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly estimated: boolean | null;
  readonly charge: string | null;
  readonly cost: string | null;
  readonly price: string | null;
  readonly session: string | null;
}

export interface PriceLine {
  readonly part: string;
  readonly count: number;
  readonly rate: string;
  readonly per: 'million_tokens' | 'piece';
  readonly amount: string;
}

/** The arithmetic of a charge, as the server computed it. */
export interface Pricing {
  readonly charge: {
    readonly price: string | null;
    readonly lines: readonly PriceLine[];
    readonly subtotal: string;
    readonly group_multiplier: string;
    readonly user_multiplier: string;
    readonly charge: string;
  } | null;
  readonly cost: {
    readonly lines: readonly PriceLine[];
    readonly subtotal: string;
    readonly multiplier: string | null;
    readonly cost: string;
    readonly margin: string;
    readonly margin_percent: number | null;
  } | null;
}

export interface RequestDetail extends RequestLine {
  readonly pricing?: Pricing;
}

/** What a call would be charged. */
export interface Quote extends Pricing {
  readonly line: string;
  readonly free: boolean;
  /** Of a video, whose length and size the provider may choose. */
  readonly at_most: boolean;
}

export interface RateChange {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly suspicious: boolean;
}

export interface PriceImport {
  readonly plan: string;
  readonly changes: readonly {
    readonly group: string;
    readonly model: string;
    readonly source: string;
    readonly valid_from: string | null;
    readonly rates: readonly RateChange[];
  }[];
  readonly unchanged: number;
  readonly remarks: readonly string[];
  readonly skipped: readonly string[];
}

export interface CallbackTest {
  readonly host: string;
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface StatsSums {
  readonly requests: number;
  readonly errors: { readonly provider: number; readonly ours: number; readonly caller: number };
  readonly client_closed: number;
  readonly tokens: { readonly input: number; readonly cached_input: number; readonly output: number };
  readonly charge: string;
  readonly cost: string;
  readonly cost_unknown: number;
  readonly first_byte_ms: Percentiles;
  readonly total_ms: Percentiles;
  readonly added_ms: Percentiles;
  readonly failover_ms: Percentiles;
}

export interface StatsPoint extends StatsSums {
  readonly time: string;
  readonly name: string | null;
}

export interface Stats {
  readonly period: { readonly start: string; readonly end: string };
  readonly bucket: 'hour' | 'day';
  readonly total: StatsSums;
  readonly data: readonly StatsPoint[];
}

export interface AccountStats extends StatsSums {
  readonly account: string;
  readonly group: string;
  readonly cache_hit_share: number | null;
  readonly faults: Readonly<Record<string, number>>;
  readonly models: readonly {
    readonly model: string;
    readonly requests: number;
    readonly errors: number;
    readonly faults: Readonly<Record<string, number>>;
  }[];
  readonly last_fault: {
    readonly at: string;
    readonly request_id: string;
    readonly fault: string;
    readonly status: number | null;
    readonly words: string | null;
  } | null;
}

export type TaskStatus = 'queued' | 'running' | 'cancelled' | 'succeeded' | 'failed' | 'expired';

/** A video task. Members after `finished_at` are for operators. */
export interface Task {
  readonly id: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly progress: number;
  readonly error: { readonly code?: string; readonly message?: string } | null;
  /** Resolution, ratio, duration and the like, as reported or requested. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly tokens: number | null;
  readonly has_last_frame: boolean;
  readonly created_at: string;
  readonly updated_at: string;
  readonly finished_at: string | null;
  readonly user?: string;
  readonly key?: string;
  readonly group?: string;
  readonly account?: string | null;
  readonly upstream_task?: string | null;
  readonly submission?: 'pending' | 'sending' | 'confirmed' | 'unknown';
  readonly hold?: { readonly state: string; readonly held: string; readonly charged: string | null } | null;
  readonly in_review?: boolean;
  readonly callback_host?: string | null;
  readonly assets?: readonly string[];
}

/** A task as the caller API shows it: times are seconds. */
export interface CallerTask {
  readonly id: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly progress?: number;
  readonly error: { readonly code?: string; readonly message?: string } | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly content?: { readonly video_url?: string; readonly last_frame_url?: string };
  readonly usage?: { readonly total_tokens: number };
  readonly [parameter: string]: unknown;
}

export interface Asset {
  readonly id: string;
  readonly name: string;
  readonly asset_type: string;
  readonly status: string;
  readonly group_id?: string | null;
  readonly route_group_name?: string;
  /** Seconds, or ISO text for operators. */
  readonly created_at: number | string;
  readonly updated_at: number | string;
  readonly user?: string;
  readonly account?: string | null;
  readonly failure?: string | null;
}

export interface AssetGroup {
  readonly id: string;
  readonly name: string;
  readonly status?: string;
  readonly route_group_name?: string;
  readonly created_at: number;
}

/** The authorization of a real person. `user` and `account` are for operators. */
export interface Authorization {
  readonly id: string;
  readonly name: string;
  readonly status: 'pending' | 'verifying' | 'completed' | 'failed' | 'expired';
  readonly asset_group_id: string | null;
  readonly route_group_name: string;
  readonly expires_at: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly user?: string;
  readonly account?: string;
}

export interface TaskEstimate {
  readonly max_cost: string;
  readonly tokens: number;
}

export interface Setting {
  readonly name: string;
  readonly value: string | null;
  readonly source: 'environment' | 'default';
  readonly about: string;
  readonly secret: boolean;
}

export interface ConfigResult {
  readonly dry_run: boolean;
  readonly changes: readonly string[];
  readonly effects: readonly string[];
  readonly unpriced: readonly string[];
}

export interface Me {
  readonly user: string;
  readonly balance: { readonly available: string; readonly held: string };
  readonly limits: Limits & { readonly spent_day?: string; readonly spent_month?: string };
  /** Zero: only operators make keys for this user. */
  readonly max_keys: number;
  /** Valid keys that count towards `max_keys`. */
  readonly own_keys: number;
  readonly groups: readonly { readonly id: string; readonly name: string; readonly style: Style }[];
}
