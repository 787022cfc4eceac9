/** What outlives a request: opened in the order in which one needs another, and closed in the opposite order. */
import { KeyCache } from '../../access/keys/index.ts';
import { FileStore } from '../../gateway/index.ts';
import { Metering, type MeteringOptions } from '../../ledger/index.ts';
import { createWarnings, type Warnings } from '../../observe/warnings/index.ts';
import { WHOLE_MACHINE } from '../../platform/cluster/index.ts';
import { Redis } from '../../platform/redis/index.ts';
import { ThreadPool, threadCount } from '../../platform/threads/index.ts';
import { BodyBudget, createMetrics, type Metrics } from '../../platform/web/index.ts';
import * as pools from '../../providers/pool/index.ts';
import { UpstreamClient } from '../../providers/upstream/index.ts';
import { BODY_BYTES } from '../../rules/index.ts';
import { createVideo, type Video } from '../../video/index.ts';
import { type Accounts, openAccounts } from './accounts.ts';
import { type AppContext, claimRole, type Scope } from './context.ts';
import { type AlarmWatch, watchAlarms } from './metrics.ts';
import type { ClusterMember } from './ports.ts';
import { bodyMemory, machineOf, mirrorOf, proxiesOf, streamLimitsOf } from './settings.ts';

export interface Services extends Accounts {
  readonly metrics: Metrics;
  readonly keys: KeyCache;
  readonly upstream: UpstreamClient;
  readonly metering: Metering;
  readonly alarms: AlarmWatch;
  readonly limiter: pools.Limiter;
  readonly health: pools.SharedHealth;
  readonly bodyBudget: BodyBudget;
  readonly threads: ThreadPool;
}

export async function openServices(scope: Scope, member: ClusterMember | undefined): Promise<Services> {
  const { config, database, clock, secrets, closers } = scope;
  // The primary has claimed it for its workers.
  const role = member ? undefined : await claimRole(scope);
  if (role) closers.push(() => role.release());
  const metrics = createMetrics();
  const keys = new KeyCache(database.forCalls, secrets.pepper, clock, config.ADMIN_TOKEN);
  let health: pools.SharedHealth | undefined;
  const accounts = await openAccounts(scope, {
    member,
    onKeyChange: () => keys.clear(),
    onPoolChange: () => health?.syncSoon(),
  });
  const workers = (member ?? WHOLE_MACHINE).workers;
  const threads = openThreads(scope, workers);
  // No account needs more connections than clients may have.
  const upstream = openUpstream(scope, config.MAX_CONNECTIONS);
  const redis = await openRedis(scope, metrics);
  const costLimits = { workers, accounts: () => accounts.catalog().allAccounts() };
  const metering = await openMetering(scope, { redis, member, costLimits });
  accounts.pool.usage.costsOf = (account, open) => metering.accountCosts.costsOf(account, open);
  if (redis) pools.shareUsage(redis, accounts.pool.usage);
  const alarms = await watchAlarms(scope, accounts.watch);
  closers.push(() => alarms.stop());
  const sharedHealth = await openHealth(scope, { ...accounts, metering });
  health = sharedHealth;
  return {
    ...accounts,
    metrics,
    keys,
    upstream,
    metering,
    alarms,
    threads,
    limiter: createLimiter(scope, { redis, member }),
    health: sharedHealth,
    bodyBudget: BodyBudget.ofWorker(bodyMemory(config), workers, BODY_BYTES.video),
  };
}

/** For large bodies; they start with the first ones. `processes`: those that share the machine. */
export function openThreads({ clock, closers }: Scope, processes = 1): ThreadPool {
  const threads = new ThreadPool({ clock, threads: threadCount(processes) });
  closers.push(() => threads.close());
  return threads;
}

export function openUpstream({ config, clock, closers }: Scope, connectionsPerOrigin?: number): UpstreamClient {
  const upstream = new UpstreamClient(clock, {
    connectionsPerOrigin,
    proxies: proxiesOf(config),
    machine: machineOf(config),
  });
  closers.push(() => upstream.close());
  return upstream;
}

export function openVideo(
  scope: Scope,
  services: Pick<Services, 'upstream' | 'catalog' | 'pool' | 'threads'>,
  publicUrl: () => string,
): Video {
  const { config, database, secrets, closers } = scope;
  const video = createVideo({
    ...scope,
    ...services,
    db: database.db,
    pepper: secrets.pepper,
    publicUrl,
    allowedOrigins: config.EGRESS_ALLOW,
    streamLimits: streamLimitsOf(config),
    mirror: mirrorOf(config),
    linkSeconds: config.RESULT_LINK_SECONDS,
    files: new FileStore({ ...scope, db: database.db, days: config.FILE_DAYS }),
    pollsPerSecond: config.VIDEO_POLLS_PER_SECOND,
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
async function openRedis({ config, clock, log, closers }: Scope, metrics: Metrics): Promise<Redis | undefined> {
  const url = config.REDIS_URL;
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
  { config, database, clock, log, closers }: Scope,
  { redis, member, costLimits }: SharedCounts & Pick<MeteringOptions, 'costLimits'>,
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

function createLimiter({ clock, config }: AppContext, { redis, member }: SharedCounts): pools.Limiter {
  const local = new pools.LocalLimits(clock);
  const own = member ? new pools.PrimaryLimits(member.primary) : local;
  return new pools.Limiter(redis ? new pools.RedisLimits(redis, local) : own, config.RATE_LIMIT_BURST);
}

async function openHealth(
  { database, clock, log, closers }: Scope,
  { pool, catalog, metering }: Pick<Services, 'pool' | 'catalog' | 'metering'>,
): Promise<pools.SharedHealth> {
  const health = await pools.SharedHealth.start({
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
