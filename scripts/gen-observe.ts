/**
 * The Grafana dashboard and the Prometheus alerts of deploy/, and the table of metrics in docs/operating/observe.md. They name only
 * metrics of `src/rules/metrics.ts`.
 */
import { stringify } from 'yaml';
import { METRICS, type MetricRow } from '../src/rules/index.ts';
import { table } from './markdown.ts';

interface Panel {
  readonly title: string;
  readonly expr: string;
  /** Labels of a series, as Grafana writes them. */
  readonly legend: string;
  readonly unit: 'reqps' | 's' | 'percentunit' | 'short' | 'bytes' | 'currencyUSD' | 'cps';
}

/** By the row of the dashboard. */
const PANELS: Readonly<Record<string, readonly Panel[]>> = {
  Calls: [
    {
      title: 'Requests in progress',
      expr: 'sum by (instance) (dragoman_open_requests)',
      legend: '{{instance}}',
      unit: 'short',
    },
    {
      title: 'Refused under overload',
      expr: 'sum by (priority) (rate(dragoman_requests_shed_total[$__rate_interval]))',
      legend: '{{priority}}',
      unit: 'reqps',
    },
    {
      title: 'Requests by status',
      expr: 'sum by (status) (rate(dragoman_request_duration_seconds_count[$__rate_interval]))',
      legend: '{{status}}',
      unit: 'reqps',
    },
    {
      title: 'Duration, 95th percentile',
      expr: 'histogram_quantile(0.95, sum by (operation, le) (rate(dragoman_request_duration_seconds_bucket[$__rate_interval])))',
      legend: '{{operation}}',
      unit: 's',
    },
    {
      title: 'Calls by model',
      expr: 'sum by (model) (rate(dragoman_account_requests_total[$__rate_interval]))',
      legend: '{{model}}',
      unit: 'reqps',
    },
    {
      title: 'Share of failed calls',
      expr: 'sum by (side) (rate(dragoman_account_errors_total[$__rate_interval])) / scalar(sum(rate(dragoman_account_requests_total[$__rate_interval])))',
      legend: '{{side}}',
      unit: 'percentunit',
    },
    {
      title: 'Time added by the gateway, 99th percentile',
      expr: 'histogram_quantile(0.99, sum by (le) (rate(dragoman_account_added_seconds_bucket[$__rate_interval])))',
      legend: 'p99',
      unit: 's',
    },
  ],
  Accounts: [
    {
      title: 'Cooldowns',
      expr: 'max by (account, scope) (dragoman_account_cooling) > 0',
      legend: '{{account}} {{scope}}',
      unit: 'short',
    },
    {
      title: 'Accounts that take no calls',
      expr: 'max by (account, state, cause) (dragoman_account_out)',
      legend: '{{account}} {{state}}: {{cause}}',
      unit: 'short',
    },
    {
      title: 'Requests in flight',
      expr: 'sum by (account) (dragoman_account_in_flight)',
      legend: '{{account}}',
      unit: 'short',
    },
    {
      title: 'Failed attempts',
      expr: 'sum by (account, fault) (rate(dragoman_account_faults_total[$__rate_interval]))',
      legend: '{{account}} {{fault}}',
      unit: 'cps',
    },
    {
      title: 'First byte, 95th percentile',
      expr: 'histogram_quantile(0.95, sum by (account, le) (rate(dragoman_account_first_byte_seconds_bucket[$__rate_interval])))',
      legend: '{{account}}',
      unit: 's',
    },
  ],
  Money: [
    {
      title: 'Tokens per second',
      expr: 'sum by (kind) (rate(dragoman_account_tokens_total[$__rate_interval]))',
      legend: '{{kind}}',
      unit: 'cps',
    },
    {
      title: 'Charged per hour',
      expr: 'sum by (group) (rate(dragoman_account_charge_dollars_total[$__rate_interval])) * 3600',
      legend: '{{group}}',
      unit: 'currencyUSD',
    },
    {
      title: 'Cost per hour',
      expr: 'sum by (group) (rate(dragoman_account_cost_dollars_total[$__rate_interval])) * 3600',
      legend: '{{group}}',
      unit: 'currencyUSD',
    },
    {
      title: 'Usage records not in the database',
      expr: 'sum by (instance) (dragoman_journal_pending_records)',
      legend: '{{instance}}',
      unit: 'short',
    },
  ],
  Servers: [
    { title: 'Versions', expr: 'count by (version) (dragoman_build_info)', legend: '{{version}}', unit: 'short' },
    {
      title: 'Large requests in memory',
      expr: 'sum by (instance) (dragoman_large_body_bytes)',
      legend: '{{instance}}',
      unit: 'bytes',
    },
    {
      title: 'Memory',
      expr: 'sum by (instance) (process_resident_memory_bytes{job=~"$job"})',
      legend: '{{instance}}',
      unit: 'bytes',
    },
    {
      title: 'Cores in use',
      expr: 'sum by (instance) (rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval]))',
      legend: '{{instance}}',
      unit: 'short',
    },
    {
      title: 'Event loop delay, 99th percentile',
      expr: 'max by (instance) (nodejs_eventloop_lag_p99_seconds{job=~"$job"})',
      legend: '{{instance}}',
      unit: 's',
    },
    { title: 'Alarms', expr: 'max by (alarm) (dragoman_alarm) > 0', legend: '{{alarm}}', unit: 'short' },
  ],
};

interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long it must hold. */
  readonly minutes: number;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly action: string;
}

const ALERTS: readonly Alert[] = [
  {
    alert: 'DragomanDown',
    expr: 'absent(dragoman_build_info)',
    minutes: 5,
    severity: 'critical',
    summary: 'No server of Dragoman is scraped',
    action: 'Look at the processes and at GET /readyz. If they serve, check METRICS_TOKEN and METRICS_PORT.',
  },
  {
    alert: 'DragomanConnectionsRefused',
    expr: 'sum by (instance) (rate(dragoman_connections_refused_total[5m])) > 0',
    minutes: 10,
    severity: 'warning',
    summary: 'Connections to {{ $labels.instance }} are refused',
    action: 'Raise MAX_CONNECTIONS or MAX_CONNECTIONS_PER_ADDRESS, or add servers.',
  },
  {
    alert: 'DragomanOverloaded',
    expr: 'sum by (instance) (rate(dragoman_requests_shed_total[5m])) > 0',
    minutes: 10,
    severity: 'critical',
    summary: '{{ $labels.instance }} refuses requests because it is overloaded',
    action: 'Add workers or servers; docs/operating/deploy.md#overload says what is refused first.',
  },
  {
    alert: 'DragomanLogLost',
    expr: 'increase(dragoman_log_lines_dropped_total[15m]) > 0',
    minutes: 0,
    severity: 'warning',
    summary: '{{ $labels.instance }} loses log lines',
    action: 'The reader of its standard output is too slow or gone.',
  },
  {
    alert: 'DragomanAccountsFull',
    expr: 'sum by (group) (dragoman_account_queue) > 0',
    minutes: 10,
    severity: 'warning',
    summary: 'All accounts of group {{ $labels.group }} are full, and calls wait',
    action: 'Raise max_concurrency of its accounts, or add one.',
  },
  {
    alert: 'DragomanFailing',
    expr: 'sum(rate(dragoman_account_errors_total{side="ours"}[5m])) / sum(rate(dragoman_account_requests_total[5m])) > 0.01',
    minutes: 5,
    severity: 'critical',
    summary: 'Over 1 % of the calls fail in Dragoman itself',
    action: 'Run dragoman doctor --live, and look for log lines of level error.',
  },
  {
    alert: 'DragomanProviderFailing',
    expr: 'sum by (group) (rate(dragoman_account_errors_total{side="provider"}[5m])) / sum by (group) (rate(dragoman_account_requests_total[5m])) > 0.1',
    minutes: 10,
    severity: 'warning',
    summary: 'Over 10 % of the calls of group {{ $labels.group }} fail at the provider',
    action:
      "Read GET /admin/v1/accounts: message has the provider's words. Add an account, or park the one that fails.",
  },
  {
    alert: 'DragomanLimitsNotShared',
    expr: 'min by (instance) (dragoman_limits_shared) == 0',
    minutes: 5,
    severity: 'warning',
    summary: '{{ $labels.instance }} does not reach Redis, and counts limits for itself',
    action: 'Check Redis and REDIS_URL. Until then every server grants the whole limit.',
  },
  {
    alert: 'DragomanChargesLate',
    expr: 'max by (instance) (dragoman_journal_oldest_seconds) > 60',
    minutes: 5,
    severity: 'critical',
    summary: 'Charges of {{ $labels.instance }} do not reach the database',
    action: 'Find usage.flush_failed in its log. No record is lost as long as its DATA_DIR is kept.',
  },
  {
    alert: 'DragomanAlarm',
    expr: 'max by (alarm) (dragoman_alarm) > 0',
    minutes: 2,
    severity: 'warning',
    summary: 'Alarm {{ $labels.alarm }}',
    action: 'docs/operating/observe.md#alarms says what to do about it; GET /admin/v1/alarms has the details.',
  },
  {
    alert: 'DragomanJobsStopped',
    expr: 'min(dragoman_alarm_check_age_seconds) > 600',
    minutes: 5,
    severity: 'critical',
    summary: 'No process has checked for alarms for ten minutes',
    action: 'Background jobs do not run: start a server without --no-worker, or dragoman work.',
  },
];

const SUFFIX = /_(?:bucket|sum|count)$/;

/** A metric that no server has would show nothing, and nobody would notice. */
function checkNames(expr: string): string {
  for (const [name] of expr.matchAll(/\b(?:dragoman|process|nodejs)_\w+/g))
    if (!(name in METRICS) && !(name.replace(SUFFIX, '') in METRICS))
      throw new Error(`${name} is not in METRICS: ${expr}`);
  return expr;
}

export const renderAlerts = (): string =>
  `# Alerts for Prometheus, generated by "npm run gen". docs/operating/observe.md explains the metrics.\n${stringify(
    {
      groups: [
        {
          name: 'dragoman',
          rules: ALERTS.map(({ alert, expr, minutes, severity, summary, action }) => ({
            alert,
            expr: checkNames(expr),
            ...(minutes > 0 && { for: `${minutes}m` }),
            labels: { severity },
            annotations: { summary, description: action },
          })),
        },
      ],
    },
    { lineWidth: 0 },
  )}`;

const [WIDTH, HEIGHT, COLUMNS] = [8, 7, 3];
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

export function renderDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [row, own] of Object.entries(PANELS)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    });
    for (const [n, panel] of own.entries()) {
      const gridPos = { x: (n % COLUMNS) * WIDTH, y: y + 1 + Math.floor(n / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT };
      panels.push({ id: panels.length + 1, ...panelOf(panel), gridPos });
    }
    y += 1 + Math.ceil(own.length / COLUMNS) * HEIGHT;
  }
  return `${JSON.stringify({ ...DASHBOARD, panels }, null, 1)}\n`;
}

const panelOf = ({ title, expr, legend, unit }: Panel) => ({
  type: 'timeseries',
  title,
  datasource: DATASOURCE,
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  targets: [{ refId: 'A', datasource: DATASOURCE, expr: checkNames(expr), legendFormat: legend }],
});

const DASHBOARD = {
  uid: 'dragoman',
  title: 'Dragoman',
  tags: ['dragoman'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', type: 'datasource', query: 'prometheus' },
      {
        name: 'job',
        type: 'query',
        datasource: DATASOURCE,
        query: 'label_values(dragoman_build_info, job)',
        refresh: 2,
        includeAll: true,
        multi: true,
      },
    ],
  },
};

/** The page with its table of metrics. */
export function withMetrics(page: string): string {
  const rows = Object.entries<MetricRow>(METRICS).map(([name, { type, help, more }]) => [
    `\`${name}\``,
    type,
    more === undefined ? help : `${help}. ${more}`,
  ]);
  return page.replace(
    /(<!-- metrics: .*-->\n)[\s\S]*(<!-- end of metrics -->)/,
    (_all, begin: string, end: string) => `${begin}${table(['metric', 'type', 'meaning'], rows)}\n${end}`,
  );
}
