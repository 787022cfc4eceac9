/**
 * Metrics for Prometheus. The table of docs/operating/metrics.md is generated from it; the dashboard and the alerts
 * name only these.
 */

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Text of `# HELP`, which the page of metrics continues with `more`. */
  readonly help: string;
  readonly more?: string;
  /**
   * Of several workers the worst counts; by default values are added up, as those of counters and histograms always
   * are.
   */
  readonly merge?: 'max' | 'min';
}

export const METRICS = {
  dragoman_build_info: { type: 'gauge', merge: 'max', help: '1, with the version of the program and of Node' },
  dragoman_open_requests: { type: 'gauge', help: 'requests in progress' },
  dragoman_open_connections: {
    type: 'gauge',
    help: 'open client connections',
    more: 'At `MAX_CONNECTIONS` idle ones are closed; if there are none, new ones get 503 `server_is_overloaded`',
  },
  dragoman_connections_refused_total: {
    type: 'counter',
    help: 'connections refused by MAX_CONNECTIONS or MAX_CONNECTIONS_PER_ADDRESS',
    more: 'The log event `connections.refused` has the number, at most once a second',
  },
  dragoman_requests_shed_total: {
    type: 'counter',
    help: 'requests refused because the server is overloaded',
    more: 'By `priority`; see [Overload](deploy.md#overload)',
  },
  dragoman_large_body_bytes: {
    type: 'gauge',
    help: 'bytes of large requests in memory, after decompression and with their working copies',
    more: 'At `BODY_MEMORY_BYTES` further ones get 503 `server_is_overloaded`',
  },
  dragoman_request_duration_seconds: {
    type: 'histogram',
    help: 'time from the request line to the end of the response',
    more: 'By `operation`, `status` and `outcome` (`completed`, `client_closed`, or `interrupted` by a shutdown)',
  },
  dragoman_log_lines_dropped_total: {
    type: 'counter',
    help: 'log lines lost because the reader of stdout was too slow or gone',
    more: 'The log event `log.lines_dropped` has the number once writing works again',
  },
  process_resident_memory_bytes: { type: 'gauge', help: 'resident memory of the process' },
  process_cpu_seconds_total: { type: 'counter', help: 'user and system CPU time of the process' },
  process_start_time_seconds: { type: 'gauge', merge: 'min', help: 'start of the process, as Unix time' },
  nodejs_eventloop_lag_p50_seconds: {
    type: 'gauge',
    merge: 'max',
    help: 'median of the event loop delay since the last scrape',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    merge: 'max',
    help: '99th percentile of the event loop delay since the last scrape',
    more: 'Above 0.1 the process is overloaded',
  },
  dragoman_account_cooling: {
    type: 'gauge',
    merge: 'max',
    help: 'cooldowns of the account on this server',
    more: '`scope="account"` is 1 while the whole `account` is out of use, `scope="model"` counts its models and kinds of operation',
  },
  dragoman_account_out: {
    type: 'gauge',
    merge: 'max',
    help: 'accounts that take no new calls',
    more: '1 for each `account`: `state` is `parked`, `draining`, `cooling` or `limited`, and `cause` is `credential`, `operator`, the kind of fault, or the limit of the account (`rpm`, `tpm`, `cost_day`, `cost_month`)',
  },
  dragoman_account_in_flight: { type: 'gauge', help: 'requests in flight on an account, from this server' },
  dragoman_account_queue: {
    type: 'gauge',
    help: 'calls that wait for a slot while all accounts of their group are full',
  },
  dragoman_retries_refused_total: {
    type: 'counter',
    help: 'further attempts that the retry budget refused',
    more: 'See [Health of accounts](accounts.md)',
  },
  dragoman_account_faults_total: { type: 'counter', help: 'failed attempts on an account, by fault' },
  dragoman_account_requests_total: {
    type: 'counter',
    help: 'calls by group, account of the last attempt and model',
    more: '`account` is empty without an attempt. `model` is the catalog line that the name resolves to, `other` for unknown names',
  },
  dragoman_fallback_requests_total: {
    type: 'counter',
    help: 'calls that a line of another group took, by group and fallback group',
  },
  dragoman_account_errors_total: {
    type: 'counter',
    help: 'failed calls, by the side of the failure',
    more: 'With the labels of `dragoman_account_requests_total`, and `side`: `provider`, `ours` or `caller`',
  },
  dragoman_account_first_byte_seconds: {
    type: 'histogram',
    help: "time from the start of the call to the provider's first byte",
  },
  dragoman_account_added_seconds: {
    type: 'histogram',
    help: 'time that the gateway adds to that of client and provider',
    more: 'Includes the wait for a slot while all accounts are full',
  },
  dragoman_account_tokens_total: {
    type: 'counter',
    help: 'tokens of charged calls by kind',
    more: '`input`, `cached_input` (part of `input`) and `output`. The cache hit rate is `cached_input` divided by `input`',
  },
  dragoman_account_charge_dollars_total: {
    type: 'counter',
    help: 'what users paid for calls',
    more: 'Without video tasks and background responses, which are charged later: `GET /admin/v1/usage` has everything',
  },
  dragoman_account_cost_dollars_total: {
    type: 'counter',
    help: 'what the provider charges for them, if the cost is known',
    more: 'Needs the request log',
  },
  dragoman_request_log_dropped_total: {
    type: 'counter',
    help: 'calls that are missing from the request log, because the database was down or too slow',
  },
  dragoman_options_removed_total: {
    type: 'counter',
    help: 'requests that were sent again without an option that the gateway had added',
    more: 'By provider `dialect` and `option`',
  },
  dragoman_limits_shared: {
    type: 'gauge',
    merge: 'min',
    help: 'with REDIS_URL: 1 while servers count limits together, 0 while each counts for itself',
  },
  dragoman_journal_pending_records: {
    type: 'gauge',
    help: 'usage records of this process that are not in the database yet',
    more: 'A few are normal under load',
  },
  dragoman_journal_oldest_seconds: {
    type: 'gauge',
    merge: 'max',
    help: 'age of the oldest of them',
    more: 'Normally below one second',
  },
  dragoman_journal_disk_bytes: {
    type: 'gauge',
    help: 'size of the usage journal in DATA_DIR',
    more: 'Normally at most one segment of 16 MiB',
  },
  dragoman_flush_failures: {
    type: 'gauge',
    merge: 'max',
    help: 'failed attempts in a row to write usage records to the database',
  },
  dragoman_alarm: {
    type: 'gauge',
    merge: 'max',
    help: 'number of problems that need an operator, by alarm',
    more: '0 if there are none; see [Alarms](alarms.md)',
  },
  dragoman_alarm_check_age_seconds: {
    type: 'gauge',
    merge: 'min',
    help: 'time since a job last checked for alarms',
    more: 'Several times `ALARM_CHECK_MS` means that no jobs run',
  },
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof METRICS;
export const metricRow = (name: MetricName): MetricRow => METRICS[name];
