/**
 * The master key, from MASTER_KEY or a file in DATA_DIR.
 * Never created for a database with sealed secrets: that would hide a loss.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newMasterKey, parseMasterKeys } from '../core/index.ts';
import type { Config } from './config.ts';
import type { Db } from './db/index.ts';

export class MasterKeyError extends Error {}

/** The key that was given or created before; undefined when there is none yet. */
export async function readMasterKeys(config: Config): Promise<[string, string][] | undefined> {
  if (config.MASTER_KEY !== undefined) return parse(config.MASTER_KEY, 'MASTER_KEY');
  const path = keyFile(config);
  const stored = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new MasterKeyError(`${path} cannot be read: ${error.message}. Check its permissions.`);
  });
  return stored === undefined ? undefined : parse(stored.trim(), path);
}

const keyFile = ({ DATA_DIR }: Config): string => join(DATA_DIR, 'master.key');

export async function loadMasterKeys(config: Config, db: Db): Promise<[string, string][]> {
  // Read before the file: another process that starts now creates the file first and seals secrets afterwards.
  const sealed = await db.selectFrom('secrets').select('name').limit(1).execute();
  const known = await readMasterKeys(config);
  if (known) return known;
  const path = keyFile(config);
  if (sealed.length > 0) {
    throw new MasterKeyError(
      `The database contains sealed secrets, but ${path} is missing. ` +
        'Restore the file, or set MASTER_KEY to its content.',
    );
  }
  // link() publishes the complete file. When two processes start at once, one creates it and none reads a part of it.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${newMasterKey()}\n`, { mode: 0o600, flag: 'wx' });
  await link(draft, path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    })
    .finally(() => rm(draft));
  return parse((await readFile(path, 'utf8')).trim(), path);
}

function parse(text: string, source: string): [string, string][] {
  const pairs = parseMasterKeys(text);
  if (!pairs)
    throw new MasterKeyError(
      `${source} is not a valid master key: expected k1:SECRET, with a secret of at least 32 characters.`,
    );
  return pairs;
}
