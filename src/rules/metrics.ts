/** Metrics for Prometheus. The table of docs/operating/observe.md is generated from it; the dashboard and the alerts name only these. */
import { rowsIn } from './notation.ts';

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Text of `# HELP`, which the page of metrics continues with `more`. */
  readonly help: string;
  readonly more?: string;
  /** Of several workers the worst counts; by default values are added up, as those of counters and histograms always are. */
  readonly merge?: 'max' | 'min';
}

/** A line is `name: type merge | help | more`. */
export const METRICS = rowsIn(
  `
dragoman_build_info: gauge max | 1, with the version of the program and of Node
dragoman_open_requests: gauge | requests in progress
dragoman_open_connections: gauge | open client connections
  | At 'MAX_CONNECTIONS' idle ones are closed; if there are none, new ones get 503 'server_is_overloaded'
dragoman_connections_refused_total: counter | connections refused by MAX_CONNECTIONS or MAX_CONNECTIONS_PER_ADDRESS
  | The log event 'connections.refused' has the number, at most once a second
dragoman_requests_shed_total: counter | requests refused because the server is overloaded
  | By 'priority'; see [Overload](deploy.md#overload)
dragoman_large_body_bytes: gauge | bytes of large requests in memory, after decompression and with their working copies
  | At 'BODY_MEMORY_BYTES' further ones get 503 'server_is_overloaded'
dragoman_request_duration_seconds: histogram | time from the request line to the end of the response
  | By 'operation', 'status' and 'outcome' ('completed', 'client_closed', or 'interrupted' by a shutdown)
dragoman_log_lines_dropped_total: counter | log lines lost because the reader of stdout was too slow or gone
  | The log event 'log.lines_dropped' has the number once writing works again
process_resident_memory_bytes: gauge | resident memory of the process
process_cpu_seconds_total: counter | user and system CPU time of the process
process_start_time_seconds: gauge min | start of the process, as Unix time
nodejs_eventloop_lag_p50_seconds: gauge max | median of the event loop delay since the last scrape
nodejs_eventloop_lag_p99_seconds: gauge max | 99th percentile of the event loop delay since the last scrape
  | Above 0.1 the process is overloaded
dragoman_account_cooling: gauge max | cooldowns of the account on this server
  | 'scope="account"' is 1 while the whole 'account' is out of use, 'scope="model"' counts its models and kinds of operation
dragoman_account_out: gauge max | accounts that take no new calls
  | 1 for each 'account': 'state' is 'parked', 'draining', 'cooling' or 'limited', and 'cause' is 'credential', 'operator', the kind of fault, or the limit of the account ('rpm', 'tpm', 'cost_day', 'cost_month')
dragoman_account_in_flight: gauge | requests in flight on an account, from this server
dragoman_account_queue: gauge | calls that wait for a slot while all accounts of their group are full
dragoman_retries_refused_total: counter | further attempts that the retry budget refused
  | See [Health of accounts](#health-of-accounts)
dragoman_account_faults_total: counter | failed attempts on an account, by fault
dragoman_account_requests_total: counter | calls by group, account of the last attempt and model
  | 'account' is empty without an attempt. 'model' is the catalog line that the name resolves to, 'other' for unknown names
dragoman_fallback_requests_total: counter | calls that a line of another group took, by group and fallback group
dragoman_account_errors_total: counter | failed calls, by the side of the failure
  | With the labels of 'dragoman_account_requests_total', and 'side': 'provider', 'ours' or 'caller'
dragoman_account_first_byte_seconds: histogram | time from the start of the call to the provider's first byte
dragoman_account_added_seconds: histogram | time that the gateway adds to that of client and provider
  | Includes the wait for a slot while all accounts are full
dragoman_account_tokens_total: counter | tokens of charged calls by kind
  | 'input', 'cached_input' (part of 'input') and 'output'. The cache hit rate is 'cached_input' divided by 'input'
dragoman_account_charge_dollars_total: counter | what users paid for calls
  | Without video tasks and background responses, which are charged later: 'GET /admin/v1/usage' has everything
dragoman_account_cost_dollars_total: counter | what the provider charges for them, if the cost is known
  | Needs the request log
dragoman_request_log_dropped_total: counter | calls that are missing from the request log, because the database was down or too slow
dragoman_options_removed_total: counter | requests that were sent again without an option that the gateway had added
  | By provider 'dialect' and 'option'
dragoman_limits_shared: gauge min | with REDIS_URL: 1 while servers count limits together, 0 while each counts for itself
dragoman_journal_pending_records: gauge | usage records of this process that are not in the database yet
  | A few are normal under load
dragoman_journal_oldest_seconds: gauge max | age of the oldest of them
  | Normally below one second
dragoman_journal_disk_bytes: gauge | size of the usage journal in DATA_DIR
  | Normally at most one segment of 16 MiB
dragoman_flush_failures: gauge max | failed attempts in a row to write usage records to the database
dragoman_alarm: gauge max | number of problems that need an operator, by alarm
  | 0 if there are none; see [Alarms](#alarms)
dragoman_alarm_check_age_seconds: gauge min | time since a job last checked for alarms
  | Several times 'ALARM_CHECK_MS' means that no jobs run
`,
  ([kind = '', help = '', more]): MetricRow => {
    const [type, merge] = kind.split(' ') as [MetricRow['type'], MetricRow['merge']];
    return { type, help, ...(more !== undefined && { more }), ...(merge && { merge }) };
  },
);

export type MetricName = keyof typeof METRICS;
export const metricRow = (name: MetricName): MetricRow => METRICS[name];
