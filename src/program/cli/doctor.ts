/** `dragoman doctor`: checks everything that a server needs, and prints the next step for each problem. */
import { createServer } from 'node:net';
import { Command } from 'commander';
import { sql } from 'kysely';
import { readModelLines } from '../../catalog/index.ts';
import * as setup from '../../catalog/setup/index.ts';
import { systemClock } from '../../core/index.ts';
import { findAlarms, LEDGER_CHECKS, readAlarms } from '../../ledger/index.ts';
import { type Config, loadConfig } from '../../platform/config.ts';
import { databaseOutside, prepareDataDir } from '../../platform/data-dir.ts';
import { type Db, firstRow, type Row, readMigrationState } from '../../platform/db/index.ts';
import { openRedisClient } from '../../platform/redis/index.ts';
import { readCertificate } from '../../platform/web/index.ts';
import type { Style, VideoAdapter } from '../../rules/index.ts';
import { VIDEO_RATE_NAMES } from '../../schemas/index.ts';
import { canReport, VIDEO_CHECKS } from '../../video/index.ts';
import { type AppContext, publicUrlOf, type Store } from '../server/index.ts';
import { openCommandContext, openCommandStore } from './context.ts';
import { checkAccounts, testAccounts } from './doctor-accounts.ts';
import { alarmFinding, checkLive } from './doctor-live.ts';
import { checkSignIn } from './doctor-sign-in.ts';
import { bad, type Finding, firstLineOf, good, note } from './finding.ts';
import * as installation from './installation-checks.ts';
import { print } from './output.ts';

const LABELS = { good: 'ok  ', bad: 'BAD ', note: 'note' } as const;
const MIN_POSTGRES = 15;
const REDIS_MS = 3_000;
/** Certificates are usually renewed a month before they expire. */
const RENEWAL_MS = 30 * 86_400_000;

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'check Node, version, database, clock, backup, Redis, disk, port, certificate, console, sign-in and configuration',
    )
    .option('--accounts', 'also send one tiny real request to every text account; you pay the provider for it')
    .option(
      '--live',
      'instead show the health of the servers that run: processes, calls, accounts, queues, database, alarms',
    )
    .action(async ({ accounts = false, live = false }: { accounts?: boolean; live?: boolean }) => {
      const config = loadConfig(process.env);
      if (live)
        return report([
          ...(await checkInstallation(config, checkLive)),
          await checkDisk(config),
          ...(await installation.checkMirror(config)),
        ]);
      report([
        checkNode(),
        await checkDisk(config),
        await checkPort(config),
        ...(await checkCertificate(config)),
        ...checkProxy(config),
        ...checkMetrics(config),
        ...(await checkRedis(config)),
        await installation.checkConsole(config),
        ...(await installation.checkMirror(config)),
        ...(await checkInstallation(config, (context) => checkContents(context, accounts))),
      ]);
    });

function report(findings: readonly Finding[]): void {
  for (const { about, state, text } of findings) print(`${LABELS[state]}  ${about.padEnd(14)} ${text}`);
  if (findings.some(({ state }) => state === 'bad')) process.exitCode = 1;
}

const checkNode = (): Finding => good('Node', `${process.version}, at ${process.execPath}`);

async function checkDisk(config: Config): Promise<Finding> {
  try {
    await prepareDataDir(config.DATA_DIR);
    const advice = 'free some space. Once it is full, charges cannot be written and calls get 503';
    return await installation.checkFree('Disk', config.DATA_DIR, advice);
  } catch (error) {
    return bad('Disk', firstLineOf(error));
  }
}

function checkPort({ HOST, PORT }: Config): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  const probe = createServer();
  probe.once('error', (error: NodeJS.ErrnoException) => {
    const text =
      error.code === 'EADDRINUSE' ? 'is in use, perhaps by a running Dragoman; set PORT to use another' : error.message;
    resolve({ about: 'Port', state: error.code === 'EADDRINUSE' ? 'note' : 'bad', text: `${HOST}:${PORT} ${text}` });
  });
  probe.listen(PORT, HOST, () => probe.close(() => resolve(good('Port', `${HOST}:${PORT} is free`))));
  return promise;
}

async function checkCertificate({ TLS_CERT, TLS_KEY }: Config): Promise<Finding[]> {
  if (TLS_CERT === undefined || TLS_KEY === undefined) return [];
  try {
    const { validUntil } = await readCertificate({ cert: TLS_CERT, key: TLS_KEY });
    const left = validUntil - systemClock.now();
    const [state, text] =
      left <= 0
        ? (['bad', 'has expired; clients refuse it. Renew it'] as const)
        : left < RENEWAL_MS
          ? (['note', 'expires soon; renew it'] as const)
          : (['good', 'can be used'] as const);
    return [{ about: 'Certificate', state, text: `${TLS_CERT}, valid until ${isoDate(validUntil)}, ${text}` }];
  } catch (error) {
    return [bad('Certificate', firstLineOf(error))];
  }
}

const isoDate = (ms: number): string => new Date(ms).toISOString();

/** Without a certificate the server speaks HTTP, so an HTTPS address means a proxy in front of it. */
function checkProxy({ PUBLIC_URL, TRUST_PROXY, TLS_CERT }: Config): Finding[] {
  if (TLS_CERT !== undefined || TRUST_PROXY !== '' || !PUBLIC_URL?.startsWith('https:')) return [];
  const text =
    'PUBLIC_URL is HTTPS, so a proxy forwards requests, but TRUST_PROXY is empty: all clients share the address of the proxy in limits, allowed addresses and the log. Set TRUST_PROXY to the addresses of the proxy';
  return [note('Proxy', text)];
}

function checkMetrics({ HOST, METRICS_TOKEN, METRICS_PORT }: Config): Finding[] {
  const isLocal = /^(?:127\.|::1$|localhost$)/.test(HOST);
  if (isLocal || METRICS_TOKEN !== undefined || METRICS_PORT !== undefined) return [];
  const text = 'GET /metrics is open on the public port; set METRICS_TOKEN or METRICS_PORT';
  return [note('Metrics', text)];
}

async function checkRedis({ REDIS_URL }: Config): Promise<Finding[]> {
  if (REDIS_URL === undefined) return [];
  try {
    const link = await openRedisClient({ url: REDIS_URL, clock: systemClock, timeoutMs: REDIS_MS });
    await link.close();
    return [good('Redis', 'reachable and runs scripts; replicas share their limits')];
  } catch (error) {
    const text = `not usable at REDIS_URL: ${firstLineOf(error)}; until it is, each server counts limits for itself`;
    return [bad('Redis', text)];
  }
}

type CheckContents = (context: AppContext) => Promise<Finding[]>;
const unusable = (error: unknown): Finding => bad('Database', firstLineOf(error));

/** A database of another version is not opened further, because that would migrate it. */
const checkInstallation = (config: Config, check: CheckContents): Promise<Finding[]> =>
  checkOpened(openCommandStore(config), async ({ database }) => {
    const schema = installation.checkSchema(await readMigrationState(database.db));
    // Opening the context migrates and decrypts secrets; success proves the database and the master key.
    return schema.state === 'bad' ? [schema] : [schema, ...(await checkOpened(openCommandContext(config), check))];
  });

async function checkOpened<S extends Store>(opening: Promise<S>, check: (store: S) => Promise<Finding[]>) {
  const store = await opening.catch(unusable);
  if ('state' in store) return [store];
  try {
    return await check(store);
  } finally {
    await store.close();
  }
}

const checkContents = async (context: AppContext, testsAccounts: boolean): Promise<Finding[]> => [
  await checkDatabase(context),
  await installation.checkClock(context.database.db),
  await installation.checkBackup(context.database.db),
  good('Master key', 'decrypts the stored secrets'),
  ...(await checkSignIn(context)),
  ...(await checkSetup(context)),
  ...(await checkAccounts(context)),
  ...(testsAccounts ? await testAccounts(context) : []),
  ...(await checkVideo(context)),
  ...(await checkAlarms(context)),
];

async function checkDatabase({ config, database: { db }, databaseFolder }: AppContext): Promise<Finding> {
  const server = await firstRow(db)<{ version: string }>`select current_setting('server_version') as version`;
  const version = server?.version ?? '';
  const elsewhere = await databaseOutside(config.DATA_DIR, databaseFolder);
  const where =
    databaseFolder === undefined
      ? 'at DATABASE_URL'
      : elsewhere === undefined
        ? `embedded, in ${databaseFolder}`
        : `embedded, in ${databaseFolder}, outside DATA_DIR: back up both`;
  if (Number.parseInt(version, 10) < MIN_POSTGRES)
    return bad('Database', `PostgreSQL ${version} is too old; use ${MIN_POSTGRES} or later`);
  return good('Database', `PostgreSQL ${version}, ${where}`);
}

/** Counts configured objects, and reports groups that cannot serve a request. */
async function checkSetup({ config, database: { db }, isEmbedded }: AppContext): Promise<Finding[]> {
  const groups = await db.selectFrom('groups').select(['id', 'style']).execute();
  const accounts = await db.selectFrom('accounts').select('id').execute();
  const served = await db.selectFrom('account_groups').select('group_id').execute();
  const models = await db.selectFrom('models').select('group_id').execute();
  const keys = await db.selectFrom('keys').select('id').where('revoked_at', 'is', null).execute();
  const advice = `"dragoman apply FILE" applies your configuration, ${demoAdvice(config, isEmbedded)}`;
  if (groups.length === 0) return [note('Configuration', `empty; ${advice}`)];
  const groupsWithout = (what: string, rows: readonly { group_id: string | null }[], advice: string): Finding[] =>
    groups
      .filter((group) => !rows.some((row) => row.group_id === group.id))
      .map((group) => note('Configuration', `group ${group.id} has no ${what}; ${advice}`));
  const counts = `${groups.length} groups, ${accounts.length} accounts, ${models.length} models, ${keys.length} keys`;
  return [
    good('Configuration', counts),
    ...groupsWithout('account', served, 'its keys get 503 until one is applied'),
    ...groupsWithout('model', models, 'its keys get model_not_found until one is applied'),
    ...(await setup.findUnpriced(db)).map((id) => bad('Price', `model ${id} has none. ${setup.UNPRICED_ADVICE}`)),
    ...(await setup.findWithoutOutput(db)).map((id) =>
      bad('Price', `model ${id} has no output. ${setup.NO_OUTPUT_ADVICE}`),
    ),
    ...(await dearLines(db)),
    ...(await setup.findIdleFallbacks(db, systemClock.now())).map((text) => bad('Fallback', text)),
  ];
}

/** More say nothing new. */
const MAX_DEAR_LINES = 20;

async function dearLines(db: Db): Promise<Finding[]> {
  const groups = await db.selectFrom('groups').select(['id', 'style']).where('style', '<>', 'video').execute();
  const lines = await readModelLines(db);
  const found = groups.flatMap(({ id, style }) =>
    (lines.get(id) ?? []).flatMap((line) => {
      const text = setup.dearLine(line, style as Style, systemClock.now());
      return text === undefined ? [] : [note('Reservation', `model ${line.pattern} of ${id}: ${text}`)];
    }),
  );
  return found.slice(0, MAX_DEAR_LINES);
}

const demoAdvice = ({ DEMO }: Config, isEmbedded: boolean): string =>
  DEMO === 'on' || (DEMO === 'auto' && isEmbedded)
    ? '"dragoman serve" installs a demo'
    : 'DEMO=on dragoman serve installs a demo';

/** Reports video accounts whose provider cannot report tasks, and video models that cannot be sold. */
async function checkVideo({ config, database: { db } }: AppContext): Promise<Finding[]> {
  const { rows: accounts } = await sql<Row<'accounts'>>`
    select a.* from accounts a join groups g on g.id = a.group_id where g.style = 'video' order by a.id`.execute(db);
  const url = publicUrlOf(config, config.PORT);
  const silent = accounts.filter(
    ({ base_url, adapter }) => !canReport(url, { baseUrl: base_url, adapter: adapter as VideoAdapter }),
  );
  const { rows: unpriced } = await sql<{ pattern: string; group_id: string }>`
    select m.pattern, m.group_id from models m join groups g on g.id = m.group_id
    where g.style = 'video' and (
      select p.rates ?| ${[...VIDEO_RATE_NAMES]} from prices p where p.model_id = m.id and p.valid_from <= now()
      order by p.valid_from desc, p.id desc limit 1) is not true
    order by g.position, m.position`.execute(db);
  const findings = unpriced.map(({ pattern, group_id: group }) =>
    note(
      'Video',
      `model ${pattern} of group ${group} has no video price; requests get model_not_allowed until one is applied`,
    ),
  );
  if (silent.length === 0) return findings;
  const tasks = `so providers cannot report tasks of ${silent.map(({ id }) => id).join(', ')}`;
  const advice = "an unknown submission is found by the provider's task list only. Set PUBLIC_URL";
  return [note('Video', `${url} is not a public HTTPS address, ${tasks}; ${advice}`), ...findings];
}

/** Workers check every minute by default, so an older check means that none is running. */
const LATE_CHECK_S = 300;

/** Checks now instead of reading the result of the worker. */
async function checkAlarms({ database: { db } }: AppContext): Promise<Finding[]> {
  const found = await findAlarms(db, { ...LEDGER_CHECKS, ...VIDEO_CHECKS });
  const stored = await readAlarms(db);
  // The ledger is checked by one process at a time; if that is another one now, its last result is shown.
  const others = stored.filter(({ name }) => !found.some((alarm) => alarm.name === name));
  const alarms = [...found, ...others].filter(({ count }) => count > 0);
  const [last] = stored;
  const findings = alarms.length === 0 ? [good('Alarms', 'nothing needs an operator')] : alarms.map(alarmFinding);
  if (last === undefined || last.ageSeconds <= LATE_CHECK_S) return findings;
  const silence = `no jobs have run for ${Math.round(last.ageSeconds / 60)} minutes`;
  return [...findings, note('Jobs', `${silence}; start a server without --no-worker, or run "dragoman work"`)];
}
