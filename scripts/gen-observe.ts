/** The Grafana dashboard of deploy/, and the table of metrics in docs/operating/observe.md, from `src/rules/metrics.ts`. */
import { METRICS, type MetricRow } from '../src/rules/index.ts';
import { table } from './markdown.ts';

interface Panel {
  readonly title: string;
  /** What the title does not say. */
  readonly about?: string;
  readonly expr: string;
  /** Labels of a series, as Grafana writes them. */
  readonly legend: string;
  readonly unit: 'reqps' | 's' | 'percentunit' | 'short' | 'bytes' | 'currencyUSD' | 'cps';
  /** Small whole numbers, which would cover each other as lines. */
  readonly isStacked?: true;
}

/** Of callers: without health checks, scrapes, operators, and reports of video providers. */
const CALLS = '{operation!~"(operator|admin|console|provider)[.].*"}';

/** By the row of the dashboard, each a multiple of three, so that none has a hole. */
const PANELS: Readonly<Record<string, readonly Panel[]>> = {
  Health: [
    {
      title: 'Alarms',
      about: 'Problems that need an operator. Empty if there are none.',
      expr: 'max by (alarm) (dragoman_alarm) > 0',
      legend: '{{alarm}}',
      unit: 'short',
      isStacked: true,
    },
    {
      title: 'Accounts that take no calls',
      about: 'Empty if all do.',
      expr: 'max by (account, state, cause) (dragoman_account_out)',
      legend: '{{account}} {{state}}: {{cause}}',
      unit: 'short',
      isStacked: true,
    },
    {
      title: 'Share of failed calls',
      about:
        'By side: the provider; ours (the gateway, its configuration, or accounts that are full or out); the caller.',
      expr: 'sum by (side) (rate(dragoman_account_errors_total[$__rate_interval])) / scalar(sum(rate(dragoman_account_requests_total[$__rate_interval])))',
      legend: '{{side}}',
      unit: 'percentunit',
    },
  ],
  Calls: [
    {
      title: 'Calls by status',
      expr: `sum by (status) (rate(dragoman_request_duration_seconds_count${CALLS}[$__rate_interval]))`,
      legend: '{{status}}',
      unit: 'reqps',
    },
    {
      title: 'Calls by model',
      expr: 'sum by (model) (rate(dragoman_account_requests_total[$__rate_interval]))',
      legend: '{{model}}',
      unit: 'reqps',
    },
    {
      title: 'Duration, 95th percentile',
      expr: `histogram_quantile(0.95, sum by (operation, le) (rate(dragoman_request_duration_seconds_bucket${CALLS}[$__rate_interval])))`,
      legend: '{{operation}}',
      unit: 's',
    },
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
      title: 'Time added by the gateway, 99th percentile',
      about: 'Includes the wait for a slot while all accounts are full.',
      expr: 'histogram_quantile(0.99, sum by (le) (rate(dragoman_account_added_seconds_bucket[$__rate_interval])))',
      legend: 'p99',
      unit: 's',
    },
  ],
  Accounts: [
    {
      title: 'Requests in flight',
      expr: 'sum by (account) (dragoman_account_in_flight)',
      legend: '{{account}}',
      unit: 'short',
    },
    {
      title: 'First byte, 95th percentile',
      expr: 'histogram_quantile(0.95, sum by (account, le) (rate(dragoman_account_first_byte_seconds_bucket[$__rate_interval])))',
      legend: '{{account}}',
      unit: 's',
    },
    {
      title: 'Failed attempts',
      expr: 'sum by (account, fault) (rate(dragoman_account_faults_total[$__rate_interval])) > 0',
      legend: '{{account}} {{fault}}',
      unit: 'cps',
    },
    {
      title: 'Models that cool down',
      about: 'Models and kinds of operation that an account does not serve for the moment. Empty if there are none.',
      expr: 'max by (account) (dragoman_account_cooling{scope="model"}) > 0',
      legend: '{{account}}',
      unit: 'short',
      isStacked: true,
    },
    {
      title: 'Calls that wait for a slot',
      about: 'All accounts of their group are full.',
      expr: 'sum by (group) (dragoman_account_queue)',
      legend: '{{group}}',
      unit: 'short',
      isStacked: true,
    },
    {
      title: 'Calls taken by a fallback',
      expr: 'sum by (group, fallback) (rate(dragoman_fallback_requests_total[$__rate_interval]))',
      legend: '{{group}} by {{fallback}}',
      unit: 'reqps',
    },
  ],
  Money: [
    {
      title: 'Tokens per second',
      about: 'cached_input is part of input.',
      expr: 'sum by (kind) (rate(dragoman_account_tokens_total[$__rate_interval]))',
      legend: '{{kind}}',
      unit: 'short',
    },
    {
      title: 'Charged per hour, without video',
      about: 'Video tasks and background responses are charged later, by the worker: GET /admin/v1/usage.',
      expr: 'sum by (group) (rate(dragoman_account_charge_dollars_total[$__rate_interval])) * 3600',
      legend: '{{group}}',
      unit: 'currencyUSD',
    },
    {
      title: 'Cost per hour, without video',
      about: 'Of calls whose cost is known.',
      expr: 'sum by (group) (rate(dragoman_account_cost_dollars_total[$__rate_interval])) * 3600',
      legend: '{{group}}',
      unit: 'currencyUSD',
    },
  ],
  Servers: [
    {
      title: 'Servers by version',
      expr: 'count by (version) (dragoman_build_info)',
      legend: '{{version}}',
      unit: 'short',
    },
    {
      title: 'Memory',
      expr: 'sum by (instance) (process_resident_memory_bytes)',
      legend: '{{instance}}',
      unit: 'bytes',
    },
    {
      title: 'Cores in use',
      expr: 'sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))',
      legend: '{{instance}}',
      unit: 'short',
    },
    {
      title: 'Event loop delay, 99th percentile',
      expr: 'max by (instance) (nodejs_eventloop_lag_p99_seconds)',
      legend: '{{instance}}',
      unit: 's',
    },
    {
      title: 'Large requests in memory',
      expr: 'sum by (instance) (dragoman_large_body_bytes)',
      legend: '{{instance}}',
      unit: 'bytes',
    },
    {
      title: 'Usage records not in the database',
      expr: 'sum by (instance) (dragoman_journal_pending_records)',
      legend: '{{instance}}',
      unit: 'short',
    },
  ],
};

const SUFFIX = /_(?:bucket|sum|count)$/;
const SELECTOR = /\b((?:dragoman|process|nodejs)_\w+)(?:\{(.*?)\})?/g;

/** A metric that no server has would show nothing, and nobody would notice. */
export function checkNames(expr: string): string {
  for (const [, name = ''] of expr.matchAll(SELECTOR))
    if (!(name in METRICS) && !(name.replace(SUFFIX, '') in METRICS))
      throw new Error(`${name} is not in METRICS: ${expr}`);
  return expr;
}

/** Of the jobs that the reader of the dashboard chose: other programs have metrics of a process, too. */
const ofJob = (expr: string): string =>
  expr.replaceAll(
    SELECTOR,
    (_all, name: string, matchers?: string) =>
      `${name}{${[...(matchers ? [matchers] : []), 'job=~"$job"'].join(', ')}}`,
  );

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

const panelOf = ({ title, about, expr, legend, unit, isStacked }: Panel) => ({
  type: 'timeseries',
  title,
  ...(about && { description: about }),
  datasource: DATASOURCE,
  fieldConfig: { defaults: { unit, min: 0, ...(isStacked && { custom: STACKED }) }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  targets: [{ refId: 'A', datasource: DATASOURCE, expr: ofJob(checkNames(expr)), legendFormat: legend }],
});

const STACKED = { stacking: { mode: 'normal', group: 'A' }, fillOpacity: 40, lineInterpolation: 'stepAfter' };

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
