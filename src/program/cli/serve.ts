/**
 * `dragoman serve`: the API and, without --no-worker, the jobs, until a signal. With several workers it is their
 * primary.
 */
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { createLog, errorFields, type Log } from '../../core/index.ts';
import { type Config, loadConfig } from '../../platform/config.ts';
import { type AppContext, loadServer, openContext, openHealthPort } from '../server/index.ts';
import { readSetup } from './config-file.ts';
import * as firstStart from './first-start.ts';
import { info } from './output.ts';
import { stopAfterPanic } from './panic.ts';
import { prettyStream } from './pretty-log.ts';
import { type Readiness, runPrimary } from './primary.ts';
import { endAtOnce, endSoon, StopRequests } from './stop-requests.ts';
import { isWorkerProcess, runWorkerProcess } from './worker-process.ts';

/** More workers need more memory and database connections than most machines have to spare. */
const MAX_DEFAULT_WORKERS = 8;

interface Options {
  readonly config?: string;
  readonly worker: boolean;
  readonly workers?: string;
}

export const serveCommand = (): Command =>
  new Command('serve')
    .description('run the API and the background jobs')
    .option('--config <file>', 'apply this configuration before the server is ready (YAML or JSON)')
    .option('--workers <count>', 'processes that serve requests, instead of WORKERS')
    .option('--no-worker', 'leave the background jobs to "dragoman work"')
    .action(async (options: Options) => {
      if (isWorkerProcess()) return runWorkerProcess({ runsJobs: options.worker });
      const config = loadConfig({ ...process.env, ...(options.workers !== undefined && { WORKERS: options.workers }) });
      const setup = options.config === undefined ? undefined : await readSetup(options.config);
      const log = createLog(config.LOG_LEVEL, process.stdout.isTTY ? prettyStream() : undefined);
      const readiness: Readiness = { notReady: async () => 'starting' };
      await openHealthPort(config, log, () => readiness.notReady());
      const task = { ...options, setup, stops: new StopRequests(), log, readiness };
      const workers = config.WORKERS ?? Math.min(MAX_DEFAULT_WORKERS, availableParallelism());
      firstStart.announceStart(config);
      return (workers === 1 ? runAlone(config, task) : runPrimary(config, { ...task, workers })).finally(endSoon);
    });

interface ServerTask extends Options, firstStart.SetupSource {
  readonly stops: StopRequests;
  readonly log: Log;
  readonly readiness: Readiness;
}

async function runAlone(config: Config, task: ServerTask): Promise<void> {
  const { stops, log } = task;
  // The code loads while PostgreSQL starts.
  void loadServer();
  const context = await openContext(config, { say: info, log });
  void stops.again.then(() => endAtOnce(context));
  try {
    await firstStart.announceFolder(context);
    if (!stops.isRequested) await runServer(context, task);
  } finally {
    await context.close();
  }
}

async function runServer(context: AppContext, task: ServerTask): Promise<void> {
  const first: firstStart.FirstStart = {};
  const { stops } = task;
  try {
    const { serve } = await loadServer();
    const running = await serve(context, {
      worker: task.worker,
      prepare: () => firstStart.prepareStart(context, task, first),
    });
    task.readiness.notReady = running.notReady;
    const stopSoon = (): void => stops.request('Uncaught exception.');
    stopAfterPanic(context.log, stopSoon, () => void endAtOnce(context));
    stops.allowDrain(context.config);
    await firstStart.announceReady(context, running.url, first);
    firstStart.announceStop(await stops.first, context.config);
    await running.stop().catch((error: unknown) => {
      context.log.error('server.stop_failed', errorFields(error));
      process.exitCode = 1;
    });
  } finally {
    await first.demo?.stop();
  }
}
