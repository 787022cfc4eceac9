/**
 * Checks of the dashboard and the alerts in deploy/, and the table of metrics in docs/operating/metrics.md, from
 * `src/rules/metrics.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { ALARMS } from '../src/ledger/alarms.ts';
import { METRICS, type MetricRow } from '../src/rules/index.ts';
import { DEPLOY, readDeploy } from './deploy-files.ts';
import { table } from './markdown.ts';
import { ROOT } from './modules.ts';

export interface Panel {
  readonly title: string;
  /** The title of a row has none. */
  readonly targets?: readonly { readonly expr: string }[];
}

export const dashboardPanels = (): readonly Panel[] =>
  (JSON.parse(readDeploy('grafana-dashboard.json')) as { readonly panels: readonly Panel[] }).panels;

const ALERTS = 'prometheus-alerts.yaml';

const alertRules = (): readonly { readonly alert: string; readonly expr: string }[] =>
  parse(readDeploy(ALERTS)).groups.flatMap(({ rules }: { rules: [] }) => rules);

const SELECTOR = /\b((?:dragoman|process|nodejs)_\w+)(\{.*?\})?/g;
const SUFFIX = /_(?:bucket|sum|count)$/;

/** A metric or an alarm that no server has would show nothing, and nobody would notice. */
export function checkObserve(): string[] {
  const picture = readFileSync(join(ROOT, 'docs/pictures/dashboard.svg'), 'utf8');
  const panels = dashboardPanels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
  return [
    ...[...panels, ...alertRules()].flatMap(({ expr }) => unknownNames(expr)),
    ...panels.flatMap(({ title, expr }) => [
      // Other programs have metrics of a process, too.
      ...[...expr.matchAll(SELECTOR)]
        .filter(([, , labels = '']) => !labels.includes('job=~"$job"'))
        .map(([, name]) => `${title}: ${name} is not of the job that the reader chose`),
      ...(picture.includes(title) ? [] : [`docs/pictures/dashboard.svg does not show the panel "${title}"`]),
    ]),
    ...alertRules().flatMap(({ alert }) => (alert in FIRES ? [] : [`${alert} is not proved to fire`])),
  ];
}

function unknownNames(expr: string): string[] {
  const alarms = [...expr.matchAll(/\balarm[=!]~"([^"]*)"/g)].flatMap(([, names = '']) => names.split('|'));
  return [
    ...[...expr.matchAll(SELECTOR)]
      .filter(([, name = '']) => !(name in METRICS) && !(name.replace(SUFFIX, '') in METRICS))
      .map(([, name]) => `${name} is not in METRICS: ${expr}`),
    ...alarms.filter((name) => !(name in ALARMS)).map((name) => `${name} is not an alarm: ${expr}`),
  ];
}

// ---------------------------------------------------------------- alerts

const BUILD = 'dragoman_build_info{job="d", instance="a"}';
const errors = (side: string): string => `dragoman_account_errors_total{instance="a", group="g", side="${side}"}`;

/** 100 calls a minute, of which a few fail at the provider. What was refused or lost is long ago. */
const HEALTHY: Readonly<Record<string, string>> = {
  'up{job="d", instance="a"}': '1x60',
  'up{job="other", instance="c"}': '0x60',
  [BUILD]: '1x60',
  'dragoman_connections_refused_total{instance="a"}': '3x60',
  'dragoman_requests_shed_total{instance="a", priority="text"}': '3x60',
  'dragoman_log_lines_dropped_total{instance="a"}': '3x60',
  'dragoman_account_queue{instance="a", group="g"}': '0 2 0 0 1 0x60',
  'dragoman_account_requests_total{instance="a", group="g"}': '0+100x60',
  'dragoman_fallback_requests_total{instance="a", group="g", fallback="h"}': '0+2x60',
  [errors('ours')]: '0x60',
  [errors('provider')]: '0+5x60',
  [errors('caller')]: '0+30x60',
  'dragoman_limits_shared{instance="a"}': '1x60',
  'dragoman_journal_oldest_seconds{instance="a"}': '0.5x60',
  'dragoman_alarm{instance="a", alarm="callbacks_dead"}': '0x60',
  'dragoman_alarm{instance="a", alarm="groups_without_account"}': '0x60',
  'dragoman_alarm_check_age_seconds{instance="a"}': '30x60',
};

/**
 * Series that make each alert fire, and no other one, in the place of those of HEALTHY: as promtool writes values of
 * every minute.
 */
const FIRES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  DragomanDown: { [BUILD]: '_x60' },
  DragomanServerDown: {
    'up{job="d", instance="a"}': '1x9 0x60',
    [BUILD]: '1x9 _x60',
    'dragoman_build_info{job="d", instance="b"}': '1x60',
  },
  DragomanConnectionsRefused: { 'dragoman_connections_refused_total{instance="a"}': '3+1x60' },
  DragomanOverloaded: { 'dragoman_requests_shed_total{instance="a", priority="text"}': '3+1x60' },
  DragomanLogLost: { 'dragoman_log_lines_dropped_total{instance="a"}': '3+1x60' },
  DragomanAccountsFull: { 'dragoman_account_queue{instance="a", group="g"}': '1x60' },
  DragomanFailing: { [errors('ours')]: '0+2x60' },
  DragomanProviderFailing: { [errors('provider')]: '0+20x60' },
  DragomanFallback: { 'dragoman_fallback_requests_total{instance="a", group="g", fallback="h"}': '0+50x60' },
  DragomanLimitsNotShared: { 'dragoman_limits_shared{instance="a"}': '0x60' },
  DragomanChargesLate: { 'dragoman_journal_oldest_seconds{instance="a"}': '90x60' },
  DragomanCriticalAlarm: { 'dragoman_alarm{instance="a", alarm="groups_without_account"}': '1x60' },
  DragomanAlarm: { 'dragoman_alarm{instance="a", alarm="callbacks_dead"}': '1x60' },
  DragomanJobsStopped: { 'dragoman_alarm_check_age_seconds{instance="a"}': '0+60x60' },
};

/**
 * For `promtool test rules`: of every alert that it alone fires within half an hour, and that healthy servers fire
 * none.
 */
export const renderAlertTests = (): string =>
  stringify({
    rule_files: [join(DEPLOY, ALERTS)],
    evaluation_interval: '1m',
    tests: [['healthy servers', {}] as const, ...Object.entries(FIRES)].map(([name, fires], n) => ({
      name,
      interval: '1m',
      input_series: Object.entries({ ...HEALTHY, ...fires }).map(([series, values]) => ({ series, values })),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '30m',
          exp_samples: n === 0 ? [] : [{ labels: `{alertname="${name}"}`, value: 1 }],
        },
      ],
    })),
  });

// ---------------------------------------------------------------- metrics

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
