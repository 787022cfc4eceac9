/** Opens the ground for a short command and closes it whatever happens. Joins a running embedded database or starts one. */
import { loadConfig } from '../config.ts';
import { silentLog } from '../core/index.ts';
import { type AppContext, openContext } from '../main.ts';

/** Who the audit log says it was. */
export const BY_CLI = { actor: 'cli' } as const;

export async function withContext<T>(task: (ground: AppContext) => Promise<T>): Promise<T> {
  const ground = await openContext(loadConfig(process.env), { log: silentLog });
  try {
    return await task(ground);
  } finally {
    await ground.close();
  }
}
