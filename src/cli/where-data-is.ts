/** The folder of the embedded database, when it is not in DATA_DIR: PostgreSQL does not run as root, and its user may not enter DATA_DIR. */
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Undefined when the database is in DATA_DIR, or when it is not embedded. */
export async function folderElsewhere(dataDir: string, cluster: string | undefined): Promise<string | undefined> {
  if (cluster === undefined || cluster === join(await realpath(dataDir), 'postgres')) return undefined;
  return dirname(cluster);
}
