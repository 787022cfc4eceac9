/** The application context of a short command. Joins a running embedded database or starts one. */
import { type Config, loadConfig } from '../config.ts';
import { silentLog } from '../core/index.ts';
import type { Actor } from '../identity/index.ts';
import { type AppContext, openContext } from '../main.ts';
import { endAtOnce, StopRequests } from './stop-requests.ts';

/** The actor of commands in the audit log. */
export const BY_CLI: Actor = { actor: 'cli' };

/** Closes the context when the task ends or fails. */
export async function withContext<T>(task: (context: AppContext) => Promise<T>): Promise<T> {
  const context = await openCommandContext(loadConfig(process.env));
  try {
    return await task(context);
  } finally {
    await context.close();
  }
}

/** Opens the context of a command that a signal may interrupt; an embedded database that it started is stopped then too. */
export async function openCommandContext(config: Config): Promise<AppContext> {
  const stops = new StopRequests();
  try {
    const context = await openContext(config, { log: silentLog });
    void stops.first.then(() => endAtOnce(context));
    return { ...context, close: () => context.close().finally(() => stops.close()) };
  } catch (error) {
    stops.close();
    throw error;
  }
}
