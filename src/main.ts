/**
 * The composition root: opens the modules in order, connects them, and closes them in the opposite order. What two modules share is
 * handed over here; modules of the same rank never import each other.
 */
import { join } from 'node:path';
import { ADMIN_SCHEMAS, AdminAuth, createAdminHandlers } from './admin/index.ts';
import { Auth, createHandlers, type MetricsAccess, metricsHandler, renderError } from './api/index.ts';
import { type Catalog, loadCatalog } from './catalog/index.ts';
import { type Link, poolSizes, shareOf, WHOLE_MACHINE, type WorkerShare } from './cluster/index.ts';
import { type Config, settingsReport } from './config.ts';
import { CONSOLE_SCHEMAS, ConsoleFiles, createConsoleHandlers, keyFinder } from './console/index.ts';
import {
  type Clock,
  createLog,
  createSealer,
  errorFields,
  fail,
  hmac,
  type Log,
  repeat,
  type Sealer,
  systemClock,
} from './core/index.ts';
import { prepareDataDir } from './data-dir.ts';
import {
  checkConnection,
  claimServer,
  type Database,
  DatabaseUnavailable,
  type Db,
  EmbeddedUnavailable,
  isMigrated,
  joinEmbedded,
  migrate,
  openDatabase,
  type PoolLimits,
  type RevisionName,
  RevisionWatch,
} from './db/index.ts';
import { type Background, createBackground, createGateway, type Gateway, type ProbeServices } from './gateway/index.ts';
import type { AdoptConnection } from './http/index.ts';
import { FailedAttempts, KeyCache, type KeySecrets, loadPepper, readAdminToken } from './identity/index.ts';
import { type AlarmState, Metering, type MeteringState, readAlarms } from './ledger/index.ts';
import { loadMasterKeys } from './master-key.ts';
import { openApi } from './openapi/index.ts';
import {
  firstRunCheck,
  LocalSignInCounts,
  OidcClient,
  Passwords,
  PrimarySignInCounts,
  SessionGuard,
  SignIn,
  SuspectGate,
} from './people/index.ts';
import {
  AccountShares,
  type HealthEvent,
  type Limiter,
  LocalLimiter,
  Pool,
  PrimaryLimiter,
  RedisLimiter,
  SharedHealth,
} from './pool/index.ts';
import { Redis } from './redis/index.ts';
import {
  openSpans,
  type RequestEntry,
  RequestLog,
  RequestMetrics,
  RequestWriter,
  requestEntry,
  type SpanRecorder,
} from './requests/index.ts';
import { BODY_BYTES, type BodyClass, type FaultKind, PASSWORD_QUEUE, SPOOL_BYTES } from './rules/index.ts';
import { findUnpriced } from './setup/index.ts';
import { type ProxySettings, PublicFetcher, UpstreamClient } from './upstream/index.ts';
import { version } from './version.ts';
import { createVideo, type MirrorSettings, type Video } from './video/index.ts';
import {
  type AnyOperation,
  BodyBudget,
  Certificate,
  CertificateError,
  type ClientStreamLimits,
  type CompletedCall,
  Cors,
  connectionLimits,
  createMetrics,
  createWeb,
  type Handler,
  type Metrics,
  ROUTES,
  Shedder,
  Spool,
  type Web,
  WebSocketServer,
} from './web/index.ts';
import { runWorker } from './worker/index.ts';

/** The database of the installation as it is, perhaps empty or of another version. */
export interface Store {
  readonly config: Config;
  readonly database: Database;
  readonly isEmbedded: boolean;
  /** The folder of the embedded database; undefined with DATABASE_URL. */
  readonly databaseFolder: string | undefined;
  close(): Promise<void>;
  /** Stops an embedded database that no other process uses, without waiting for its connections. For a process that ends at once. */
  leaveDatabase(): Promise<void>;
}

/** What nearly every command needs: the migrated database and the secrets. */
export interface AppContext extends Store {
  readonly log: Log;
  readonly clock: Clock;
  readonly sealer: Sealer;
  readonly secrets: KeySecrets;
  /** The database holds no configuration yet. */
  readonly isFresh: boolean;
}

/** An error message for the operator, shown without a stack trace. */
export class CliError extends Error {}

export type Print = (sentence: string) => void;

export interface DatabaseOptions {
  readonly say?: Print;
  readonly limits?: Partial<PoolLimits>;
  /** The part of this machine's database connections that the process may open. */
  readonly share?: WorkerShare;
}

export interface ContextOptions extends DatabaseOptions {
  readonly log?: Log;
  readonly clock?: Clock;
}

export async function openContext(config: Config, options: ContextOptions = {}): Promise<AppContext> {
  const { log, clock = systemClock } = options;
  const store = await openStore(config, options);
  const { database } = store;
  try {
    await migrate(database.url);
    const sealer = createSealer(await loadMasterKeys(config, database.db));
    const pepper = await loadPepper(database.db, sealer);
    const isFresh = (await database.db.selectFrom('groups').select('id').limit(1).execute()).length === 0;
    return { ...store, log: log ?? createLog(config.LOG_LEVEL), clock, sealer, secrets: { pepper, sealer }, isFresh };
  } catch (error) {
    await store.close().catch(() => {});
    throw explainDatabase(error);
  }
}

/** Opens the database without migrating it. */
export async function openStore(
  config: Config,
  { say = () => {}, limits, share = WHOLE_MACHINE }: DatabaseOptions = {},
): Promise<Store> {
  await prepareDataDir(config.DATA_DIR);
  const closers: Closer[] = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const embedded =
      config.DATABASE_URL === undefined ? await joinEmbedded({ dataDir: config.DATA_DIR, notify: say }) : undefined;
    if (embedded) closers.push(() => embedded.leave());
    const database = openDatabase(embedded?.url ?? config.DATABASE_URL ?? '', poolSizes(share).main, limits);
    closers.push(() => database.close());
    await checkConnection(database);
    return {
      config,
      database,
      isEmbedded: embedded !== undefined,
      databaseFolder: embedded?.directory,
      close,
      leaveDatabase: async () => embedded?.leave(),
    };
  } catch (error) {
    await close().catch(() => {});
    throw explainDatabase(error);
  }
}

function explainDatabase(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable)
    return new CliError(`${error.message} Check DATABASE_URL, or unset it to use the embedded one.`, { cause: error });
  return error instanceof EmbeddedUnavailable ? new CliError(error.message) : error;
}

export interface Running {
  readonly url: string;
  readonly catalog: () => Catalog;
  /** Loads configuration changes now, rather than within seconds. */
  refresh(): Promise<void>;
  /** The metrics of this process. */
  metricsText(): Promise<string>;
  /** Drains and closes the server; the context stays open. In a handover, requests on open connections are served until the end. */
  stop(options?: { readonly isHandover: boolean }): Promise<void>;
}

/** The ports of a server. */
export type PortName = 'PORT' | 'METRICS_PORT';

/** The place of this process among the workers of a server, and its link to their primary. */
export interface ClusterMember extends WorkerShare {
  readonly primary: Link;
  /** The port of the API, on which the primary accepts connections. */
  readonly port: number;
  /** Hands over connections from now on. */
  serve(port: PortName, adopt: AdoptConnection): void;
  /** The metrics of all workers together. */
  metricsText(): Promise<string>;
}

export interface ServeOptions {
  readonly worker: boolean;
  /** Changes the configuration at the start. Runs when the role and the port are claimed, so that a refused start changes nothing. */
  readonly prepare?: () => Promise<void>;
  /** Called when everything is open, before `prepare`. */
  readonly onListening?: () => void;
  /** Undefined in a server of one process. */
  readonly member?: ClusterMember;
}

export async function serve(context: AppContext, options: ServeOptions): Promise<Running> {
  const closers: Closer[] = [];
  return start(context, options, closers).catch(async (error: unknown) => {
    // An open connection would keep the process alive after a failed start.
    await closeAll(closers).catch((closing: unknown) => context.log.error('server.stop_failed', errorFields(closing)));
    throw error;
  });
}

async function start(context: AppContext, options: ServeOptions, closers: Closer[]): Promise<Running> {
  const { config, log } = context;
  const services = await openServices(context, options.member, closers);
  let url = publicUrlOf(config, config.PORT);
  const video = openVideo(context, services, () => url);
  closers.push(() => video.close());
  const onCompleted = await openRequestLog(context, services, closers);
  const certificate = await openCertificate(context, closers);
  let isStarting = true;
  const { gateway, web, metricsWeb } = createApp(
    context,
    {
      ...services,
      video,
      certificate,
      onCompleted,
      member: options.member,
      isStarting: () => isStarting,
      publicUrl: () => url,
    },
    closers,
  );
  // After `stop` nothing is left to drain. A start that fails later ends the calls that came meanwhile.
  closers.push(async () => {
    await web.drain(0);
    await gateway.flush();
  });
  const port = await openPort(web, 'PORT', config, options.member);
  if (metricsWeb) {
    closers.push(() => metricsWeb.drain(0));
    const metricsPort = await openPort(metricsWeb, 'METRICS_PORT', config, options.member);
    log.info('metrics.ready', { host: config.HOST, port: metricsPort });
  }
  url = publicUrlOf(config, port);
  options.onListening?.();
  await prepare(options, services);
  // The other workers would report the same.
  if ((options.member?.worker ?? 1) === 1)
    for (const model of await findUnpriced(context.database.db)) log.warn('model.unpriced', { model });
  isStarting = false;
  if (options.worker) {
    const worker = runWorker({ ...context, video, background: gateway });
    closers.push(() => worker.stop());
  }
  if (config.EGRESS_ALLOW.length > 0) log.warn('egress.allowlist_active', { allow: config.EGRESS_ALLOW });
  log.info('server.ready', { host: config.HOST, port });
  return {
    url,
    catalog: services.catalog,
    refresh: () => services.watch.check(),
    metricsText: () => services.metrics.text(),
    async stop({ isHandover } = { isHandover: false }) {
      gateway.drainSessions(config.DRAIN_MS + SESSION_GRACE_MS);
      await web.drain(config.DRAIN_MS, { isHandover });
      await gateway.flush();
      await closeAll(closers);
      log.info('server.stopped');
      log.flush();
    },
  };
}

/** What operators learn of every call: its line in the request log, metrics by account, and a trace. */
async function openRequestLog(
  { config, database: { db }, clock, log }: AppContext,
  { metrics, catalog }: Pick<Services, 'metrics' | 'catalog'>,
  closers: Closer[],
): Promise<(completed: CompletedCall) => void> {
  const requestMetrics = new RequestMetrics(metrics, catalog);
  const requestLog =
    config.REQUEST_LOG_DAYS === 0
      ? undefined
      : new RequestLog({
          writer: new RequestWriter({ db, log }),
          clock,
          log,
          flushMs: config.USAGE_FLUSH_MS,
          onWritten: (_entries, costs) => requestMetrics.recordCosts(costs),
        });
  if (requestLog) closers.push(() => requestLog.stop());
  metrics.counter('dragoman_request_log_dropped_total', 'Calls that are missing in the request log', () => [
    { value: requestLog?.dropped ?? 0 },
  ]);
  const spans = await openTraces(config, clock, log);
  if (spans) closers.push(() => spans.stop());
  return (completed) => {
    const entry: RequestEntry | undefined = requestEntry(completed);
    if (!entry) return;
    requestMetrics.record(entry);
    requestLog?.add(entry);
    spans?.record(completed, entry);
  };
}

async function openTraces(config: Config, clock: Clock, log: Log): Promise<SpanRecorder | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = '' } = config;
  if (endpoint === undefined) return undefined;
  const pairs = listOf(headers).map((pair) => [
    pair.slice(0, pair.indexOf('=')),
    decodeURIComponent(pair.slice(pair.indexOf('=') + 1)),
  ]);
  return openSpans({ endpoint, headers: Object.fromEntries(pairs), serviceName: config.OTEL_SERVICE_NAME, clock, log });
}

/** The certificate of the server, read again when its files change; undefined without TLS. */
async function openCertificate(
  { config: { TLS_CERT, TLS_KEY }, clock, log }: AppContext,
  closers: Closer[],
): Promise<Certificate | undefined> {
  if (TLS_CERT === undefined || TLS_KEY === undefined) return undefined;
  try {
    const certificate = await Certificate.open({ files: { cert: TLS_CERT, key: TLS_KEY }, clock, log });
    closers.push(() => certificate.stop());
    return certificate;
  } catch (error) {
    throw error instanceof CertificateError ? new CliError(error.message) : error;
  }
}

async function prepare(options: ServeOptions, { watch }: Services): Promise<void> {
  if (!options.prepare) return;
  await options.prepare();
  // The catalog was loaded before.
  await watch.check();
}

/** Listens on the port of a setting, or serves the connections that the primary accepts there. Returns the port. */
async function openPort(web: Web, name: PortName, config: Config, member: ClusterMember | undefined): Promise<number> {
  if (member) {
    member.serve(name, web.adopt());
    return name === 'PORT' ? member.port : (config.METRICS_PORT ?? 0);
  }
  const [host, port] = [config.HOST, config[name] ?? 0];
  try {
    return (await web.listen(host, port)).port;
  } catch (error) {
    throw new CliError(listenFailure(host, port, name, error as NodeJS.ErrnoException));
  }
}

export function listenFailure(host: string, port: number, setting: PortName, error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken. Stop what uses it, or set ${setting} to another one.`;
  if (error.code === 'EACCES')
    return `This user may not listen on port ${port} of ${host}. Set ${setting} to 1024 or higher.`;
  return `Cannot listen on ${host}:${port}: ${error.message}. Set HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.`;
}

/** The address of this installation for links: `PUBLIC_URL`, or the address that the server listens on. */
export const publicUrlOf = ({ PUBLIC_URL, HOST, TLS_CERT }: Config, port: number): string =>
  PUBLIC_URL ?? `${TLS_CERT === undefined ? 'http' : 'https'}://${HOST.includes(':') ? `[${HOST}]` : HOST}:${port}`;

function openVideo(
  { config, database, sealer, clock, log }: AppContext,
  { upstream, catalog, pool }: Pick<Services, 'upstream' | 'catalog' | 'pool'>,
  publicUrl: () => string,
): Video {
  return createVideo({
    db: database.db,
    sealer,
    clock,
    log,
    upstream,
    catalog,
    pool,
    publicUrl,
    allowedOrigins: config.EGRESS_ALLOW,
    httpStack: config.HTTP_STACK,
    streamLimits: streamLimitsOf(config),
    mirror: mirrorOf(config),
  });
}

const mirrorOf = (config: Config): MirrorSettings | undefined =>
  config.RESULT_MIRROR_DIR === undefined
    ? undefined
    : {
        folder: config.RESULT_MIRROR_DIR,
        days: config.RESULT_MIRROR_DAYS,
        maxBytes: config.RESULT_MIRROR_MAX_BYTES,
        atSuccess: config.RESULT_MIRROR_AT === 'success',
      };

const streamLimitsOf = (config: Config): ClientStreamLimits => ({
  heartbeatMs: config.HEARTBEAT_MS,
  stalledMs: config.STALLED_CLIENT_MS,
});

interface Services {
  readonly metrics: Metrics;
  readonly catalog: () => Catalog;
  readonly keys: KeyCache;
  readonly watch: RevisionWatch;
  readonly upstream: UpstreamClient;
  readonly metering: Metering;
  readonly limiter: Limiter;
  readonly pool: Pool;
  readonly health: SharedHealth;
}

/** Opens what outlives a request, in the order in which it depends on one another; `closers` closes it in the opposite order. */
async function openServices(
  context: AppContext,
  member: ClusterMember | undefined,
  closers: Closer[],
): Promise<Services> {
  const { config, database, log, clock, secrets } = context;
  // The primary has claimed it for its workers.
  const role = member ? undefined : await claimRole(context);
  if (role) closers.push(() => role.release());
  const metrics = createMetrics();
  const keys = new KeyCache(database.forCalls, secrets.pepper, clock, config.ADMIN_TOKEN);
  let health: SharedHealth | undefined;
  const { catalog, pool, watch } = await openCatalog(context, closers, {
    member,
    onKeyChange: () => keys.clear(),
    onPoolChange: () => health?.syncSoon(),
  });
  // No account needs more connections than clients may have.
  const upstream = new UpstreamClient(clock, {
    stack: config.HTTP_STACK,
    connectionsPerOrigin: config.MAX_CONNECTIONS,
    proxies: proxiesOf(config),
  });
  closers.push(() => upstream.close());
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(config.REDIS_URL, context, metrics);
  if (redis) closers.push(() => redis.close());
  const metering = await Metering.start({
    ...database,
    dataDir: config.DATA_DIR,
    clock,
    log,
    redis,
    primary: member?.primary,
    flushMs: config.USAGE_FLUSH_MS,
  });
  closers.push(() => metering.close());
  const alarms = await watchAlarms(context);
  closers.push(() => alarms.stop());
  registerLedgerMetrics(metrics, metering, alarms);
  registerPoolMetrics(metrics, pool, catalog);
  const shared = await SharedHealth.start({
    db: database.db,
    pool,
    accounts: () => catalog().allAccounts(),
    replicaId: () => metering.replicaId,
    clock,
    log,
  });
  closers.push(() => shared.stop());
  health = shared;
  const local = new LocalLimiter(clock);
  const ownLimiter = member ? new PrimaryLimiter(member.primary) : local;
  const limiter = redis ? new RedisLimiter(redis, local) : ownLimiter;
  return { metrics, catalog, keys, watch, upstream, metering, limiter, pool, health: shared };
}

interface CatalogOptions {
  readonly member?: ClusterMember | undefined;
  /** A key or user changed. */
  readonly onKeyChange?: () => void;
  /** An account was parked or resumed. */
  readonly onPoolChange?: () => void;
}

/** The configuration, read again when it changes, and the accounts in it. */
async function openCatalog(
  context: AppContext,
  closers: Closer[],
  { member, onKeyChange = () => {}, onPoolChange = () => {} }: CatalogOptions = {},
): Promise<Pick<Services, 'catalog' | 'pool' | 'watch'>> {
  const { database, sealer, log, clock } = context;
  const pool = createPool(context);
  const shares =
    member &&
    new AccountShares({
      ...member,
      share: member,
      clock,
      inFlight: (id) => pool.inFlight(id),
      onGrant: (id) => pool.announceRoom(id),
    });
  let catalog: Catalog;
  const load = async (): Promise<void> => {
    catalog = await loadCatalog(database.db, sealer, log, shares && ((account) => shares.divided(account)));
    pool.reload(catalog.allAccounts());
  };
  await load();
  const onChange = async (name: RevisionName): Promise<void> =>
    name === 'identity' ? onKeyChange() : name === 'pool' ? onPoolChange() : load();
  const watch = await RevisionWatch.start({ database, clock, log, onChange });
  closers.push(() => watch.stop());
  return { catalog: () => catalog, pool, watch };
}

/** Binds the gateway, the public API, the admin API and the console to one HTTP server. */
function createApp(
  context: AppContext,
  services: Services & {
    readonly video: Video;
    readonly certificate: Certificate | undefined;
    readonly onCompleted: (call: CompletedCall) => void;
    readonly member: ClusterMember | undefined;
    readonly isStarting: () => boolean;
    readonly publicUrl: () => string;
  },
  closers: Closer[],
): { gateway: Gateway; web: Web; metricsWeb: Web | undefined } {
  const { config, database, log, clock, sealer, secrets } = context;
  const { metrics, catalog, keys, upstream, metering, limiter, pool, health, video, certificate, isStarting } =
    services;
  const { onCompleted, member, publicUrl } = services;
  const share = member ?? WHOLE_MACHINE;
  const failuresPerMinute = shareOf(config.AUTH_FAILURES_PER_MINUTE, share);
  const gateway = createGateway({
    db: database.db,
    sealer,
    clock,
    log,
    upstream,
    catalog,
    limiter,
    pool,
    metering,
    mediaFetcher: new PublicFetcher({ allow: config.EGRESS_ALLOW, clock, stack: config.HTTP_STACK }),
    streamLimits: streamLimitsOf(config),
    storedDays: config.STORED_RESPONSES_DAYS,
    bodyLimit: (limit) => bodyLimit(config, limit),
    spool: new Spool({ folder: join(config.DATA_DIR, 'uploads'), maxBytes: shareOf(SPOOL_BYTES, share), log }),
    accountTag: accountTags(secrets.pepper),
    opaqueKey: hmac(secrets.pepper, 'opaque values'),
    accountQueueMs: config.ACCOUNT_QUEUE_MS,
  });
  const metricsAccess: MetricsAccess = config.METRICS_TOKEN === undefined ? 'open' : { token: config.METRICS_TOKEN };
  const visibleMetrics: Metrics = member ? { ...metrics, text: () => member.metricsText() } : metrics;
  const bodyBudget = BodyBudget.ofWorker(config.BODY_MEMORY_BYTES, share.workers, BODY_BYTES.video);
  metrics.gauge('dragoman_large_body_bytes', 'Bytes of large requests in memory', () => [
    { value: bodyBudget.reservedBytes },
  ]);
  metrics.counter(
    'dragoman_options_removed_total',
    'Requests sent again without an option that the gateway added',
    () =>
      gateway.rejectedOptions().map(({ dialect, option, count }) => ({ value: count, labels: { dialect, option } })),
  );
  metrics.gauge('dragoman_account_queue', 'Calls that wait for a slot of an account, by group', () =>
    gateway.pressure().queued.map(({ groupId, length }) => ({ value: length, labels: { group: groupId } })),
  );
  metrics.counter('dragoman_retries_refused_total', 'Further attempts that the retry budget refused', () => [
    { value: gateway.pressure().retriesRefused },
  ]);
  const guard = new SessionGuard({ db: database.forCalls, clock, publicUrl, failuresPerMinute });
  const handlers = createHandlers({
    gateway,
    video,
    limiter,
    bodyBudget,
    videoBodyLimit: bodyLimit(config, 'video'),
    metrics: visibleMetrics,
    metricsAccess: config.METRICS_PORT === undefined ? metricsAccess : 'elsewhere',
    clock,
    db: database.db,
    openApi: () => openApi({ version, serverUrl: publicUrl(), admin: ADMIN_SCHEMAS, console: CONSOLE_SCHEMAS }),
    auth: new Auth({
      keys,
      keyOfSession: keyFinder({ db: database.forCalls, clock, guard }),
      catalog,
      clock,
      failuresPerMinute,
    }),
    webSockets: new WebSocketServer(config.STALLED_CLIENT_MS),
    runCall: (call, handler) => web.run(call, handler),
    notReady: async () => (web.isStopping ? 'shutting down' : isStarting() ? 'starting' : databaseProblem(database.db)),
  });
  // A pool of its own: a long report or a slow download must never keep a charge waiting for a connection.
  const reports = openDatabase(database.url, poolSizes(share).reports, { statementMs: REPORT_MS });
  closers.push(() => reports.close());
  const adminHandlers = createAdminHandlers({
    auth: new AdminAuth({
      token: async () => config.ADMIN_TOKEN ?? readAdminToken(reports.db, sealer),
      attempts: new FailedAttempts(clock, failuresPerMinute, 'admin token'),
      guard,
    }),
    db: reports.db,
    clock,
    secrets,
    video,
    accounts: { test: gateway.testAccount, refresh: () => health.sync() },
    publicUrl,
    settings: settingsReport(config),
  });
  const passwords = new Passwords(secrets.pepper, {
    running: shareOf(PASSWORD_QUEUE.running, share),
    waiting: shareOf(PASSWORD_QUEUE.waiting, share),
  });
  const counts = member ? new PrimarySignInCounts(member.primary) : new LocalSignInCounts(clock);
  const ownReports = openDatabase(database.url, poolSizes(share).own);
  closers.push(() => ownReports.close());
  const consoleHandlers = createConsoleHandlers({
    db: reports.db,
    ownDb: ownReports.db,
    limiter,
    clock,
    log,
    secrets,
    video,
    guard,
    passwords,
    signIn: new SignIn({ db: reports.db, clock, passwords, pepper: secrets.pepper, counts }),
    linkGate: new SuspectGate(clock, failuresPerMinute, 'link'),
    isFirstRun: firstRunCheck(reports.db),
    oidc: oidcOf(context, upstream, publicUrl),
    files: new ConsoleFiles(consoleFolder(config)),
  });
  const shedder = config.SHEDDING === 'on' ? new Shedder({ clock, bodyBudget }) : undefined;
  closers.push(async () => shedder?.stop());
  const trustedProxies = listOf(config.TRUST_PROXY);
  const web: Web = createWeb({
    handlers: { ...handlers, ...adminHandlers, ...consoleHandlers },
    renderError,
    log,
    clock,
    metrics,
    trustedProxies,
    bodyBudget,
    connectionLimits: connectionLimits(
      { total: config.MAX_CONNECTIONS, perAddress: config.MAX_CONNECTIONS_PER_ADDRESS, workers: share.workers },
      trustedProxies,
    ),
    certificate,
    httpStack: config.HTTP_STACK,
    cors: config.CORS_ORIGINS.length > 0 ? new Cors(config.CORS_ORIGINS) : undefined,
    onCompleted,
    shedder,
  });
  const metricsWeb =
    config.METRICS_PORT === undefined
      ? undefined
      : createMetricsWeb(context, { metrics: visibleMetrics, access: metricsAccess, certificate });
  return { gateway, web, metricsWeb };
}

/** The built console: CONSOLE_DIR, or that of the installation. */
export const consoleFolder = ({ CONSOLE_DIR }: Config): string =>
  CONSOLE_DIR ?? join(import.meta.dirname, '..', 'dist', 'console');

function oidcOf(
  { config, sealer, clock }: AppContext,
  upstream: UpstreamClient,
  publicUrl: () => string,
): { readonly client: OidcClient; readonly operators: Config['OIDC_OPERATORS'] } | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  const settings = { issuer, clientId, clientSecret, scope: config.OIDC_SCOPE };
  const client = new OidcClient({ settings, upstream, sealer, clock, publicUrl });
  return { client, operators: config.OIDC_OPERATORS };
}

/** Not counted among the connections of callers: an overloaded server can still be observed. */
const METRICS_CONNECTIONS = 64;

/** A server of its own for the metrics; every other path is 404. */
function createMetricsWeb(
  { config, log, clock }: AppContext,
  {
    metrics,
    access,
    certificate,
  }: { readonly metrics: Metrics; readonly access: MetricsAccess; readonly certificate: Certificate | undefined },
): Web {
  const elsewhere: Handler = () => {
    throw fail('not_found', 'This port serves GET /metrics only.');
  };
  const handlers = Object.fromEntries(ROUTES.map(({ operation }) => [operation, elsewhere])) as Record<
    AnyOperation,
    Handler
  >;
  return createWeb({
    handlers: { ...handlers, 'operator.metrics': metricsHandler(metrics, clock, access) },
    renderError,
    log,
    clock,
    // Scrapes are not requests of callers, and are not measured as such.
    metrics: createMetrics(),
    trustedProxies: [],
    bodyBudget: new BodyBudget(BODY_BYTES.small),
    connectionLimits: connectionLimits({ total: METRICS_CONNECTIONS, perAddress: METRICS_CONNECTIONS }, []),
    httpStack: config.HTTP_STACK,
    certificate,
  });
}

async function databaseProblem(db: Db): Promise<string | undefined> {
  const migrated = await isMigrated(db).catch(() => undefined);
  if (migrated === undefined) return 'the database does not respond';
  return migrated ? undefined : 'the database is not migrated';
}

/** At the time limit of a shutdown, turns end with an error event first. Then their WebSocket closes. */
const SESSION_GRACE_MS = 500;
/** Reports may take longer than the statements of calls and jobs. */
const REPORT_MS = 30_000;

const proxiesOf = ({ HTTP_PROXY, HTTPS_PROXY, NO_PROXY }: Config): ProxySettings => ({
  http: HTTP_PROXY,
  https: HTTPS_PROXY,
  exceptions: NO_PROXY,
});

/** What the worker of a process without a server needs. */
export interface WorkerServices {
  readonly background: Background;
  readonly video: Video;
  close(): Promise<void>;
}

/** Opens the services of `dragoman work`: the catalog is read again when the configuration changes. */
export async function openWorkerServices(context: AppContext): Promise<WorkerServices> {
  const { config, clock } = context;
  const closers: Closer[] = [];
  const { catalog, pool } = await openCatalog(context, closers);
  const upstream = new UpstreamClient(clock, { stack: config.HTTP_STACK, proxies: proxiesOf(config) });
  closers.push(() => upstream.close());
  const video = openVideo(context, { upstream, catalog, pool }, () => publicUrlOf(config, config.PORT));
  closers.push(() => video.close());
  const background = createBackground({ ...context, db: context.database.db, upstream, catalog });
  return { video, background, close: () => closeAll(closers) };
}

/** Opens what a test of accounts needs, without a server. */
export async function openProbeServices(context: AppContext): Promise<ProbeServices & { close(): Promise<void> }> {
  const { config, clock, database, sealer, log } = context;
  const catalog = await loadCatalog(database.db, sealer, log);
  const upstream = new UpstreamClient(clock, { stack: config.HTTP_STACK, proxies: proxiesOf(config) });
  return { clock, upstream, catalog: () => catalog, close: () => upstream.close() };
}

/** Asks the OpenID provider for its settings, without a server. Throws when sign-in with it cannot work; has no effect without one. */
export async function tryOidc(context: AppContext): Promise<void> {
  const { config, clock } = context;
  const upstream = new UpstreamClient(clock, { stack: config.HTTP_STACK, proxies: proxiesOf(config) });
  try {
    await oidcOf(context, upstream, () => publicUrlOf(config, config.PORT))?.client.start();
  } finally {
    await upstream.close();
  }
}

/** The server starts without Redis too: limits are then counted in this process until Redis is back. */
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

/** The accounts of this process, and their health in the log. */
const createPool = ({ clock, log, secrets: { pepper } }: AppContext): Pool =>
  new Pool(clock, {
    onHealthEvent: (event) => logHealthEvent(log, event),
    fingerprint: (identity) => hmac(pepper, `account identity:${identity}`).toString('base64url').slice(0, 22),
  });

function logHealthEvent(log: Log, event: HealthEvent): void {
  const { account } = event;
  if (event.type === 'parked' || event.type === 'resumed') {
    const { state, cause, providerCode } = event.park;
    if (event.type === 'resumed') return log.info('account.resumed', { account, cause, because: event.because });
    const about = { account, state, cause, code: providerCode };
    return cause === 'credential' ? log.error('account.parked', about) : log.warn('account.parked', about);
  }
  const { use, kind, providerCode, since, until, faults, isKept } = event.cooldown;
  const about = { account, model: use?.model, operation: use?.operation, reason: kind, code: providerCode };
  if (event.type === 'recovered')
    return log.info('account.recovered', {
      ...about,
      because: event.because,
      faults,
      since: new Date(since).toISOString(),
    });
  log.warn('account.cooling', { ...about, until: new Date(until).toISOString(), in_use: isKept || undefined });
}

const asOut = ({ account, kind }: { account: string; kind: FaultKind }) =>
  ({ account, state: 'cooling', cause: kind }) as const;

function registerPoolMetrics(metrics: Metrics, pool: Pool, catalog: () => Catalog): void {
  metrics.gauge('dragoman_account_cooling', 'Cooldowns of the account on this replica', () => {
    const cooling = Map.groupBy(pool.cooling(), ({ account }) => account);
    return catalog()
      .allAccounts()
      .flatMap(({ id }) => {
        const [whole, byModel] = [
          cooling.get(id)?.filter(({ use }) => !use),
          cooling.get(id)?.filter(({ use }) => use),
        ];
        return [
          { value: whole?.length ?? 0, labels: { account: id, scope: 'account' } },
          { value: byModel?.length ?? 0, labels: { account: id, scope: 'model' } },
        ];
      });
  });
  metrics.gauge('dragoman_account_out', 'Accounts that take no new calls, by state and cause', () =>
    [
      ...pool.parked(),
      ...pool
        .cooling()
        .filter(({ use, isKept }) => !use && !isKept)
        .map(asOut),
    ].map(({ account, state, cause }) => ({ value: 1, labels: { account, state, cause } })),
  );
  metrics.gauge('dragoman_account_in_flight', 'Requests in flight of the account on this replica', () =>
    catalog()
      .allAccounts()
      .map(({ id }) => ({ value: pool.inFlight(id), labels: { account: id } })),
  );
  metrics.counter('dragoman_account_faults_total', 'Failed attempts on the account by fault', () =>
    pool.faults().map(({ account, kind, count }) => ({ value: count, labels: { account, fault: kind } })),
  );
}

/** docs/operating/observe.md explains each metric and what to do about it. */
function registerLedgerMetrics(metrics: Metrics, metering: Metering, alarms: AlarmWatch): void {
  const own = (name: string, description: string, read: (state: MeteringState) => number): void =>
    metrics.gauge(name, description, () => [{ value: read(metering.state) }]);
  own('dragoman_journal_pending_records', 'Usage records not in the database yet', ({ pending }) => pending);
  own('dragoman_journal_oldest_seconds', 'Age of the oldest of them', ({ oldestMs }) => oldestMs / 1000);
  own('dragoman_journal_disk_bytes', 'Size of the usage journal on disk', ({ journalBytes }) => journalBytes);
  own('dragoman_flush_failures', 'Failed attempts in a row to record usage', ({ flushFailures }) => flushFailures);
  metrics.gauge('dragoman_alarm', 'How many things need an operator, as the worker saw it last', () => {
    // This process's own alarm is shown even while the database is down.
    const own = { name: 'flusher_failing', count: metering.state.flushFailures };
    return [...alarms.latest().states, own].map(({ name, count }) => ({ value: count, labels: { alarm: name } }));
  });
  metrics.gauge('dragoman_alarm_check_age_seconds', 'Time since a worker looked for alarms', () => {
    const { states, ageMs } = alarms.latest();
    return states.slice(0, 1).map(({ ageSeconds }) => ({ value: ageSeconds + ageMs / 1000 }));
  });
}

interface AlarmWatch {
  /** The alarms as last read, none while the database is down, and how old the reading is. */
  latest(): { readonly states: readonly AlarmState[]; readonly ageMs: number };
  stop(): Promise<void>;
}

/** Reads the alarms in the background, so that a scrape of the metrics never needs the database. */
async function watchAlarms({ database: { db }, clock }: AppContext): Promise<AlarmWatch> {
  let states: readonly AlarmState[] = [];
  let readAt = clock.now();
  const read = async (): Promise<void> => {
    states = await readAlarms(db).catch(() => []);
    readAt = clock.now();
  };
  await read();
  const repetition = repeat(read, { clock, intervalMs: ALARM_READ_MS, onError: () => {} });
  return { latest: () => ({ states, ageMs: clock.now() - readAt }), stop: () => repetition.stop() };
}

const ALARM_READ_MS = 2_000;

type Closer = () => Promise<void>;

/** Closes in the opposite order of opening. One that fails must not leave the others open, which would keep the process alive. */
async function closeAll(closers: Closer[]): Promise<void> {
  const errors: unknown[] = [];
  for (const closer of closers.splice(0).reverse()) await closer().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** One server per DATA_DIR: two would share an embedded database and a journal without coordinating. */
export async function claimRole({ isEmbedded, database, config }: Store): Promise<{ release(): Promise<void> }> {
  if (!isEmbedded) return { release: async () => {} };
  const claim = await claimServer(database.url);
  if ('takenBy' in claim) {
    throw new CliError(
      `Another Dragoman server (process ${claim.takenBy}) runs on ${config.DATA_DIR}. Stop it, or give this one its own DATA_DIR; to run several servers, set DATABASE_URL.`,
    );
  }
  return claim;
}

/** Tags that bind opaque values to an account. Keyed with the pepper, so that clients can neither forge nor read them. */
function accountTags(pepper: Buffer): (accountId: string) => string {
  const tags = new Map<string, string>();
  return (accountId) => {
    const known = tags.get(accountId);
    if (known !== undefined) return known;
    const tag = hmac(pepper, `account:${accountId}`).toString('base64url').slice(0, 8);
    tags.set(accountId, tag);
    return tag;
  };
}

/** The operator's limit for the class, or the default. */
const bodyLimit = (config: Config, limit: BodyClass): number =>
  ({ text: config.BODY_LIMIT_TEXT, image: config.BODY_LIMIT_IMAGE, video: undefined, small: undefined })[limit] ??
  BODY_BYTES[limit];

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
