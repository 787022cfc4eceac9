/**
 * `npm run bench -- console`: the routes that every page of the console reads, over a million usage records, entries and calls, and a
 * hundred thousand video tasks, callbacks and assets. Prints the time of each page, and its slowest route. `--rows 100000` for fewer.
 * Takes some minutes and about 4 GB of disk in the temporary folder.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config.ts';
import { silentLog } from '../src/core/index.ts';
import { connect } from '../src/db/index.ts';
import { checkAlarms, sumOldDays, sumOldMonths } from '../src/ledger/index.ts';
import { RequestRollUp } from '../src/requests/index.ts';
import { openContext } from '../src/server/index.ts';
import { serve } from '../src/server/serve.ts';
import { applySetup, demoSetup } from '../src/setup/index.ts';
import { addPerson, browserOf } from '../test/support/console.ts';
import { fillConsole, LOG_DAYS } from './console-rows.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const ROWS = Number(values.rows);
const REPEATS = 3;
/** Slower routes are marked. */
const LIMIT_MS = 500;
/** The user with the most rows. */
const HEAVY = 'u1';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-bench-'));
// PostgreSQL does not run as root; its own user must be able to traverse this folder.
chmodSync(folder, 0o711);
const env = { DATA_DIR: join(folder, 'data'), DEMO: 'off', HOST: '127.0.0.1', PORT: '0', SHEDDING: 'off' };
const context = await openContext(loadConfig(env), { log: silentLog });
const { db, url } = context.database;
const client = await connect(url);
const server = await serve(context, { worker: false });
try {
  const now = context.clock.now();
  const dayOf = (daysAgo: number): string => new Date(now - daysAgo * 86_400_000).toISOString().slice(0, 10);
  const begun = performance.now();
  await fill(dayOf(0));
  console.log(`Machine: ${describeMachine()}. Rows in ${((performance.now() - begun) / 1000).toFixed(0)} s.`);
  const id = await addPerson(db, { email: 'operator@example.test', role: 'operator', user: HEAVY });
  const browser = await browserOf({ context, url: server.url }, id);
  const slow: string[] = [];
  for (const [page, routes] of Object.entries(await pageRoutes(dayOf))) {
    let [total, slowest, worst] = [0, '', 0];
    for (const route of routes) {
      const ms = await timeOf(browser, route);
      total += ms;
      if (ms > worst) [slowest, worst] = [route, ms];
      if (ms > LIMIT_MS) slow.push(`${route}: ${ms.toFixed(0)} ms`);
    }
    console.log(`${page.padEnd(16)} ${total.toFixed(0).padStart(6)} ms, slowest ${worst.toFixed(0)} ms: ${slowest}`);
  }
  console.log(slow.length === 0 ? `No route takes more than ${LIMIT_MS} ms.` : `Slow:\n  ${slow.join('\n  ')}`);
} finally {
  await client.end();
  await server.stop();
  await context.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The routes of each page with its filters, as console/src calls them. */
async function pageRoutes(dayOf: (daysAgo: number) => string): Promise<Readonly<Record<string, readonly string[]>>> {
  const admin = (path: string): string => `/admin/v1${path}`;
  const own = (path: string): string => `/console/v1${path}`;
  const list = (path: string, filters: readonly string[]): string[] =>
    ['', ...filters].map((filter) => admin(`${path}?limit=50${filter && `&${filter}`}`));
  const { id: task } = await db
    .selectFrom('video_tasks')
    .select('id')
    .where('user_id', '=', HEAVY)
    .executeTakeFirstOrThrow();
  const { id: call } = await db.selectFrom('requests').select('id').limit(1).executeTakeFirstOrThrow();
  const month = `start_date=${dayOf(29)}&end_date=${dayOf(0)}&limit=1000`;
  const ranges = ['24h', '7d', '30d'];
  return {
    overview: [
      ...['/alarms', '/accounts?limit=1000'].map(admin),
      ...ranges.flatMap((range) => [admin(`/stats?range=${range}`), admin(`/stats/accounts?range=${range}`)]),
    ],
    requests: list('/requests', [
      ...['user=u77', 'user=none', 'key=key_77', 'model=model-7', 'model=none', 'account=account-7', 'account=none'],
      ...[
        'group=group-1',
        'status=502',
        'status=418',
        'error=provider',
        'error=ours',
        `start=${dayOf(3)}&end=${dayOf(2)}`,
      ],
    ]),
    request: [admin(`/requests/${call}`)],
    tasks: list('/tasks', [
      ...[
        'status=running',
        'status=failed',
        'status=succeeded',
        'user=u77',
        'user=none',
        'model=model-A',
        'model=none',
      ],
      ...['account=account', 'account=none', 'status=queued&model=none'],
    ]),
    task: [admin(`/tasks/${task}`), admin(`/callbacks?task=${task}&limit=50`)],
    callbacks: list('/callbacks', [
      'state=pending',
      'state=delivered',
      'state=dead',
      'user=u77',
      'host=none',
      `task=${task}`,
    ]),
    groups: ['/groups?limit=1000', '/accounts?limit=1000'].map(admin),
    account: [
      ...[
        '/accounts?limit=1000',
        '/stats/accounts?account=account-7&range=24h',
        '/requests?account=account-7&limit=20',
      ].map(admin),
      ...['/stats?account=account-7&range=24h&bucket=hour', '/assets?account=account&limit=1000'].map(admin),
    ],
    models: [...list('/models', ['group=messages']), admin('/prices?group=messages&model=demo-messages&limit=50')],
    characters: list('/characters', []),
    users: list('/balances', ['user=u77', 'below=1']),
    user: [
      ...[`/users/${HEAVY}/balance`, `/users?user=${HEAVY}`, `/keys?user=${HEAVY}&limit=200`].map(admin),
      admin(`/users/${HEAVY}/statement?limit=50`),
    ],
    keys: list('/keys', [`user=${HEAVY}`, 'group=messages']),
    assets: list('/assets', [
      'user=u77',
      'user=none',
      'status=active',
      'status=failed',
      'account=account',
      'account=none',
    ]),
    ledger: [
      admin('/alarms'),
      ...['day', 'user', 'model', 'group', 'account', 'key', 'operation'].map((by) =>
        admin(`/usage?by=${by}&${month}`),
      ),
    ],
    review: ['/reviews?limit=50', '/quarantine?limit=50'].map(admin),
    audit: list('/audit', ['actor=cli', 'action=none', 'subject=none', `start=${dayOf(3)}&end=${dayOf(2)}`]),
    people: list('/people', ['role=user']),
    settings: [admin('/settings')],
    'my keys': [own('/me'), own('/keys?limit=50')],
    'my usage': ['day', 'model', 'key', 'group'].map((by) => own(`/usage?by=${by}&${month}`)),
    'my statement': [own('/charges?limit=50'), own(`/charges?limit=50&start=${dayOf(60)}&end=${dayOf(59)}`)],
    'my requests': [
      own('/requests?limit=50'),
      own('/requests?limit=50&model=none'),
      own('/requests?limit=50&status=418'),
    ],
    'my tasks': ['', '&status=running', '&model=none'].map((filter) => own(`/tasks?limit=50${filter}`)),
    'my assets': [own('/assets?limit=50'), own('/assets?limit=50&status=failed'), own('/asset-groups?limit=50')],
  };
}

async function timeOf(browser: Awaited<ReturnType<typeof browserOf>>, route: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < REPEATS; n += 1) {
    const begun = performance.now();
    const { status, text } = await browser.send('GET', route);
    times.push(performance.now() - begun);
    if (status !== 200) throw new Error(`${route}: ${status} ${text}`);
  }
  return median(times);
}

async function fill(lastDay: string): Promise<void> {
  const providers = { url: 'http://127.0.0.1:9', videoUrl: 'http://127.0.0.1:9/api/v3' };
  await applySetup(db, demoSetup(providers), { secrets: context.secrets });
  await fillConsole(client, { rows: ROWS, lastDay, heavy: HEAVY });
  while ((await sumOldDays(db)) > 0);
  while ((await sumOldMonths(context.database)) > 0);
  // The check of the ledger also divides it into segments, which statements of old days start from.
  for (const _ of ['the first pass', 'all entries']) {
    await client.query("update ledger_checkpoint set marked_at = now() - interval '1 minute'");
    await checkAlarms(db, silentLog);
  }
  const rollUp = new RequestRollUp(context.database, context.clock);
  // One run builds 48 hours.
  for (let hours = 0; hours <= LOG_DAYS * 24; hours += 48) await rollUp.run();
  await client.query('vacuum (analyze) request_hours');
}
