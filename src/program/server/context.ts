/** The context of a command: the database of the installation, its secrets, and the claim of its only server. */
import { type KeySecrets, loadPepper } from '../../access/keys/index.ts';
import { type Clock, createLog, createSealer, type Log, type Sealer, systemClock } from '../../core/index.ts';
import { poolSizes, WHOLE_MACHINE, type WorkerShare } from '../../platform/cluster/index.ts';
import type { Config } from '../../platform/config.ts';
import { prepareDataDir } from '../../platform/data-dir.ts';
import * as postgres from '../../platform/db/index.ts';
import { loadMasterKeys } from '../../platform/master-key.ts';

/** The database of the installation as it is, perhaps empty or of another version. */
export interface Store {
  readonly config: Config;
  readonly database: postgres.Database;
  readonly isEmbedded: boolean;
  /** The folder of the embedded database; undefined with DATABASE_URL. */
  readonly databaseFolder: string | undefined;
  close(): Promise<void>;
  /**
   * Stops an embedded database that no other process uses, without waiting for its connections. For a process that ends
   * at once.
   */
  leaveDatabase(): Promise<void>;
}

/** What nearly every command needs: the migrated database and the secrets. */
export interface AppContext extends Store {
  readonly log: Log;
  readonly clock: Clock;
  readonly sealer: Sealer;
  readonly secrets: KeySecrets;
  /** The database holds no configuration yet. */
  readonly isFresh: boolean;
}

/** An error message for the operator, shown without a stack trace. */
export class CliError extends Error {}

export type Print = (sentence: string) => void;

export interface DatabaseOptions {
  readonly say?: Print;
  readonly limits?: Partial<postgres.PoolLimits>;
  /** The part of this machine's database connections that the process may open. */
  readonly share?: WorkerShare;
}

export interface ContextOptions extends DatabaseOptions {
  readonly log?: Log;
  readonly clock?: Clock;
}

export async function openContext(config: Config, options: ContextOptions = {}): Promise<AppContext> {
  const { log, clock = systemClock } = options;
  const store = await openStore(config, options);
  const { database } = store;
  try {
    const newer = postgres.newerSchemaNote(await postgres.migrate(database.url));
    const sealer = createSealer(await loadMasterKeys(config, database.db));
    const pepper = await loadPepper(database.db, sealer);
    const isFresh = (await database.db.selectFrom('groups').select('id').limit(1).execute()).length === 0;
    const ownLog = log ?? createLog(config.LOG_LEVEL);
    if (newer !== undefined) ownLog.warn('schema.newer_found', { message: newer });
    return { ...store, log: ownLog, clock, sealer, secrets: { pepper, sealer }, isFresh };
  } catch (error) {
    await store.close().catch(() => {});
    throw explainDatabase(error);
  }
}

/** Opens the database without migrating it. */
export async function openStore(
  config: Config,
  { say = () => {}, limits, share = WHOLE_MACHINE }: DatabaseOptions = {},
): Promise<Store> {
  await prepareDataDir(config.DATA_DIR);
  const closers: Closer[] = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const embedded =
      config.DATABASE_URL === undefined
        ? await postgres.joinEmbedded({ dataDir: config.DATA_DIR, notify: say })
        : undefined;
    if (embedded) closers.push(() => embedded.leave());
    const url = embedded?.url ?? config.DATABASE_URL ?? '';
    const database = postgres.openDatabase(url, poolSizes(share).main, limits, config.DATABASE_DIRECT_URL);
    closers.push(() => database.close());
    await postgres.checkConnection(database);
    if (!embedded && (await postgres.areSessionsShared(database.url))) throw new CliError(pooledMessage(config));
    return {
      config,
      database,
      isEmbedded: embedded !== undefined,
      databaseFolder: embedded?.directory,
      close,
      leaveDatabase: async () => embedded?.leave(),
    };
  } catch (error) {
    await close().catch(() => {});
    throw explainDatabase(error);
  }
}

/** What an operator reads when connections do not keep their session. */
const pooledMessage = ({ DATABASE_DIRECT_URL }: Partial<Config>): string =>
  DATABASE_DIRECT_URL === undefined
    ? 'DATABASE_URL leads to a connection pooler in transaction mode. Set DATABASE_DIRECT_URL to the URL of PostgreSQL itself, which notifications, locks and migrations need.'
    : 'DATABASE_DIRECT_URL leads to a connection pooler in transaction mode. Set it to the URL of PostgreSQL itself.';

/** What an operator reads of a database that is away. */
export function databaseMessage({ message }: Error): string {
  if (message.includes('unsupported startup parameter')) return pooledMessage({});
  const sentence = message.startsWith('The database ') ? message : `The database cannot be used: ${message}.`;
  return `${sentence} Check that it runs, and DATABASE_URL; a new installation can leave DATABASE_URL unset and use the embedded one.`;
}

function explainDatabase(error: unknown): unknown {
  if (error instanceof postgres.DatabaseUnavailable) return new CliError(databaseMessage(error), { cause: error });
  return error instanceof postgres.EmbeddedUnavailable ? new CliError(error.message) : error;
}

/** One server per DATA_DIR: two would share an embedded database and a journal without coordinating. */
export async function claimRole({ isEmbedded, database, config }: Store): Promise<{ release(): Promise<void> }> {
  if (!isEmbedded) return { release: async () => {} };
  const claim = await postgres.claimServer(database.url);
  if ('takenBy' in claim) {
    throw new CliError(
      `Another Dragoman server (process ${claim.takenBy}) runs on ${config.DATA_DIR}. Stop it, or give this one its own DATA_DIR; to run several servers, set DATABASE_URL.`,
    );
  }
  return claim;
}

type Closer = () => Promise<void>;

/** A context and what was opened in it. */
export interface Scope extends AppContext {
  readonly closers: Closer[];
}

/**
 * Closes in the opposite order of opening. One that fails must not leave the others open, which would keep the process
 * alive.
 */
export async function closeAll(closers: Closer[]): Promise<void> {
  const errors: unknown[] = [];
  for (const closer of closers.splice(0).reverse()) await closer().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
