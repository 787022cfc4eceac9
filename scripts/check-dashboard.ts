/**
 * `npm run release -- dashboard`: sends mixed traffic to two servers while a real Prometheus scrapes them, and asks it
 * for every panel of the dashboard. Fails when a panel shows nothing, or when the trouble raises no alert.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../bench/child.ts';
import { SCRAPE_SECONDS, withStage } from './dashboard-stage.ts';
import { dashboardPanels, type Panel } from './observe.ts';

/** Before the time that the panels show: a server that has just started is slow. */
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

/** Asks for every expression, because an invalid one fails. */
async function isShown({ title, targets = [] }: Panel, ask: Ask): Promise<boolean> {
  const found = [];
  for (const { expr } of targets) found.push(...(await ask(expr)));
  const hasData = found.some(({ values }) => values.some(([, value]) => Number(value) > 0 || title in ZERO));
  return hasData || targets.length === 0;
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
    for (const panel of dashboardPanels())
      if (!(await isShown(panel, ask))) throw new Error(`The panel "${panel.title}" shows nothing.`);
    const alerts = new Set((await ask('ALERTS')).map(({ metric }) => metric.alertname));
    const missing = ALERTS.filter((alert) => !alerts.has(alert));
    if (missing.length > 0) throw new Error(`Prometheus has no ${missing.join(', ')}, only ${[...alerts].join(', ')}.`);
    console.log(`every panel has data; alerts: ${[...alerts].join(', ')}`);
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
