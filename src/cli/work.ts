/** `dragoman work`: the background duties without the API, beside servers that run with --no-worker. */
import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { openContext } from '../main.ts';
import { runWorker } from '../worker/index.ts';
import { info } from './output.ts';

export const workCommand = (): Command =>
  new Command('work').description('run the background duties only').action(async () => {
    const ground = await openContext(loadConfig(process.env), { say: info });
    const worker = runWorker(ground);
    info('Working. Stop with Ctrl-C.');
    // Timers of duties do not keep the process alive by themselves; this one does until a signal comes.
    const alive = setInterval(() => {}, 60_000);
    await new Promise<void>((resolve) => {
      process.once('SIGTERM', () => resolve());
      process.once('SIGINT', () => resolve());
    });
    clearInterval(alive);
    await worker.stop();
    await ground.close();
    info('Stopped.');
  });
