/** A worker of `dragoman serve`. Ignores signals, which the primary gets too. Ends at once when the primary is gone. */
import { createLog, errorFields, sharedOutput, systemClock } from '../../core/index.ts';
import { LINK_PROTOCOL, Link, type WorkerShare } from '../../platform/cluster/index.ts';
import { loadConfig } from '../../platform/config.ts';
import { type AppContext, CliError, loadServer, openContext, type PortSockets, type Running } from '../server/index.ts';
import { messageFor } from './error-message.ts';
import { stopAfterPanic } from './panic.ts';
import { prettyStream } from './pretty-log.ts';
import { SIGNALS, STOP_MS, warnOfOpen } from './stop-requests.ts';

/** What the primary asks of a worker. */
export const WORKER_SERVICES = {
  start: 'start',
  open: 'open',
  drain: 'drain',
  metrics: 'metrics',
  alive: 'alive',
  notReady: 'notReady',
} as const;
/** What a worker asks of the primary, beside the limits. */
export const PRIMARY_SERVICES = { allMetrics: 'metrics.all', lastMetrics: 'metrics.last' } as const;

export interface StartQuestion extends WorkerShare {
  readonly protocol: number;
  readonly port: number;
  readonly sockets: PortSockets;
}

export interface DrainNotice {
  readonly isHandover: boolean;
}

/**
 * Set for workers only: the process id of the primary. A process manager that uses `node:cluster` itself does not set
 * it.
 */
export const PRIMARY_ENV = 'DRAGOMAN_PRIMARY';

/** The primary first collects the pages of all workers. */
const ALL_METRICS_MS = 3_000;

export const isWorkerProcess = (): boolean => process.env[PRIMARY_ENV] !== undefined;

export function runWorkerProcess({ runsJobs }: { readonly runsJobs: boolean }): void {
  // The primary was killed while this process loaded its code. As a server of its own it would outlive everyone who
  // knows of it.
  if (process.env[PRIMARY_ENV] !== String(process.ppid) || !process.connected) process.exit(1);
  delete process.env[PRIMARY_ENV];
  for (const signal of Object.keys(SIGNALS)) process.on(signal, () => {});
  const worker = new WorkerProcess(runsJobs);
  process.on('message', (message) => worker.link.receive(message));
  process.on('disconnect', () => process.exit());
}

class WorkerProcess {
  readonly link: Link;
  readonly #runsJobs: boolean;
  readonly #opened = Promise.withResolvers<void>();
  #context: AppContext | undefined;
  #running: Promise<Running> | undefined;
  #isReady = false;
  #ending: Promise<void> | undefined;

  constructor(runsJobs: boolean) {
    this.#runsJobs = runsJobs;
    this.link = new Link({
      clock: systemClock,
      send: (message) => process.send?.(message, undefined, undefined, () => {}),
      services: {
        [WORKER_SERVICES.start]: (question) => this.#start(question as StartQuestion),
        [WORKER_SERVICES.open]: () => this.#open(),
        [WORKER_SERVICES.drain]: (notice) => this.#end(notice as DrainNotice),
        [WORKER_SERVICES.metrics]: async () => (await this.#running)?.metricsText(),
        [WORKER_SERVICES.alive]: () => {},
        [WORKER_SERVICES.notReady]: async () => (await this.#running)?.notReady(),
      },
    });
  }

  async #start({ protocol, ...place }: StartQuestion): Promise<void> {
    try {
      if (protocol !== LINK_PROTOCOL)
        throw new CliError('The workers of this version need a newer primary process. Restart the server.');
      await this.#serve(place);
    } catch (error) {
      throw new CliError(messageFor(error));
    }
  }

  async #serve(place: Omit<StartQuestion, 'protocol'>): Promise<void> {
    const config = loadConfig(process.env);
    const stream = process.stdout.isTTY ? prettyStream() : sharedOutput();
    const log = createLog(config.LOG_LEVEL, stream, { worker: place.worker });
    void loadServer();
    const context = await openContext(config, { log, share: place });
    this.#context = context;
    const stop = (): void => void this.#end({ isHandover: false });
    stopAfterPanic(log, stop, () => process.exit(1));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { serve } = await loadServer();
    this.#running = serve(context, {
      // One worker runs the background jobs. Its replacement takes them over.
      worker: this.#runsJobs && place.worker === 1,
      member: {
        ...place,
        primary: this.link,
        metricsText: async () => String(await this.link.ask(PRIMARY_SERVICES.allMetrics, null, ALL_METRICS_MS)),
      },
      onOpen: resolve,
      prepare: () => this.#opened.promise,
    });
    this.#running.catch(reject);
    return promise;
  }

  /** The configuration is applied: reads it, and is ready. */
  async #open(): Promise<number> {
    this.#opened.resolve();
    await this.#running;
    this.#isReady = true;
    return process.pid;
  }

  #end(notice: DrainNotice): Promise<void> {
    this.#ending ??= this.#drainAndExit(notice);
    return this.#ending;
  }

  async #drainAndExit({ isHandover }: DrainNotice): Promise<void> {
    // Nothing was promised to a client yet, and the next start cleans up.
    if (!this.#isReady || !this.#context) return process.exit();
    const { log, config } = this.#context;
    setTimeout(
      () => {
        warnOfOpen('Not stopped in time');
        process.exit(1);
      },
      config.DRAIN_BEFORE_MS + config.DRAIN_MS + STOP_MS,
    );
    const running = await this.#running;
    try {
      await running?.stop({ isHandover });
      await this.link.ask(PRIMARY_SERVICES.lastMetrics, await running?.metricsText());
      await this.#context.close();
    } catch (error) {
      log.error('server.stop_failed', errorFields(error));
      process.exitCode = 1;
    }
    log.flush();
    process.exit();
  }
}
