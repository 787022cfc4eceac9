/** What `serve` does at its start: applies the configuration file or installs the demo, and prints what is created. */
import { createAdminToken } from '../../access/keys/index.ts';
import { createFirstLink, linkUrl } from '../../access/people/index.ts';
import { applySetup } from '../../catalog/setup/index.ts';
import type { Config } from '../../platform/config.ts';
import { databaseOutside } from '../../platform/data-dir.ts';
import type { SetupFile } from '../../schemas/index.ts';
import type { AppContext } from '../server/index.ts';
import { isEmpty, reportApplied, reportDemoLeft } from './config-file.ts';
import { type Demo, printDemo, startDemo } from './demo.ts';
import { messageFor } from './error-message.ts';
import { info } from './output.ts';

/** What the start has created, for the commands to try. */
export interface FirstStart {
  demo?: Demo | undefined;
  token?: string | undefined;
}

export interface SetupSource {
  readonly setup: SetupFile | undefined;
  readonly config?: string;
}

/** Every key and token is printed as soon as it exists: a start that fails later must not lose it. */
export async function prepareStart(context: AppContext, source: SetupSource, first: FirstStart): Promise<void> {
  const { setup, config: path } = source;
  const { config, database, sealer, secrets } = context;
  if (setup && path !== undefined) {
    if (!isEmpty(setup)) reportApplied(await applySetup(database.db, setup, { secrets }), { path });
    await reportDemoLeft(database.db, path);
  } else first.demo = await startDemo(context);
  if (config.ADMIN_TOKEN !== undefined) return;
  first.token = await createAdminToken(database.db, sealer);
  if (first.token !== undefined) printAdminToken(first.token);
}

export const announceStart = (config: Config): void =>
  info(
    config.DATABASE_URL === undefined
      ? `Starting PostgreSQL in ${config.DATA_DIR} ...`
      : 'Connecting to PostgreSQL ...',
  );

export async function announceFolder({ config, databaseFolder }: AppContext): Promise<void> {
  const elsewhere = await databaseOutside(config.DATA_DIR, databaseFolder);
  if (elsewhere !== undefined)
    info(`The database is in ${elsewhere}, outside DATA_DIR. Back up both; removing DATA_DIR does not remove it.`);
}

export async function announceReady(context: AppContext, url: string, first: FirstStart): Promise<void> {
  const { config } = context;
  info(`Dragoman is ready at ${url}`);
  info(`The API reference is at ${url}/docs`);
  if (config.HOST === '127.0.0.1') info('It listens on this machine only; set HOST=0.0.0.0 to accept other machines.');
  if (first.demo) printDemo(url, first.demo, first.token);
  // The server is ready without it.
  await printFirstLink(context, url).catch((error: unknown) =>
    info(
      `The link for the first operator of the console could not be read; the next start prints it. ${messageFor(error)}`,
    ),
  );
}

/** Until there is an operator, every start prints the link; those of all replicas print the same one. */
async function printFirstLink({ database: { db }, clock, secrets }: AppContext, url: string): Promise<void> {
  const link = await createFirstLink(db, { now: clock.now(), pepper: secrets.pepper, isShared: true });
  if (!link) return;
  info(
    `Open this link to become the first operator of the console; it works once, until ${link.expiresAt.toISOString()}:`,
  );
  info(`  ${linkUrl(url, link)}`);
}

export const announceStop = (reason: string, { DRAIN_BEFORE_MS, DRAIN_MS }: Config): void =>
  info(
    `${reason} Stopping: ${DRAIN_BEFORE_MS > 0 ? `new requests are served for ${DRAIN_BEFORE_MS / 1000} s, then ` : ''}open requests get up to ${DRAIN_MS / 1000} s.`,
  );

function printAdminToken(token: string): void {
  info('Admin token, shown only once (to replace it: npx dragoman admin token --rotate):');
  info(`  ${token}`);
}
