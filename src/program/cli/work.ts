/** `dragoman work`: the background jobs without the API, beside servers that run with --no-worker. */
import { Command } from 'commander';
import { loadConfig } from '../../platform/config.ts';
import { jobsFor, runJobs } from '../jobs/index.ts';
import { type AppContext, loadServices, openContext } from '../server/index.ts';
import { info } from './output.ts';
import { endAtOnce, endSoon, StopRequests } from './stop-requests.ts';

const KEEP_ALIVE_MS = 60_000;

export const workCommand = (): Command =>
  new Command('work').description('run the background jobs only').action(async () => {
    const config = loadConfig(process.env);
    const stops = new StopRequests();
    const context = await openContext(config, { say: info });
    void stops.again.then(() => endAtOnce(context));
    try {
      await work(context, stops);
    } finally {
      await context.close();
      endSoon();
    }
    info('Stopped.');
  });

async function work(context: AppContext, stops: StopRequests): Promise<void> {
  const services = await (await loadServices()).openWorkerServices(context);
  try {
    const jobs = runJobs({ ...context, ...services }, jobsFor({ ...context, ...services }));
    info('The jobs are running. Stop them with Ctrl-C.');
    // The timers of jobs do not keep the process alive.
    const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
    await stops.first;
    clearInterval(keepAlive);
    await jobs.stop();
  } finally {
    await services.close();
  }
}
