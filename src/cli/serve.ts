/** `dragoman serve`: the API and, without --no-worker, the background jobs. Runs until a signal. */
import { Command } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { createLog, errorFields } from '../core/index.ts';
import { createAdminToken } from '../identity/index.ts';
import { type AppContext, openContext, type Running, serve } from '../main.ts';
import { applySetup } from '../setup/index.ts';
import { isEmpty, readSetup, reportApplied } from './config-file.ts';
import { printDemo, startDemo } from './demo.ts';
import { info } from './output.ts';
import { prettyStream } from './pretty-log.ts';

/** Time for an orderly stop after an uncaught exception. */
const PANIC_MS = 10_000;
/** Ctrl-C reaches npm, the launcher and this process, and each forwards it: signals this close together count as one. */
const SAME_SIGNAL_MS = 1_000;

export const serveCommand = (): Command =>
  new Command('serve')
    .description('run the API and the background jobs')
    .option('--config <file>', 'apply this configuration before listening (YAML or JSON)')
    .option('--no-worker', 'leave the background jobs to "dragoman work"')
    .action(async (options: { config?: string; worker: boolean }) => {
      const config = loadConfig(process.env);
      const setup = options.config === undefined ? undefined : await readSetup(options.config);
      const log = createLog(config.LOG_LEVEL, process.stdout.isTTY ? prettyStream() : undefined);
      info(
        config.DATABASE_URL === undefined
          ? `Starting PostgreSQL in ${config.DATA_DIR} ...`
          : 'Connecting to PostgreSQL ...',
      );
      const context = await openContext(config, { say: info, log });
      try {
        if (setup && !isEmpty(setup))
          reportApplied(await applySetup(context.database.db, setup, { secrets: context.secrets }));
        const demo = setup ? undefined : await startDemo(context);
        const running = await serve(context, { worker: options.worker });
        const token = config.ADMIN_TOKEN ? undefined : await createAdminToken(context.database.db, context.sealer);
        // Handlers must be in place before the process reports that it is ready, because a signal may follow at once.
        const stopped = untilStopped(context, running);
        announce(running, config);
        if (token) printAdminToken(token);
        if (demo) printDemo(running.url, demo, token);
        await stopped;
        await demo?.stop();
      } finally {
        await context.close();
      }
    });

function announce(running: Running, config: Config): void {
  info(`Dragoman is ready at ${running.url}`);
  if (config.HOST === '127.0.0.1') info('It listens on this machine only; set HOST=0.0.0.0 to accept other machines.');
}

function printAdminToken(token: string): void {
  info('Admin token, shown only once (to replace it: npx dragoman admin token --rotate):');
  info(`  ${token}`);
}

/** Waits for a signal or an uncaught exception, then drains. A second signal ends the process at once. */
function untilStopped(context: AppContext, running: Running): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let stopping = false;
  let stoppedAt = 0;
  const stop = (reason: string): void => {
    if (stopping) {
      if (context.clock.now() - stoppedAt < SAME_SIGNAL_MS) return;
      info('Stopping at once.');
      process.exit(1);
    }
    stopping = true;
    stoppedAt = context.clock.now();
    info(`${reason} Stopping: open requests get up to ${context.config.DRAIN_MS / 1000} s.`);
    void running.stop().then(resolve, (error: unknown) => {
      context.log.error('server.stop_failed', errorFields(error));
      process.exitCode = 1;
      resolve();
    });
  };
  process.on('SIGTERM', () => stop('SIGTERM received.'));
  process.on('SIGINT', () => stop('Interrupted.'));
  const panic = (error: unknown): void => {
    context.log.error('process.panic', errorFields(error));
    process.exitCode = 1;
    setTimeout(() => process.exit(1), PANIC_MS).unref();
    if (!stopping) stop('Uncaught exception.');
  };
  process.on('uncaughtException', panic);
  process.on('unhandledRejection', panic);
  return promise;
}
