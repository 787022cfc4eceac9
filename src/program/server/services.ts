/** What outlives a request: opened in the order in which one needs another, and closed in the opposite order. */
import { KeyCache } from '../../access/keys/index.ts';
import { Metering, type MeteringOptions } from '../../ledger/index.ts';
import { createWarnings, type Warnings } from '../../observe/warnings/index.ts';
import { WHOLE_MACHINE } from '../../platform/cluster/index.ts';
import { Redis } from '../../platform/redis/index.ts';
import { ThreadPool, threadCount } from '../../platform/threads/index.ts';
import { BodyBudget, createMetrics, type Metrics } from '../../platform/web/index.ts';
import {
  Limiter,
  LocalLimits,
  PrimaryLimits,
  RedisLimits,
  SharedHealth,
  shareUsage,
} from '../../providers/pool/index.ts';
import { UpstreamClient } from '../../providers/upstream/index.ts';
import { BODY_BYTES } from '../../rules/index.ts';
import { createVideo, type Video } from '../../video/index.ts';
import { type Accounts, openAccounts } from './accounts.ts';
import { type AppContext, type Closer, claimRole } from './context.ts';
import { type AlarmWatch, watchAlarms } from './metrics.ts';
import type { ClusterMember } from './ports.ts';
import { bodyMemory, machineOf, mirrorOf, proxiesOf, streamLimitsOf } from './settings.ts';

export interface Services extends Accounts {
  readonly metrics: Metrics;
  readonly keys: KeyCache;
  readonly upstream: UpstreamClient;
  readonly metering: Metering;
  readonly alarms: AlarmWatch;
  readonly limiter: Limiter;
  readonly health: SharedHealth;
  readonly bodyBudget: BodyBudget;
  readonly threads: ThreadPool;
}

export async function openServices(
  context: AppContext,
  member: ClusterMember | undefined,
  closers: Closer[],
): Promise<Services> {
  const { config, database, clock, secrets } = context;
  // The primary has claimed it for its workers.
  const role = member ? undefined : await claimRole(context);
  if (role) closers.push(() => role.release());
  const metrics = createMetrics();
  const keys = new KeyCache(database.forCalls, secrets.pepper, clock, config.ADMIN_TOKEN);
  let health: SharedHealth | undefined;
  const accounts = await openAccounts(context, closers, {
    member,
    onKeyChange: () => keys.clear(),
    onPoolChange: () => health?.syncSoon(),
  });
  const workers = (member ?? WHOLE_MACHINE).workers;
  const threads = openThreads(context, closers, workers);
  // No account needs more connections than clients may have.
  const upstream = openUpstream(context, closers, config.MAX_CONNECTIONS);
  const redis = await openRedis(context, metrics, closers);
  const costLimits = { workers, accounts: () => accounts.catalog().allAccounts() };
  const metering = await openMetering(context, { redis, member, costLimits }, closers);
  accounts.pool.usage.costsOf = (account, open) => metering.accountCosts.costsOf(account, open);
  if (redis) shareUsage(redis, accounts.pool.usage);
  const alarms = await watchAlarms(context, accounts.watch);
  closers.push(() => alarms.stop());
  const sharedHealth = await openHealth(context, { ...accounts, metering }, closers);
  health = sharedHealth;
  return {
    ...accounts,
    metrics,
    keys,
    upstream,
    metering,
    alarms,
    threads,
    limiter: createLimiter(context, { redis, member }),
    health: sharedHealth,
    bodyBudget: BodyBudget.ofWorker(bodyMemory(config), workers, BODY_BYTES.video),
  };
}

/** For large bodies; they start with the first ones. `processes`: those that share the machine. */
export function openThreads({ clock }: Pick<AppContext, 'clock'>, closers: Closer[], processes = 1): ThreadPool {
  const threads = new ThreadPool({ clock, threads: threadCount(processes) });
  closers.push(() => threads.close());
  return threads;
}

export function openUpstream(
  { config, clock }: AppContext,
  closers: Closer[],
  connectionsPerOrigin?: number,
): UpstreamClient {
  const upstream = new UpstreamClient(clock, {
    connectionsPerOrigin,
    proxies: proxiesOf(config),
    machine: machineOf(config),
  });
  closers.push(() => upstream.close());
  return upstream;
}

export function openVideo(
  context: AppContext,
  services: Pick<Services, 'upstream' | 'catalog' | 'pool' | 'threads'>,
  { publicUrl, closers }: { readonly publicUrl: () => string; readonly closers: Closer[] },
): Video {
  const { config, database, secrets } = context;
  const video = createVideo({
    ...context,
    ...services,
    db: database.db,
    pepper: secrets.pepper,
    publicUrl,
    allowedOrigins: config.EGRESS_ALLOW,
    streamLimits: streamLimitsOf(config),
    mirror: mirrorOf(config),
    linkSeconds: config.RESULT_LINK_SECONDS,
  });
  closers.push(() => video.close());
  return video;
}

export const openWarnings = ({ config, ...context }: AppContext, publicUrl: () => string): Warnings =>
  createWarnings({
    ...context,
    db: context.database.db,
    publicUrl,
    allowedOrigins: config.EGRESS_ALLOW,
    mail:
      config.SMTP_URL === undefined || config.SMTP_FROM === undefined
        ? undefined
        : { url: config.SMTP_URL, from: config.SMTP_FROM },
  });

/** The server starts without Redis too: limits are then counted in this process until Redis is back. */
async function openRedis(
  { config: { REDIS_URL: url }, clock, log }: AppContext,
  metrics: Metrics,
  closers: Closer[],
): Promise<Redis | undefined> {
  if (url === undefined) return undefined;
  const onChange = (isUp: boolean): void => {
    metrics.limitsShared.value = isUp ? 1 : 0;
  };
  const redis = new Redis({ url, clock, log, onChange });
  await redis.start();
  closers.push(() => redis.close());
  return redis;
}

/** Where processes count together: Redis for all servers, or the primary for the workers of this one. */
interface SharedCounts {
  readonly redis: Redis | undefined;
  readonly member: ClusterMember | undefined;
}

async function openMetering(
  { config, database, clock, log }: AppContext,
  { redis, member, costLimits }: SharedCounts & Pick<MeteringOptions, 'costLimits'>,
  closers: Closer[],
): Promise<Metering> {
  const metering = await Metering.start({
    ...database,
    dataDir: config.DATA_DIR,
    clock,
    log,
    redis,
    primary: member?.primary,
    flushMs: config.USAGE_FLUSH_MS,
    costLimits,
  });
  closers.push(() => metering.close());
  return metering;
}

function createLimiter({ clock, config }: AppContext, { redis, member }: SharedCounts): Limiter {
  const local = new LocalLimits(clock);
  const own = member ? new PrimaryLimits(member.primary) : local;
  return new Limiter(redis ? new RedisLimits(redis, local) : own, config.RATE_LIMIT_BURST);
}

async function openHealth(
  { database, clock, log }: AppContext,
  { pool, catalog, metering }: Pick<Services, 'pool' | 'catalog' | 'metering'>,
  closers: Closer[],
): Promise<SharedHealth> {
  const health = await SharedHealth.start({
    db: database.db,
    pool,
    accounts: () => catalog().allAccounts(),
    replicaId: () => metering.replicaId,
    clock,
    log,
  });
  closers.push(() => health.stop());
  return health;
}
