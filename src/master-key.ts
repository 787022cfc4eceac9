/**
 * Where the master key comes from: MASTER_KEY, or a file in DATA_DIR that is made at the first start. A key that does not
 * fit the database is refused at once; making a second one would only hide that the first was lost.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { newMasterKey, parseMasterKeys } from './core/index.ts';
import type { Db } from './db/index.ts';

export class MasterKeyError extends Error {}

export async function loadMasterKeys(config: Config, db: Db): Promise<[string, string][]> {
  if (config.MASTER_KEY !== undefined) return parse(config.MASTER_KEY, 'MASTER_KEY');
  const path = join(config.DATA_DIR, 'master.key');
  // Asked before the file is looked for: another process that starts now makes the file first and seals then.
  const sealed = await db.selectFrom('secrets').select('name').limit(1).execute();
  const stored = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new MasterKeyError(`${path} cannot be read: ${error.message}`);
  });
  if (stored !== undefined) return parse(stored.trim(), path);
  if (sealed.length > 0) {
    throw new MasterKeyError(
      `The database holds sealed secrets, but ${path} is missing. Put the file back, or set MASTER_KEY to the key it held.`,
    );
  }
  // Linked when it is whole: of two processes that start at once one makes the file, and none reads half of it.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${newMasterKey()}\n`, { mode: 0o600, flag: 'wx' });
  await link(draft, path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    })
    .finally(() => rm(draft));
  return parse((await readFile(path, 'utf8')).trim(), path);
}

function parse(text: string, where: string): [string, string][] {
  const pairs = parseMasterKeys(text);
  if (!pairs)
    throw new MasterKeyError(`${where} does not hold a master key of the form k1:SECRET with at least 32 characters.`);
  return pairs;
}
