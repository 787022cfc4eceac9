/**
 * Checks of `dragoman doctor` about the installation as a whole: version and schema, clock, backup, console and the
 * folder of results.
 */
import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, DAY_MS, errorText, systemClock } from '../../core/index.ts';
import type { Config } from '../../platform/config.ts';
import { type Db, findRefusal, firstRow, type MigrationState, newerSchemaNote } from '../../platform/db/index.ts';
import { version } from '../../platform/version.ts';
import { consoleFolder } from '../server/index.ts';
import { bad, type Finding, good, judged, note } from './finding.ts';

const MIN_FREE_BYTES = 2 ** 30;

const NOT_CHECKED = 'The database was not checked further';

/** A bad finding: the database of another version is left as it is, because servers may run on it. An empty one is not in use. */
export function checkSchema(state: MigrationState): Finding {
  const { done, missing } = state;
  const refusal = findRefusal(state);
  if (refusal !== undefined) return bad('Version', `${refusal} ${NOT_CHECKED}`);
  if (done.length > 0 && missing.length > 0)
    return bad(
      'Version',
      `Dragoman ${version} needs ${missing.length} migrations that the database lacks, up to ${missing.at(-1)}; export it, then start this version or run "dragoman migrate". ${NOT_CHECKED}`,
    );
  const newer = newerSchemaNote(state);
  return newer === undefined
    ? good('Version', `Dragoman ${version}, schema ${done.at(-1) ?? missing.at(-1)}`)
    : note('Version', newer);
}

/** Leases, cooldowns and links compare times of servers with times of the database. */
const NOTED_DRIFT_MS = 2_000;
const BAD_DRIFT_MS = 30_000;

export async function checkClock(db: Db, clock: Clock = systemClock): Promise<Finding> {
  const begun = clock.now();
  const database = await firstRow(db)<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  const ended = clock.now();
  // The statement ran at some time in between.
  const drift = (begun + ended) / 2 - (database?.ms ?? ended);
  const uncertainty = (ended - begun) / 2;
  const off = Math.max(0, Math.abs(drift) - uncertainty);
  const text = `${(off / 1_000).toFixed(1)} s ${drift < 0 ? 'behind' : 'ahead of'} PostgreSQL`;
  if (off < NOTED_DRIFT_MS) return good('Clock', 'agrees with PostgreSQL');
  const advice = 'synchronise both machines, for example with chrony';
  return { about: 'Clock', state: off < BAD_DRIFT_MS ? 'note' : 'bad', text: `${text}; ${advice}` };
}

const OLD_BACKUP_DAYS = 7;

/** Only exports are known here. A backup by other means cannot be seen, so this never counts as a failure. */
export async function checkBackup(db: Db, clock: Clock = systemClock): Promise<Finding> {
  const last = await firstRow(db)<{ at: Date }>`
    select at from audit where subject = 'database' and action = 'database.exported' order by id desc limit 1`;
  const advice = 'run "dragoman export FILE", unless PostgreSQL is backed up in another way';
  if (!last) return note('Backup', `there was no export yet; ${advice}`);
  const days = Math.max(0, Math.floor((clock.now() - last.at.getTime()) / DAY_MS));
  const text = `the last export is of ${last.at.toISOString()}, ${days} ${days === 1 ? 'day' : 'days'} ago`;
  return days < OLD_BACKUP_DAYS ? good('Backup', text) : note('Backup', `${text}; ${advice}`);
}

export async function checkConsole(config: Config): Promise<Finding> {
  const folder = consoleFolder(config);
  const isBuilt = await stat(join(folder, 'index.html')).then(
    (file) => file.isFile(),
    () => false,
  );
  return isBuilt
    ? good('Console', `built, in ${folder}`)
    : note('Console', `not built in ${folder}; run "npm run console", or set CONSOLE_DIR`);
}

export async function checkFree(about: string, folder: string, advice: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const text = `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free at ${folder}`;
  return judged(about, bavail * bsize < MIN_FREE_BYTES, text, `; ${advice}`);
}

/** The folder of mirrored results, on which servers fail softly: they read from the provider instead. */
export async function checkMirror({ RESULT_MIRROR_DIR: folder }: Config): Promise<Finding[]> {
  if (folder === undefined) return [];
  try {
    await access(folder, constants.W_OK);
    return [await checkFree('Mirror', folder, 'free some space or lower RESULT_MIRROR_MAX_BYTES')];
  } catch (error) {
    return [bad('Mirror', `${errorText(error)}; mount or create RESULT_MIRROR_DIR`)];
  }
}
