/**
 * The app: the gateway, the callers' API, the admin API and the console on one HTTP server, and the metrics on a second
 * one.
 */
import { join } from 'node:path';
import { SessionGuard } from '../../access/people/index.ts';
import * as callers from '../../api/caller/index.ts';
import { keyFinder } from '../../api/console/index.ts';
import { type Clock, fail, within } from '../../core/index.ts';
import { createGateway, type Gateway } from '../../gateway/index.ts';
import { CaptureLog } from '../../observe/request-log/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import { shareOf, WHOLE_MACHINE } from '../../platform/cluster/index.ts';
import { type Db, findRefusal, readMigrationState } from '../../platform/db/index.ts';
import { PublicFetcher } from '../../platform/outbound/index.ts';
import * as http from '../../platform/web/index.ts';
import { BODY_BYTES, type Operation, type OperatorOperation, SPOOL_BYTES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import type { AppContext, Scope } from './context.ts';
import { opaqueSecrets } from './opaque-secrets.ts';
import { createPeopleHandlers, type PeopleParts } from './people.ts';
import type { ClusterMember } from './ports.ts';
import type { Services } from './services.ts';
import { bodyLimit, keptPromptBytes, splitList, streamLimitsOf } from './settings.ts';

export interface AppParts extends Services {
  readonly video: Video;
  readonly warnings: Warnings;
  readonly certificate: http.Certificate | undefined;
  readonly onCompleted: (call: http.CompletedCall) => void;
  readonly member: ClusterMember | undefined;
  readonly publicUrl: () => string;
}

export interface App {
  readonly gateway: Gateway;
  readonly web: http.Web;
  /** Undefined without METRICS_PORT. */
  readonly metricsWeb: http.Web | undefined;
  /** Resolves to undefined when ready, otherwise to the reason. */
  notReady(): Promise<string | undefined>;
}

export function createApp(scope: Scope, parts: AppParts): App {
  const { config, database, clock, closers } = scope;
  const share = parts.member ?? WHOLE_MACHINE;
  const failuresPerMinute = shareOf(config.AUTH_FAILURES_PER_MINUTE, share);
  const guard = new SessionGuard({ db: database.forCalls, clock, publicUrl: parts.publicUrl, failuresPerMinute });
  const gateway = openGateway(scope, parts);
  const captures = new CaptureLog({ ...scope, db: database.db, flushMs: config.USAGE_FLUSH_MS });
  closers.push(() => captures.stop());
  const databaseProblem = databaseProblems(database.forCalls, clock);
  const notReady = async (): Promise<string | undefined> => (web.isEnding ? 'shutting down' : databaseProblem());
  const bound: BoundParts = { ...parts, gateway, guard, share, failuresPerMinute, captures };
  const web: http.Web = createApiServer(scope, parts, {
    ...callerHandlers(scope, bound, { web: () => web, notReady }),
    ...createPeopleHandlers(scope, bound),
  });
  return {
    gateway,
    web,
    notReady,
    metricsWeb: config.METRICS_PORT === undefined ? undefined : createMetricsServer(scope, parts),
  };
}

type BoundParts = AppParts & PeopleParts & { readonly captures: CaptureLog };

function openGateway(context: AppContext, parts: AppParts): Gateway {
  const { config, clock, log } = context;
  const { member = WHOLE_MACHINE } = parts;
  return createGateway({
    ...context,
    ...parts,
    db: context.database.db,
    mediaFetcher: new PublicFetcher({ allow: config.EGRESS_ALLOW, clock }),
    streamLimits: streamLimitsOf(config),
    storedDays: config.STORED_RESPONSES_DAYS,
    fileDays: config.FILE_DAYS,
    bodyLimit: (limit) => bodyLimit(config, limit),
    spool: new http.Spool({ folder: join(config.DATA_DIR, 'uploads'), maxBytes: shareOf(SPOOL_BYTES, member), log }),
    keptPromptBytes: keptPromptBytes(config, parts.bodyBudget.maxBytes, member.workers),
    ...opaqueSecrets(context.secrets.pepper),
    accountQueueMs: config.ACCOUNT_QUEUE_MS,
    usageWaitMs: config.USAGE_WAIT_MS,
    samplesReplies: config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
  });
}

function callerHandlers(
  { config, database, clock }: AppContext,
  parts: BoundParts,
  { web, notReady }: { readonly web: () => http.Web; readonly notReady: App['notReady'] },
): Record<Operation | OperatorOperation, http.Handler> {
  const { guard, publicUrl, gateway } = parts;
  const services = {
    ...parts,
    videoBodyLimit: bodyLimit(config, 'video'),
    createsPerMinute: config.VIDEO_CREATES_PER_MINUTE,
    metrics: visibleMetrics(parts),
    metricsAccess: config.METRICS_PORT === undefined ? metricsAccess(config.METRICS_TOKEN) : 'elsewhere',
    clock,
    db: database.db,
    publicUrl,
    auth: new callers.Auth({
      ...parts,
      keyOfSession: keyFinder({ db: database.forCalls, clock, guard }),
      clock,
      capture: (call, key) => parts.captures.tap(call, key),
    }),
    webSockets: new http.WebSocketServer(config.STALLED_CLIENT_MS),
    runCall: (call: http.Call, handler: http.Handler) => web().run(call, handler),
    notReady,
  };
  gateway.batchWorker.start(callers.lineHost(services));
  return callers.createHandlers(services);
}

/** Probes wait a few seconds for a response, and a silent database sends none. */
const READY_MS = 2_000;

/** One check at a time: the next probes wait for the one that is under way. */
function databaseProblems(db: Db, clock: Clock): () => Promise<string | undefined> {
  let checking: Promise<string | undefined> | undefined;
  const check = async (): Promise<string | undefined> => {
    const schema = await readMigrationState(db).catch(() => undefined);
    if (schema === undefined) return SILENT;
    return findRefusal(schema) ?? (schema.missing.length === 0 ? undefined : 'the database is not migrated');
  };
  return () => {
    checking ??= check().finally(() => {
      checking = undefined;
    });
    return within(checking, { clock, ms: READY_MS, late: () => SILENT });
  };
}

const SILENT = 'the database does not respond';

/** A scrape sees all workers of the server. */
const visibleMetrics = ({ metrics, member }: AppParts): http.Metrics =>
  member ? { ...metrics, text: () => member.metricsText() } : metrics;

const metricsAccess = (token: string | undefined): callers.MetricsAccess => (token === undefined ? 'open' : { token });

function createApiServer(scope: Scope, parts: AppParts, handlers: Record<http.AnyOperation, http.Handler>): http.Web {
  const { config, log, clock, closers } = scope;
  const shedder = config.SHEDDING === 'on' ? new http.Shedder({ clock, bodyBudget: parts.bodyBudget }) : undefined;
  closers.push(async () => shedder?.stop());
  const trustedProxies = splitList(config.TRUST_PROXY);
  return http.createWeb({
    ...parts,
    handlers,
    renderError: callers.renderError,
    log,
    clock,
    trustedProxies,
    connectionLimits: http.connectionLimits(
      {
        total: config.MAX_CONNECTIONS,
        perAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
        workers: (parts.member ?? WHOLE_MACHINE).workers,
      },
      trustedProxies,
    ),
    cors: config.CORS_ORIGINS.length > 0 ? new http.Cors(config.CORS_ORIGINS) : undefined,
    shedder,
  });
}

/** Not counted among the connections of callers: an overloaded server can still be observed. */
const METRICS_CONNECTIONS = 64;

/** A server of its own for the metrics; every other path is 404. */
function createMetricsServer({ config, log, clock }: AppContext, parts: AppParts): http.Web {
  const elsewhere: http.Handler = () => {
    throw fail('not_found', 'This port serves GET /metrics only.');
  };
  const handlers = Object.fromEntries(http.ROUTES.map(({ operation }) => [operation, elsewhere])) as Record<
    http.AnyOperation,
    http.Handler
  >;
  const scrape = callers.metricsHandler(visibleMetrics(parts), clock, metricsAccess(config.METRICS_TOKEN));
  return http.createWeb({
    handlers: { ...handlers, 'operator.metrics': scrape },
    renderError: callers.renderError,
    log,
    clock,
    // Scrapes are not requests of callers, and are not measured as such.
    metrics: http.createMetrics(),
    trustedProxies: [],
    bodyBudget: new http.BodyBudget(BODY_BYTES.small),
    connectionLimits: http.connectionLimits({ total: METRICS_CONNECTIONS, perAddress: METRICS_CONNECTIONS }, []),
    certificate: parts.certificate,
  });
}
