/** `dragoman export FILE`: writes the whole database into one compressed file, while servers go on working. */
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { finished, pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { Command } from 'commander';
import { writeAudit } from '../../access/keys/index.ts';
import { BackupError, type ExportTotals, exportFrames } from '../backup/index.ts';
import { CliError, type Store } from '../server/index.ts';
import { BY_CLI, withStore } from './context.ts';
import { info } from './output.ts';

const STDOUT = '-';

export const exportCommand = (): Command =>
  new Command('export')
    .description('write the whole database as of one moment into a file, for a backup or a move; servers go on working')
    .argument('<file>', 'a new file, or - for stdout')
    .option('--captures', 'also captured bodies of calls, which hold what callers wrote', false)
    .action((path: string, { captures }: { captures: boolean }) =>
      withStore((store) => exportTo(store, path, captures)),
    );

async function exportTo({ database }: Store, path: string, hasCaptures: boolean): Promise<void> {
  const totals: ExportTotals = { tables: 0, rows: 0 };
  const frames = exportFrames(database, totals, { hasCaptures });
  try {
    await (path === STDOUT ? writeToStdout(frames) : writeToFile(frames, path));
  } catch (error) {
    if (error instanceof BackupError) throw new CliError(`Nothing was exported: ${error.message}.`);
    throw error;
  }
  const after = { rows: totals.rows };
  await writeAudit(database.db, BY_CLI, { action: 'database.exported', subject: 'database', after });
  info(`${totals.rows} rows of ${totals.tables} tables are exported.`);
  info(
    'Credentials and other secrets in it are sealed: a restore needs the same MASTER_KEY or master.key. Keep it elsewhere.',
  );
}

/** The file gets its name when it is complete. Only its owner may read it. */
async function writeToFile(frames: AsyncIterable<Buffer>, path: string): Promise<void> {
  if (await stat(path).catch(() => undefined))
    throw new CliError(`${path} exists already. Choose another name, or remove it.`);
  const draft = `${path}.part`;
  const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(frames, createZstdCompress(), file);
    await rename(draft, path);
  } catch (error) {
    if (isSystemError(error, 'EEXIST'))
      throw new CliError(`${draft} exists already: another export is running, or one was interrupted. Remove it then.`);
    await rm(draft, { force: true });
    if (isSystemError(error)) throw new CliError(`${path} cannot be written: ${error.message}. Choose another path.`);
    throw error;
  }
}

async function writeToStdout(frames: AsyncIterable<Buffer>): Promise<void> {
  if (process.stdout.isTTY) throw new CliError('An export is binary. Redirect it: dragoman export - > FILE');
  await pipeline(frames, createZstdCompress(), process.stdout, { end: false });
  process.stdout.end();
  await finished(process.stdout, { readable: false });
}

const isSystemError = (error: unknown, code?: string): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error && (code === undefined || error.code === code);
