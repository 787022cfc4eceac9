/** The Prometheus alerts of deploy/, and the proof that each one fires for what it says, and none for healthy servers. */
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { AlarmName } from '../src/ledger/index.ts';
import { DEPLOY } from './deploy-files.ts';
import { checkNames } from './gen-observe.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long it must hold. */
  readonly minutes: number;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly action: string;
  /** Series that make it fire, and no other alert, in the place of those of HEALTHY: as promtool writes values of every minute. */
  readonly fires: Readonly<Record<string, string>>;
}

/** Calls are refused, or money is wrong. */
const CRITICAL = (['groups_without_account', 'ledger_faults'] satisfies AlarmName[]).join('|');
const ALARM_ACTION = 'docs/operating/observe.md#alarms says what to do about it; GET /admin/v1/alarms has the details.';

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

const ALERTS: readonly Alert[] = [
  {
    alert: 'DragomanDown',
    expr: 'absent(dragoman_build_info)',
    minutes: 5,
    severity: 'critical',
    summary: 'No server of Dragoman is scraped',
    action: 'Look at the processes and at GET /readyz. If they serve, check METRICS_TOKEN and METRICS_PORT.',
    fires: { [BUILD]: '_x60' },
  },
  {
    alert: 'DragomanServerDown',
    expr: 'up == 0 and on (job, instance) max_over_time(dragoman_build_info[1d])',
    minutes: 5,
    severity: 'warning',
    summary: '{{ $labels.instance }} cannot be scraped',
    action: 'Look at its process and at its GET /readyz. Servers that were removed leave the targets of Prometheus.',
    fires: {
      'up{job="d", instance="a"}': '1x9 0x60',
      [BUILD]: '1x9 _x60',
      'dragoman_build_info{job="d", instance="b"}': '1x60',
    },
  },
  {
    alert: 'DragomanConnectionsRefused',
    expr: 'sum by (instance) (rate(dragoman_connections_refused_total[5m])) > 0',
    minutes: 10,
    severity: 'warning',
    summary: 'Connections to {{ $labels.instance }} are refused',
    action: 'Raise MAX_CONNECTIONS or MAX_CONNECTIONS_PER_ADDRESS, or add servers.',
    fires: { 'dragoman_connections_refused_total{instance="a"}': '3+1x60' },
  },
  {
    alert: 'DragomanOverloaded',
    expr: 'sum by (instance) (rate(dragoman_requests_shed_total[5m])) > 0',
    minutes: 10,
    severity: 'critical',
    summary: '{{ $labels.instance }} refuses requests because it is overloaded',
    action: 'Add workers or servers; docs/operating/deploy.md#overload says what is refused first.',
    fires: { 'dragoman_requests_shed_total{instance="a", priority="text"}': '3+1x60' },
  },
  {
    alert: 'DragomanLogLost',
    expr: 'increase(dragoman_log_lines_dropped_total[15m]) > 0',
    minutes: 0,
    severity: 'warning',
    summary: '{{ $labels.instance }} loses log lines',
    action: 'The reader of its standard output is too slow or gone.',
    fires: { 'dragoman_log_lines_dropped_total{instance="a"}': '3+1x60' },
  },
  {
    alert: 'DragomanAccountsFull',
    expr: 'sum by (group) (dragoman_account_queue) > 0',
    minutes: 10,
    severity: 'warning',
    summary: 'All accounts of group {{ $labels.group }} are full, and calls wait',
    action: 'Raise max_concurrency of its accounts, or add one.',
    fires: { 'dragoman_account_queue{instance="a", group="g"}': '1x60' },
  },
  {
    alert: 'DragomanFailing',
    expr: 'sum(rate(dragoman_account_errors_total{side="ours"}[5m])) / sum(rate(dragoman_account_requests_total[5m])) > 0.01',
    minutes: 5,
    severity: 'critical',
    summary: 'Over 1 % of the calls fail in Dragoman itself, or because accounts are full or out',
    action:
      'Run dragoman doctor --live: it shows accounts that are full or out. Then look for log lines of level error.',
    fires: { [errors('ours')]: '0+2x60' },
  },
  {
    alert: 'DragomanProviderFailing',
    expr: 'sum by (group) (rate(dragoman_account_errors_total{side="provider"}[5m])) / sum by (group) (rate(dragoman_account_requests_total[5m])) > 0.1',
    minutes: 10,
    severity: 'warning',
    summary: 'Over 10 % of the calls of group {{ $labels.group }} fail at the provider',
    action:
      "Read GET /admin/v1/accounts: message has the provider's words. Add an account, or park the one that fails.",
    fires: { [errors('provider')]: '0+20x60' },
  },
  {
    alert: 'DragomanFallback',
    expr: 'sum by (group) (rate(dragoman_fallback_requests_total[5m])) / sum by (group) (rate(dragoman_account_requests_total[5m])) > 0.1',
    minutes: 10,
    severity: 'warning',
    summary: 'A fallback takes over 10 % of the calls of group {{ $labels.group }}',
    action: 'Its own accounts are out: run dragoman doctor --live. Prices and models of the fallback may differ.',
    fires: { 'dragoman_fallback_requests_total{instance="a", group="g", fallback="h"}': '0+50x60' },
  },
  {
    alert: 'DragomanLimitsNotShared',
    expr: 'min by (instance) (dragoman_limits_shared) == 0',
    minutes: 5,
    severity: 'warning',
    summary: '{{ $labels.instance }} does not reach Redis, and counts limits for itself',
    action: 'Check Redis and REDIS_URL. Until then every server grants the whole limit.',
    fires: { 'dragoman_limits_shared{instance="a"}': '0x60' },
  },
  {
    alert: 'DragomanChargesLate',
    expr: 'max by (instance) (dragoman_journal_oldest_seconds) > 60',
    minutes: 5,
    severity: 'critical',
    summary: 'Charges of {{ $labels.instance }} do not reach the database',
    action: 'Find usage.flush_failed in its log. No record is lost as long as its DATA_DIR is kept.',
    fires: { 'dragoman_journal_oldest_seconds{instance="a"}': '90x60' },
  },
  {
    alert: 'DragomanCriticalAlarm',
    expr: `max by (alarm) (dragoman_alarm{alarm=~"${CRITICAL}"}) > 0`,
    minutes: 2,
    severity: 'critical',
    summary: 'Alarm {{ $labels.alarm }}',
    action: ALARM_ACTION,
    fires: { 'dragoman_alarm{instance="a", alarm="groups_without_account"}': '1x60' },
  },
  {
    alert: 'DragomanAlarm',
    expr: `max by (alarm) (dragoman_alarm{alarm!~"${CRITICAL}"}) > 0`,
    minutes: 2,
    severity: 'warning',
    summary: 'Alarm {{ $labels.alarm }}',
    action: ALARM_ACTION,
    fires: { 'dragoman_alarm{instance="a", alarm="callbacks_dead"}': '1x60' },
  },
  {
    alert: 'DragomanJobsStopped',
    expr: 'min(dragoman_alarm_check_age_seconds) > 600',
    minutes: 5,
    severity: 'critical',
    summary: 'No process has checked for alarms for ten minutes',
    action: 'Background jobs do not run: start a server without --no-worker, or dragoman work.',
    fires: { 'dragoman_alarm_check_age_seconds{instance="a"}': '0+60x60' },
  },
];

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

/** For `promtool test rules`: of every alert that it alone fires within half an hour, and that healthy servers fire none. */
export const renderAlertTests = (): string =>
  stringify({
    rule_files: [join(DEPLOY, 'prometheus-alerts.yaml')],
    evaluation_interval: '1m',
    tests: [{ alert: undefined, fires: {} }, ...ALERTS].map(({ alert, fires }) => ({
      name: alert ?? 'healthy servers',
      interval: '1m',
      input_series: Object.entries({ ...HEALTHY, ...fires }).map(([series, values]) => ({ series, values })),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '30m',
          exp_samples: alert === undefined ? [] : [{ labels: `{alertname="${alert}"}`, value: 1 }],
        },
      ],
    })),
  });
