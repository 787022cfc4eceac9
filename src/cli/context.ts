/** The application context of a short command. Joins a running embedded database or starts one. */
import { loadConfig } from '../config.ts';
import { silentLog } from '../core/index.ts';
import type { Actor } from '../identity/index.ts';
import { type AppContext, openContext } from '../main.ts';

/** The actor of commands in the audit log. */
export const BY_CLI: Actor = { actor: 'cli' };

/** Closes the context when the task ends or fails. */
export async function withContext<T>(task: (context: AppContext) => Promise<T>): Promise<T> {
  const context = await openContext(loadConfig(process.env), { log: silentLog });
  try {
    return await task(context);
  } finally {
    await context.close();
  }
}
