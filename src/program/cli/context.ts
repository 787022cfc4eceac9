/** The application context of a short command. Joins a running embedded database or starts one. */
import type { Actor } from '../../access/keys/index.ts';
import { silentLog } from '../../core/index.ts';
import { type Config, loadConfig } from '../../platform/config.ts';
import { type AppContext, openContext, openStore, type Store } from '../server/index.ts';
import { endAtOnce, StopRequests } from './stop-requests.ts';

export const BY_CLI: Actor = { actor: 'cli' };

/** Closes the context when the task ends or fails. */
export const withContext = <T>(task: (context: AppContext) => Promise<T>): Promise<T> =>
  closing(openCommandContext, task);

/** As `withContext`, with the database as it is: neither migrated nor checked for secrets. */
export const withStore = <T>(task: (store: Store) => Promise<T>): Promise<T> => closing(openCommandStore, task);

async function closing<S extends Store, T>(open: (config: Config) => Promise<S>, task: (opened: S) => Promise<T>) {
  const opened = await open(loadConfig(process.env));
  try {
    return await task(opened);
  } finally {
    await opened.close();
  }
}

/**
 * Opens the context of a command that a signal may interrupt; an embedded database that it started is stopped then too.
 */
export const openCommandContext = (config: Config): Promise<AppContext> =>
  interruptible(() => openContext(config, { log: silentLog }));
export const openCommandStore = (config: Config): Promise<Store> => interruptible(() => openStore(config));

async function interruptible<T extends Store>(open: () => Promise<T>): Promise<T> {
  const stops = new StopRequests();
  try {
    const store = await open();
    void stops.first.then(() => endAtOnce(store));
    return { ...store, close: () => store.close().finally(() => stops.close()) };
  } catch (error) {
    stops.close();
    throw error;
  }
}
