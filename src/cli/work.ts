/** `dragoman work`: the background jobs without the API, beside servers that run with --no-worker. */
import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { openContext, openWorkerServices } from '../main.ts';
import { runWorker } from '../worker/index.ts';
import { info } from './output.ts';

const KEEP_ALIVE_MS = 60_000;

export const workCommand = (): Command =>
  new Command('work').description('run the background jobs only').action(async () => {
    const context = await openContext(loadConfig(process.env), { say: info });
    const services = await openWorkerServices(context);
    const worker = runWorker({ ...context, video: services.video });
    info('Worker is running. Stop it with Ctrl-C.');
    // The timers of jobs do not keep the process alive.
    const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
    await new Promise<void>((resolve) => {
      process.once('SIGTERM', () => resolve());
      process.once('SIGINT', () => resolve());
    });
    clearInterval(keepAlive);
    await worker.stop();
    await services.close();
    await context.close();
    info('Stopped.');
  });
