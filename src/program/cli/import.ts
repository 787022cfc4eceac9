/**
 * `dragoman import FILE`: restores an export into an empty database. `dragoman import SOURCE`: takes over another
 * gateway.
 */
import { createReadStream } from 'node:fs';
import { createZstdDecompress } from 'node:zlib';
import { Command } from 'commander';
import { checkAllEntries } from '../../ledger/index.ts';
import { readMasterKeys } from '../../platform/master-key.ts';
import { BackupError, importFrames } from '../backup/index.ts';
import { CliError, claimRole, type Store } from '../server/index.ts';
import { withStore } from './context.ts';
import { sourceCommand } from './import-source.ts';
import { info } from './output.ts';

const STDIN = '-';

export const importCommand = (): Command =>
  new Command('import')
    .description('restore an export into an empty database; the servers of the exported one must have stopped')
    .argument('<file>', 'of "dragoman export", or - for stdin')
    .action((path: string) => withStore((store) => importFrom(store, path)))
    .addCommand(sourceCommand('new-api', 'a SQLite file or a PostgreSQL address'))
    .addCommand(sourceCommand('one-api', 'a SQLite file or a PostgreSQL address'))
    .addCommand(sourceCommand('sub2api', 'a PostgreSQL address'))
    .addCommand(sourceCommand('litellm', 'a PostgreSQL address, or its YAML file'));

async function importFrom(store: Store, path: string): Promise<void> {
  const masterKeys = await readMasterKeys(store.config);
  if (!masterKeys)
    throw new CliError(
      'Nothing was imported: the secrets of an export are sealed. Set MASTER_KEY, or put the file master.key of the exported installation into DATA_DIR.',
    );
  const role = await claimRole(store);
  try {
    const { header, tables, rows } = await importFrames(store.database, { chunks: readChunks(path), masterKeys });
    info(`${rows} rows of ${tables} tables are imported, as of ${header.exported_at}.`);
  } catch (error) {
    throw error instanceof BackupError
      ? new CliError(`Nothing was imported from ${path}: ${error.message}.`, { cause: error })
      : error;
  } finally {
    await role.release();
  }
  const faults = await checkAllEntries(store.database.url);
  info(
    faults.length === 0
      ? 'The ledger adds up.'
      : `The ledger has ${faults.length} findings, which "dragoman ledger check" prints. Holds that are overdue resolve themselves after the start.`,
  );
  info(
    'Start the server now. Stop the servers of the exported database for good: two would deliver and charge the same tasks.',
  );
}

/** Errors of the file and of its compression are shown as a sentence. */
async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const file = path === STDIN ? process.stdin : createReadStream(path);
  const plain = createZstdDecompress();
  // `compose` would hide which of the two failed.
  file.on('error', (error) => plain.destroy(error));
  file.pipe(plain);
  try {
    yield* plain as AsyncIterable<Buffer>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BackupError('there is no such file');
    if (code?.startsWith('ZSTD') || code?.startsWith('ERR_') || code?.startsWith('Z_'))
      throw new BackupError('it is damaged or incomplete, or not an export', { cause: error });
    throw new BackupError(`the file cannot be read: ${message}`, { cause: error });
  } finally {
    file.destroy();
    plain.destroy();
  }
}
