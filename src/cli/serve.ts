/** `dragoman serve`: the API and, unless told otherwise, the worker. Runs until a signal. */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { createLog, errorFields } from '../core/index.ts';
import { makeAdminToken } from '../identity/index.ts';
import { type AppContext, CliError, openContext, type Running, serve } from '../main.ts';
import { applySetup, parseSetup } from '../setup/index.ts';
import { reportApplied } from './apply.ts';
import { printDemo, startDemo } from './demo.ts';
import { info } from './output.ts';
import { prettyStream } from './pretty-log.ts';

/** A bug that reached the top: stop in order, but not for long. */
const PANIC_MS = 10_000;
/** Ctrl-C reaches npm, the launcher and us, and each passes it on: what comes this close together is one wish, not two. */
const SAME_SIGNAL_MS = 1_000;

export const serveCommand = (): Command =>
  new Command('serve')
    .description('run the API, and the worker too')
    .option('--config <file>', 'apply this configuration before listening (YAML or JSON)')
    .option('--no-worker', 'leave background duties to "dragoman work"')
    .action(async (options: { config?: string; worker: boolean }) => {
      const config = loadConfig(process.env);
      const setup = options.config === undefined ? undefined : parseSetup(await readSetup(options.config));
      const log = createLog(config.LOG_LEVEL, process.stdout.isTTY ? prettyStream() : undefined);
      info(
        config.DATABASE_URL === undefined
          ? `Starting PostgreSQL in ${config.DATA_DIR} ...`
          : 'Connecting to PostgreSQL ...',
      );
      const ground = await openContext(config, { say: info, log });
      try {
        if (setup) reportApplied(await applySetup(ground.database.db, setup, { secrets: ground.secrets }));
        const demo = setup ? undefined : await startDemo(ground);
        const running = await serve(ground, { worker: options.worker });
        const token = config.ADMIN_TOKEN ? undefined : await makeAdminToken(ground.database.db, ground.sealer);
        // Before the word that it is ready: a signal may follow at once.
        const stopped = untilStopped(ground, running);
        greet(running, config);
        if (token) printToken(token);
        if (demo) printDemo(running.url, demo, token);
        await stopped;
        await demo?.stop();
      } finally {
        await ground.close();
      }
    });

export async function readSetup(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read: ${error.message}`,
    );
  });
}

function greet(running: Running, config: Config): void {
  info(`Dragoman is ready at ${running.url}`);
  if (config.HOST === '127.0.0.1') info('It listens on this machine only; set HOST=0.0.0.0 to open it to others.');
}

function printToken(token: string): void {
  info('Admin token, shown this once (for another: npx dragoman admin token --rotate):');
  info(`  ${token}`);
}

/** Waits for a signal (or a bug), then drains. A second signal ends the process at once. */
function untilStopped(ground: AppContext, running: Running): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let stopping = false;
  let stoppedAt = 0;
  const stop = (reason: string): void => {
    if (stopping) {
      if (ground.clock.now() - stoppedAt < SAME_SIGNAL_MS) return;
      info('Stopping at once.');
      process.exit(1);
    }
    stopping = true;
    stoppedAt = ground.clock.now();
    info(`${reason} Stopping: open requests get up to ${ground.config.DRAIN_MS / 1000} s.`);
    void running.stop().then(resolve, (error: unknown) => {
      ground.log.error('server.stop_failed', errorFields(error));
      process.exitCode = 1;
      resolve();
    });
  };
  process.on('SIGTERM', () => stop('SIGTERM received.'));
  process.on('SIGINT', () => stop('Interrupted.'));
  const panic = (error: unknown): void => {
    ground.log.error('process.panic', errorFields(error));
    process.exitCode = 1;
    setTimeout(() => process.exit(1), PANIC_MS).unref();
    if (!stopping) stop('A fault was not caught.');
  };
  process.on('uncaughtException', panic);
  process.on('unhandledRejection', panic);
  return promise;
}
