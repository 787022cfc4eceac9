/**
 * The composition root: opens what a role needs in order, joins the modules, and closes in the opposite order. Modules never
 * reach for one another sideways; whatever two of them share is handed over here.
 */
import { mkdir } from 'node:fs/promises';
import { AdminAuth, createAdminHandlers } from './admin/index.ts';
import { Auth, createHandlers, renderError } from './api/index.ts';
import { type Catalog, loadCatalog } from './catalog/index.ts';
import type { Config } from './config.ts';
import { type Clock, createLog, createSealer, hmac, type Log, type Sealer, systemClock } from './core/index.ts';
import {
  claimServer,
  type Database,
  DatabaseUnavailable,
  type Db,
  EmbeddedUnavailable,
  isMigrated,
  joinEmbedded,
  migrate,
  openDatabase,
  reach,
  watchRevisions,
} from './db/index.ts';
import {
  Billing,
  ClientStreams,
  ModelLists,
  OpaqueCache,
  RejectedOpaques,
  ResponseStore,
  ResponsesSessions,
  SocketRejections,
  TokenCounter,
} from './gateway/index.ts';
import { FailedAttempts, KeyCache, type KeySecrets, loadPepper, readAdminToken } from './identity/index.ts';
import { type Metering, type MeteringState, readAlarms, startMetering, stepListener } from './ledger/index.ts';
import { loadMasterKeys } from './master-key.ts';
import { LocalLimiter, Pool, RedisLimiter } from './pool/index.ts';
import { Redis } from './redis/index.ts';
import { BODY_BYTES, BODY_CLASS, type TextOperation, TIMEOUTS } from './rules/index.ts';
import { PublicFetcher, UpstreamClient } from './upstream/index.ts';
import { version } from './version.ts';
import { createMetrics, createWeb, type Metrics, WebSocketServer } from './web/index.ts';
import { runWorker } from './worker/index.ts';

/** What every command needs: the database, migrated, and the secrets that open it. */
export interface AppContext {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly database: Database;
  readonly sealer: Sealer;
  readonly secrets: KeySecrets;
  /** The embedded database was empty: nobody has configured anything yet. */
  readonly isFresh: boolean;
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

/** A sentence for the operator; shown without a stack trace. */
export class CliError extends Error {}

export type Print = (sentence: string) => void;

export async function openContext(
  config: Config,
  { say = () => {}, log }: { say?: Print; log?: Log } = {},
): Promise<AppContext> {
  await mkdir(config.DATA_DIR, { recursive: true });
  const closers: Closer[] = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const embedded =
      config.DATABASE_URL === undefined ? await joinEmbedded({ dataDir: config.DATA_DIR, say }) : undefined;
    if (embedded) closers.push(() => embedded.leave());
    const database = openDatabase(embedded?.url ?? config.DATABASE_URL ?? '');
    closers.push(() => database.close());
    await reach(database);
    await migrate(database.db);
    const sealer = createSealer(await loadMasterKeys(config, database.db));
    const pepper = await loadPepper(database.db, sealer);
    const isFresh = (await database.db.selectFrom('groups').select('id').limit(1).execute()).length === 0;
    return {
      config,
      log: log ?? createLog(config.LOG_LEVEL),
      clock: systemClock,
      database,
      sealer,
      secrets: { pepper, sealer },
      isFresh,
      isEmbedded: embedded !== undefined,
      close,
    };
  } catch (error) {
    await close().catch(() => {});
    if (error instanceof DatabaseUnavailable)
      throw new CliError(`${error.message} Check DATABASE_URL, or unset it to use the embedded one.`, { cause: error });
    throw error instanceof EmbeddedUnavailable ? new CliError(error.message) : error;
  }
}

export interface Running {
  readonly url: string;
  readonly catalog: () => Catalog;
  /** Looks for changes of the configuration now, rather than within seconds. */
  refresh(): Promise<void>;
  /** Drains and closes; the ground stays open. */
  stop(): Promise<void>;
}

export interface ServeOptions {
  readonly worker: boolean;
}

export async function serve(ground: AppContext, options: ServeOptions): Promise<Running> {
  const closers: Closer[] = [];
  return start(ground, options, closers).catch(async (error: unknown) => {
    // An open connection would keep the process alive after it has said why it cannot start.
    await closeAll(closers);
    throw error;
  });
}

async function start(ground: AppContext, options: ServeOptions, closers: Closer[]): Promise<Running> {
  const { config, database, log, clock } = ground;
  const role = await claimRole(ground);
  closers.push(() => role.release());
  const metrics = createMetrics();
  let catalog = await loadCatalog(database.db, ground.sealer, log);
  const keys = new KeyCache(database.db, ground.secrets.pepper, clock, config.ADMIN_TOKEN);
  const watch = await watchRevisions(
    database,
    async (name) => {
      if (name === 'identity') keys.forget();
      else catalog = await loadCatalog(database.db, ground.sealer, log);
    },
    { clock, log },
  );
  closers.push(() => watch.stop());
  const auth = new Auth({ keys, catalog: () => catalog, clock, failuresPerMinute: config.AUTH_FAILURES_PER_MINUTE });
  const upstream = new UpstreamClient(clock, TIMEOUTS.unary.connect);
  closers.push(() => upstream.close());
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(config.REDIS_URL, ground, metrics);
  if (redis) closers.push(() => redis.close());
  const onStep = stepListener();
  const metering = await startMetering({ db: database.db, dataDir: config.DATA_DIR, clock, log, redis, onStep });
  closers.push(() => metering.close());
  registerLedgerMetrics(metrics, metering, database.db);
  const sessions = new ResponsesSessions();
  const local = new LocalLimiter(clock);
  const limiter = redis ? new RedisLimiter(redis, local) : local;
  const store = new ResponseStore({
    db: database.db,
    sealer: ground.sealer,
    clock,
    log,
    days: config.STORED_RESPONSES_DAYS,
  });
  const handlers = createHandlers({
    auth,
    metrics,
    version,
    log,
    clock,
    upstream,
    pool: new Pool(clock),
    catalog: () => catalog,
    outlets: new ClientStreams(clock, { heartbeatMs: config.HEARTBEAT_MS, stalledMs: config.STALLED_CLIENT_MS }),
    store,
    limiter,
    meter: new Billing(metering, limiter, clock, onStep),
    onStep,
    counter: new TokenCounter(),
    sideTable: new OpaqueCache(clock),
    rejected: new RejectedOpaques(),
    sockets: new WebSocketServer(),
    sessions,
    refusals: new SocketRejections(clock),
    runCall: (call, handler) => web.run(call, handler),
    fetcher: new PublicFetcher({ allow: config.EGRESS_ALLOW, clock }),
    markOf: accountTags(ground.secrets.pepper),
    db: database.db,
    models: new ModelLists(upstream, clock),
    bodyLimit: (operation) => bodyLimit(config, operation),
    notReady: async () => {
      if (web.isDraining) return 'shutting down';
      const migrated = await isMigrated(database.db).catch(() => undefined);
      return migrated === undefined
        ? 'the database does not answer'
        : migrated
          ? undefined
          : 'the database is not migrated';
    },
  });
  // Of its own: a long report or a slow download must never keep a charge waiting for a connection.
  const reports = openDatabase(database.url, ADMIN_CONNECTIONS);
  closers.push(() => reports.close());
  const adminHandlers = createAdminHandlers({
    auth: new AdminAuth(
      async () => config.ADMIN_TOKEN ?? readAdminToken(reports.db, ground.sealer),
      new FailedAttempts(clock, config.AUTH_FAILURES_PER_MINUTE, 'admin token'),
    ),
    db: reports.db,
    clock,
    secrets: ground.secrets,
  });
  const web = createWeb({
    handlers: { ...handlers, ...adminHandlers },
    renderError,
    log,
    clock,
    metrics,
    trustedProxies: listOf(config.TRUST_PROXY),
  });
  const { port } = await web.listen(config.HOST, config.PORT).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'EADDRINUSE'
        ? `Port ${config.PORT} on ${config.HOST} is taken. Stop what uses it, or set PORT to another one.`
        : `Cannot listen on ${config.HOST}:${config.PORT}: ${error.message}`,
    );
  });
  const worker = options.worker ? runWorker(ground) : undefined;
  if (config.EGRESS_ALLOW.length > 0) log.warn('egress.allowlist_active', { allow: config.EGRESS_ALLOW });
  log.info('server.ready', { host: config.HOST, port });
  return {
    url: config.PUBLIC_URL ?? `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`,
    catalog: () => catalog,
    refresh: () => watch.look(),
    async stop() {
      sessions.retireAll(config.DRAIN_MS);
      await web.drain(config.DRAIN_MS);
      await store.flush();
      await worker?.stop();
      await closeAll(closers);
      log.info('server.stopped');
      log.flush();
    },
  };
}

const ADMIN_CONNECTIONS = 5;

/** Its absence is no reason not to start: limits are then counted here alone until it is back. */
async function openRedis(url: string, { clock, log }: AppContext, metrics: Metrics): Promise<Redis> {
  const redis = new Redis({
    url,
    clock,
    log,
    onChange: (isUp) => {
      metrics.limitsShared.value = isUp ? 1 : 0;
    },
  });
  await redis.start();
  return redis;
}

/** docs/operating.md says what each means and what to do. */
function registerLedgerMetrics(metrics: Metrics, metering: Metering, db: Db): void {
  const own = (name: string, description: string, read: (state: MeteringState) => number): void =>
    metrics.gauge(name, description, () => [{ value: read(metering.state) }]);
  own('dragoman_journal_pending_records', 'Usage records not in the database yet', ({ pending }) => pending);
  own('dragoman_journal_oldest_seconds', 'Age of the oldest of them', ({ oldestMs }) => oldestMs / 1000);
  own('dragoman_journal_disk_bytes', 'Size of the usage journal on disk', ({ journalBytes }) => journalBytes);
  own('dragoman_flush_failures', 'Failed attempts in a row to record usage', ({ flushFailures }) => flushFailures);
  metrics.gauge('dragoman_alarm', 'How many things need an operator, as the worker saw it last', async () => {
    // The one that this process knows by itself shows without the database, too.
    const alarms = await readAlarms(db).catch(() => []);
    const own = { name: 'flusher_failing', count: metering.state.flushFailures };
    return [...alarms, own].map(({ name, count }) => ({ value: count, labels: { alarm: name } }));
  });
  metrics.gauge('dragoman_alarm_check_age_seconds', 'Time since a worker looked for alarms', async () =>
    (await readAlarms(db)).slice(0, 1).map(({ ageSeconds }) => ({ value: ageSeconds })),
  );
}

type Closer = () => Promise<void>;

/** What was opened last is closed first. */
async function closeAll(closers: Closer[]): Promise<void> {
  for (const closer of closers.splice(0).reverse()) await closer();
}

/** One server per DATA_DIR: two would share an embedded database and a journal without knowing of each other. */
async function claimRole({ isEmbedded, database, config }: AppContext): Promise<{ release(): Promise<void> }> {
  if (!isEmbedded) return { release: async () => {} };
  const claim = await claimServer(database.url);
  if ('takenBy' in claim) {
    throw new CliError(
      `Another Dragoman server (process ${claim.takenBy}) runs on ${config.DATA_DIR}. Stop it, or give this one its own DATA_DIR; to run several servers, set DATABASE_URL.`,
    );
  }
  return claim;
}

/** Marks that opaque values of an account carry; nobody can make one without the pepper. */
function accountTags(pepper: Buffer): (accountId: string) => string {
  const marks = new Map<string, string>();
  return (accountId) => {
    const known = marks.get(accountId);
    if (known !== undefined) return known;
    const mark = hmac(pepper, `account:${accountId}`).toString('base64url').slice(0, 8);
    marks.set(accountId, mark);
    return mark;
  };
}

const bodyLimit = (config: Config, operation: TextOperation): number => {
  const kind = BODY_CLASS[operation] ?? 'text';
  return (kind === 'image' ? config.BODY_LIMIT_IMAGE : config.BODY_LIMIT_TEXT) ?? BODY_BYTES[kind];
};

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
