/**
 * The life of a server: opens its services and ports, takes over configuration changes, and drains and closes in the
 * opposite order.
 */
import type { Catalog } from '../../catalog/index.ts';
import { findUnpriced } from '../../catalog/setup/index.ts';
import { type Clock, errorFields, within } from '../../core/index.ts';
import { SERVER_BOUNDS } from '../../platform/http/index.ts';
import { Certificate, CertificateError } from '../../platform/web/index.ts';
import type { Video } from '../../video/index.ts';
import { jobsFor, runJobs } from '../jobs/index.ts';
import { type App, createApp } from './app.ts';
import { type AppContext, CliError, closeAll, type Scope } from './context.ts';
import { collectWhenIdle } from './idle-heap.ts';
import { registerMetrics } from './metrics.ts';
import { type ClaimedPorts, type ClusterMember, claimPorts, openPort, type PortSockets, publicUrlOf } from './ports.ts';
import { openCallRecorder } from './request-log.ts';
import { openServices, openVideo, openWarnings, type Services } from './services.ts';

/** At the time limit of a shutdown, turns end with an error event first. Then their WebSocket closes. */
const SESSION_GRACE_MS = 500;
/** Time for running jobs to end at a stop. */
const JOBS_MS = 3_000;

export interface Running {
  readonly url: string;
  readonly catalog: () => Catalog;
  /** Loads configuration changes now, rather than within seconds. */
  refresh(): Promise<void>;
  metricsText(): Promise<string>;
  /** Resolves to undefined when ready, otherwise to the reason. */
  notReady(): Promise<string | undefined>;
  /**
   * Drains and closes the server; the context stays open. In a handover, requests on open connections are served until
   * the end.
   */
  stop(options?: { readonly isHandover: boolean }): Promise<void>;
}

export interface ServeOptions {
  readonly worker: boolean;
  /** Also sends requests of batches, as every server does but in tests. */
  readonly sendsBatches?: boolean;
  /** The clock of the pauses between runs of a job. Tests pass a faster one. */
  readonly jobClock?: Clock;
  /**
   * Changes the configuration at the start. Runs when the role and the port are claimed, so that a refused start
   * changes nothing.
   */
  readonly prepare?: () => Promise<void>;
  /** Called when everything is open, before `prepare`. */
  readonly onOpen?: () => void;
  /** Undefined in a server of one process. */
  readonly member?: ClusterMember;
}

export async function serve(context: AppContext, options: ServeOptions): Promise<Running> {
  const scope: Scope = { ...context, closers: [] };
  return start(scope, options).catch(async (error: unknown) => {
    // An open connection would keep the process alive after a failed start.
    await closeAll(scope.closers).catch((closing: unknown) =>
      context.log.error('server.stop_failed', errorFields(closing)),
    );
    throw error;
  });
}

async function start(scope: Scope, options: ServeOptions): Promise<Running> {
  const { config, log, closers } = scope;
  const { member } = options;
  const services = await openServices(scope, member);
  let url = publicUrlOf(config, config.PORT);
  const publicUrl = (): string => url;
  const video = openVideo(scope, services, publicUrl);
  const warnings = openWarnings(scope, publicUrl);
  const recorder = await openCallRecorder(scope, services);
  const app = createApp(scope, {
    ...services,
    video,
    warnings,
    certificate: await openCertificate(scope),
    onCompleted: (call) => recorder.record(call),
    member,
    publicUrl,
  });
  registerMetrics(services.metrics, { ...services, gateway: app.gateway, droppedCalls: () => recorder.dropped });
  const ports: ClaimedPorts = member ?? (await claimPorts(config));
  url = publicUrlOf(config, ports.port);
  options.onOpen?.();
  await prepare(scope, options, services).catch((error: unknown) => {
    ports.release?.();
    throw error;
  });
  // Until it is ready it takes no connection: others can serve them, and a proxy tries another server when one is
  // refused.
  await openPorts(scope, app, ports.sockets);
  ports.unlock?.();
  const clock = options.jobClock ?? scope.clock;
  const { watch } = services;
  const ofWorker = options.worker ? jobsFor({ ...scope, clock, video, warnings, background: app.gateway, watch }) : [];
  const all = options.sendsBatches === false ? ofWorker : [...ofWorker, ...app.gateway.batchJobs];
  if (all.length > 0) {
    const jobs = runJobs({ ...scope, clock, watch }, all);
    // A job may wait for a dependency for minutes. Another replica takes its work over.
    const late = (): void => log.warn('jobs.abandoned');
    closers.push(() => within(jobs.stop(), { clock: scope.clock, ms: JOBS_MS, late }));
  }
  const collections = collectWhenIdle(scope.clock);
  closers.push(() => collections.stop());
  if (config.EGRESS_ALLOW.length > 0) log.warn('egress.allowlist_active', { allow: config.EGRESS_ALLOW });
  log.info('server.ready', { host: config.HOST, port: ports.port });
  return {
    url,
    catalog: services.catalog,
    refresh: () => services.watch.check(),
    metricsText: () => services.metrics.text(),
    notReady: () => app.notReady(),
    stop: ({ isHandover } = { isHandover: false }) => stop(scope, { ...app, video }, isHandover),
  };
}

async function openPorts(scope: Scope, { gateway, web, metricsWeb }: App, sockets: PortSockets): Promise<void> {
  const { config, log, closers } = scope;
  // After `stop` nothing is left to drain. A start that fails later ends the calls that came meanwhile.
  closers.push(async () => {
    await web.drain(0);
    await gateway.flush();
  });
  await openPort('PORT', config, () => web.listen(sockets.PORT));
  if (metricsWeb) {
    closers.push(() => metricsWeb.drain(0));
    log.info('metrics.ready', {
      host: config.HOST,
      port: await openPort('METRICS_PORT', config, () => metricsWeb.listen(sockets.METRICS_PORT)),
    });
  }
}

async function prepare({ database, log }: AppContext, options: ServeOptions, { watch }: Services): Promise<void> {
  if (options.prepare) {
    await options.prepare();
    // The catalog was loaded before.
    await watch.check();
  }
  // The other workers would report the same.
  if ((options.member?.worker ?? 1) === 1)
    for (const model of await findUnpriced(database.db)) log.warn('model.unpriced', { model });
}

async function stop(scope: Scope, app: App & { readonly video: Video }, isHandover: boolean): Promise<void> {
  const { config, clock, log, closers } = scope;
  const { gateway, web, video } = app;
  const isAnnounced = !isHandover && config.DRAIN_BEFORE_MS > 0;
  if (isAnnounced) {
    web.announceEnd();
    log.info('server.draining', { ms: config.DRAIN_BEFORE_MS });
    await new Promise<void>((resolve) => void clock.after(config.DRAIN_BEFORE_MS, resolve));
  }
  // The time of open requests begins when no further ones can come.
  await web.stopListening();
  // Behind a load balancer, a last request may have been on its way when the server stopped to listen.
  const isServedElsewhere = isHandover || isAnnounced;
  gateway.drainSessions({
    withinMs: config.DRAIN_MS + SESSION_GRACE_MS,
    lingerMs: isServedElsewhere ? SERVER_BOUNDS.lingerMs.limit : 0,
  });
  video.watcher.end();
  const closed = web.drain(config.DRAIN_MS, { isHandover: isServedElsewhere });
  await Promise.all([
    closed,
    gateway.drainBackground(config.DRAIN_MS, closed),
    gateway.batchWorker.stop(config.DRAIN_MS),
  ]);
  await gateway.flush();
  await closeAll(closers);
  log.info('server.stopped');
  log.flush();
}

/** The certificate of the server, read again when its files change; undefined without TLS. */
async function openCertificate({ config, clock, log, closers }: Scope): Promise<Certificate | undefined> {
  const { TLS_CERT, TLS_KEY } = config;
  if (TLS_CERT === undefined || TLS_KEY === undefined) return undefined;
  try {
    const certificate = await Certificate.open({ files: { cert: TLS_CERT, key: TLS_KEY }, clock, log });
    closers.push(() => certificate.stop());
    return certificate;
  } catch (error) {
    throw error instanceof CertificateError ? new CliError(error.message) : error;
  }
}
