/**
 * The primary of `dragoman serve` with several workers: prepares the database and supervises. Never serves
 * (docs/adr/0016-workers.md).
 */
import { errorFields, type Log } from '../../core/index.ts';
import { PRIMARY } from '../../platform/cluster/index.ts';
import { type Config, loadConfig } from '../../platform/config.ts';
import { MAX_EMBEDDED_WORKERS } from '../../rules/index.ts';
import { type AppContext, CliError, claimRole, openContext, publicUrlOf } from '../server/index.ts';
import { ControlServer } from './control.ts';
import * as firstStart from './first-start.ts';
import { info } from './output.ts';
import { stopAfterPanic } from './panic.ts';
import { SharedPorts } from './shared-ports.ts';
import { endAtOnce, STOP_MS, type StopRequests } from './stop-requests.ts';
import { SUPERVISOR_STOP_MS, Supervisor } from './supervisor.ts';

/** Settings of the primary itself, or of sockets that stay open during a reload. */
const FIXED = [
  'HOST',
  'PORT',
  'METRICS_PORT',
  'HEALTH_PORT',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'WORKERS',
  'DEMO',
  'DEMO_PORT',
] as const;

/** What health checks are told: undefined when ready, otherwise the reason. */
export interface Readiness {
  notReady: () => Promise<string | undefined>;
}

export interface PrimaryTask extends firstStart.SetupSource {
  readonly workers: number;
  readonly stops: StopRequests;
  readonly log: Log;
  readonly readiness: Readiness;
}

export async function runPrimary(config: Config, task: PrimaryTask): Promise<void> {
  const { workers, stops, log } = task;
  if (config.DATABASE_URL === undefined && workers > MAX_EMBEDDED_WORKERS)
    throw new CliError(
      `The embedded PostgreSQL serves at most ${MAX_EMBEDDED_WORKERS} workers. Set WORKERS to less than ${workers}, or set DATABASE_URL.`,
    );
  const onGiveUp = (message: string): void => {
    process.exitCode = 1;
    stops.request(message);
  };
  const ports = await SharedPorts.claim(config);
  const supervisor = new Supervisor({ workers, ports, log, onGiveUp });
  task.readiness.notReady = () => supervisor.notReady();
  try {
    const context = await openContext(config, { say: info, log, share: { worker: PRIMARY, workers } });
    try {
      await firstStart.announceFolder(context);
      if (!stops.isRequested) await superviseUntilStop(context, { supervisor, ports }, task);
    } finally {
      await context.close();
    }
  } finally {
    ports.close();
    supervisor.killAll();
  }
}

async function superviseUntilStop(
  context: AppContext,
  { supervisor, ports }: { readonly supervisor: Supervisor; readonly ports: SharedPorts },
  task: PrimaryTask,
): Promise<void> {
  const { config, log } = context;
  const { stops } = task;
  const end = (): void => {
    supervisor.killAll();
    void endAtOnce(context);
  };
  void stops.again.then(end);
  const role = await claimRole(context);
  const first: firstStart.FirstStart = {};
  let control: ControlServer | undefined;
  try {
    await supervisor.start();
    await firstStart.prepareStart(context, task, first);
    await supervisor.open();
    stopAfterPanic(log, () => stops.request('Uncaught exception.'), end);
    /** A stop waits for the workers with these settings. */
    const allowDrain = (settings: Config): void => {
      supervisor.allowDrain(settings);
      stops.allowDrain(settings, SUPERVISOR_STOP_MS + STOP_MS / 2);
    };
    allowDrain(config);
    control = await openControl(context, supervisor, allowDrain);
    await firstStart.announceReady(context, publicUrlOf(config, ports.port), first);
    firstStart.announceStop(await stops.first, config);
    ports.close();
    if (!(await supervisor.stop())) process.exitCode = 1;
  } finally {
    await control?.close();
    await first.demo?.stop();
    await role.release();
  }
}

/** Without the socket the server runs, but cannot be reloaded. */
async function openControl({ config, log }: AppContext, supervisor: Supervisor, allowDrain: (to: Config) => void) {
  const reload = async (settings: Readonly<Record<string, string>>, report: (line: string) => void): Promise<void> => {
    allowDrain(checkedSettings(settings));
    const say = (line: string): void => {
      info(line);
      report(line);
    };
    await supervisor.reload(settings, say);
  };
  return ControlServer.open(config.DATA_DIR, reload).catch((error: unknown) => {
    log.warn('control.failed', errorFields(error));
    return undefined;
  });
}

function checkedSettings(settings: Readonly<Record<string, string>>): Config {
  const [before, after] = [loadConfig(process.env), loadConfig({ ...process.env, ...settings })];
  const changed = FIXED.filter((name) => before[name] !== after[name]);
  if (changed.length > 0)
    throw new CliError(`${changed.join(', ')} cannot change in a reload. Restart the server for that.`);
  return after;
}
