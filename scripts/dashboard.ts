/**
 * `npm run gen -- dashboard`: sends mixed traffic to two servers while a real Prometheus scrapes them, asks it for every panel of the
 * dashboard, and draws docs/pictures/dashboard.svg from its answers. Fails when a panel shows nothing, or when the trouble raises no alert.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../bench/child.ts';
import { drawDashboard, type ShownPanel } from './dashboard/drawing.ts';
import { SCRAPE_SECONDS, withStage } from './dashboard/stage.ts';
import { renderDashboard } from './gen-observe.ts';
import { ROOT } from './modules.ts';

const PICTURE = 'docs/pictures/dashboard.svg';
/** Before the picture begins: a server that has just started is slow. */
const WARM_UP_SECONDS = 20;
const SECONDS = 240;
const STEP_SECONDS = 4;
/** What Grafana puts in is at least four times the scrape interval. */
const RATE_INTERVAL = `${SCRAPE_SECONDS * 8}s`;

/** Panels that may rightly show only zero in this run, and why. */
const ZERO: Readonly<Record<string, string>> = { 'Refused under overload': 'the servers are not overloaded' };

/** Alerts of what happens in the run. Most have to last for longer, and stay pending. */
const ALERTS = [
  'DragomanAccountsFull',
  'DragomanAlarm',
  'DragomanCriticalAlarm',
  'DragomanFailing',
  'DragomanFallback',
];

interface Found {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [at: number, value: string])[];
}
type Ask = (expr: string) => Promise<readonly Found[]>;

const asker =
  (url: string, start: number, end: number): Ask =>
  async (expr) => {
    const query = expr.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll('$job', '.*');
    const body = new URLSearchParams({ query, start: `${start}`, end: `${end}`, step: `${STEP_SECONDS}` });
    const response = await fetch(`${url}/api/v1/query_range`, { method: 'POST', body });
    const { error, data } = (await response.json()) as { error?: string; data: { result: readonly Found[] } };
    if (error !== undefined) throw new Error(`${expr}: ${error}`);
    return data.result;
  };

interface DashboardPanel extends Pick<ShownPanel, 'title' | 'gridPos'> {
  readonly fieldConfig?: { readonly defaults: { readonly unit: string; readonly custom?: object } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

async function show({ title, gridPos, fieldConfig, targets = [] }: DashboardPanel, ask: Ask): Promise<ShownPanel> {
  const { unit, custom } = fieldConfig?.defaults ?? {};
  const series = [];
  for (const { expr, legendFormat } of targets)
    for (const { metric, values } of await ask(expr)) {
      const name = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => metric[label] ?? '');
      series.push({ name, points: values.map(([at, value]) => [at, Number(value)] as const) });
    }
  const isStacked = custom !== undefined;
  const isShown = series.some(({ points }) => points.some(([, value]) => value > 0 || title in ZERO));
  if (unit !== undefined && !isShown) throw new Error(`The panel "${title}" shows nothing.`);
  return { title, gridPos, unit, isStacked, series };
}

const program = findProgram('prometheus');
if (program === undefined) throw new Error('Prometheus is not installed; install the package prometheus.');
const folder = mkdtempSync(join(tmpdir(), 'dragoman-dashboard-'));
// PostgreSQL does not run as root; its own user must be able to traverse this folder.
chmodSync(folder, 0o711);
try {
  await withStage(folder, program, async ({ prometheus, play }) => {
    const begin = Date.now() / 1_000 + WARM_UP_SECONDS;
    await play(WARM_UP_SECONDS + SECONDS);
    const end = Date.now() / 1_000;
    const ask = asker(prometheus, begin, end);
    const { panels } = JSON.parse(renderDashboard()) as { readonly panels: readonly DashboardPanel[] };
    const shown: ShownPanel[] = [];
    for (const panel of panels) shown.push(await show(panel, ask));
    const alerts = new Set((await ask('ALERTS')).map(({ metric }) => metric.alertname));
    const missing = ALERTS.filter((alert) => !alerts.has(alert));
    if (missing.length > 0) throw new Error(`Prometheus has no ${missing.join(', ')}, only ${[...alerts].join(', ')}.`);
    writeFileSync(join(ROOT, PICTURE), drawDashboard(shown, { begin, end, step: STEP_SECONDS }));
    console.log(`wrote ${PICTURE}; alerts: ${[...alerts].join(', ')}`);
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
