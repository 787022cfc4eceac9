/** `dragoman serve`: the API and, without --no-worker, the background jobs. Runs until a signal. */
import { Command } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { createLog, errorFields } from '../core/index.ts';
import { createAdminToken } from '../identity/index.ts';
import { type AppContext, openContext, type Running, serve } from '../main.ts';
import { createFirstLink, linkUrl } from '../people/index.ts';
import { applySetup, type SetupFile } from '../setup/index.ts';
import { isEmpty, readSetup, reportApplied, reportDemoLeft } from './config-file.ts';
import { type Demo, printDemo, startDemo } from './demo.ts';
import { info } from './output.ts';
import { prettyStream } from './pretty-log.ts';
import { endAtOnce, StopRequests } from './stop-requests.ts';
import { folderElsewhere } from './where-data-is.ts';

/** Time for an orderly stop after an uncaught exception. */
const PANIC_MS = 10_000;

interface Options {
  readonly config?: string;
  readonly worker: boolean;
}

export const serveCommand = (): Command =>
  new Command('serve')
    .description('run the API and the background jobs')
    .option('--config <file>', 'apply this configuration before the server is ready (YAML or JSON)')
    .option('--no-worker', 'leave the background jobs to "dragoman work"')
    .action(async (options: Options) => {
      const config = loadConfig(process.env);
      const setup = options.config === undefined ? undefined : await readSetup(options.config);
      const log = createLog(config.LOG_LEVEL, process.stdout.isTTY ? prettyStream() : undefined);
      const stops = new StopRequests();
      info(
        config.DATABASE_URL === undefined
          ? `Starting PostgreSQL in ${config.DATA_DIR} ...`
          : 'Connecting to PostgreSQL ...',
      );
      const context = await openContext(config, { say: info, log });
      void stops.again.then(() => endAtOnce(context));
      try {
        await announceFolder(context);
        if (!stops.isRequested) await runServer(context, { ...options, setup, stops });
      } finally {
        await context.close();
      }
    });

interface ServerTask extends Options {
  readonly setup: SetupFile | undefined;
  readonly stops: StopRequests;
}

async function runServer(context: AppContext, task: ServerTask): Promise<void> {
  const first: FirstStart = {};
  try {
    const running = await serve(context, { worker: task.worker, prepare: () => prepare(context, task, first) });
    stopAfterPanic(context, task.stops);
    announce(running, context.config);
    if (first.demo) printDemo(running.url, first.demo, first.token);
    await printFirstLink(context, running.url);
    info(`${await task.stops.first} Stopping: open requests get up to ${context.config.DRAIN_MS / 1000} s.`);
    await running.stop().catch((error: unknown) => {
      context.log.error('server.stop_failed', errorFields(error));
      process.exitCode = 1;
    });
  } finally {
    await first.demo?.stop();
  }
}

/** What the start has created, for the commands to try. */
interface FirstStart {
  demo?: Demo | undefined;
  token?: string | undefined;
}

/** Every key and token is printed as soon as it exists: a start that fails later must not lose it. */
async function prepare(context: AppContext, { setup, config: path }: ServerTask, first: FirstStart): Promise<void> {
  const { config, database, sealer, secrets } = context;
  if (setup && path !== undefined) {
    if (!isEmpty(setup)) reportApplied(await applySetup(database.db, setup, { secrets }), { path });
    await reportDemoLeft(database.db, path);
  } else first.demo = await startDemo(context);
  if (config.ADMIN_TOKEN !== undefined) return;
  first.token = await createAdminToken(database.db, sealer);
  if (first.token !== undefined) printAdminToken(first.token);
}

async function announceFolder({ config, databaseFolder }: AppContext): Promise<void> {
  const elsewhere = await folderElsewhere(config.DATA_DIR, databaseFolder);
  if (elsewhere !== undefined)
    info(`The database is in ${elsewhere}, outside DATA_DIR. Back up both; removing DATA_DIR does not remove it.`);
}

function announce(running: Running, config: Config): void {
  info(`Dragoman is ready at ${running.url}`);
  if (config.HOST === '127.0.0.1') info('It listens on this machine only; set HOST=0.0.0.0 to accept other machines.');
}

/** Until there is an operator, every start prints a new link, and the earlier one ends. */
async function printFirstLink({ database: { db }, clock }: AppContext, url: string): Promise<void> {
  const link = await createFirstLink(db, clock.now());
  if (!link) return;
  info('Open this link to become the first operator of the console; it works once, within 24 hours:');
  info(`  ${linkUrl(url, link)}`);
}

function printAdminToken(token: string): void {
  info('Admin token, shown only once (to replace it: npx dragoman admin token --rotate):');
  info(`  ${token}`);
}

/** Drains after an uncaught exception, and ends at once when that takes too long. */
function stopAfterPanic(context: AppContext, stops: StopRequests): void {
  const panic = (error: unknown): void => {
    context.log.error('process.panic', errorFields(error));
    process.exitCode = 1;
    setTimeout(() => void endAtOnce(context), PANIC_MS).unref();
    stops.request('Uncaught exception.');
  };
  process.on('uncaughtException', panic);
  process.on('unhandledRejection', panic);
}
