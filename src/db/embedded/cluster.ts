/**
 * The database files: made once by initdb, checked before every start, with the role and database the gateway uses.
 * Never deletes or upgrades a cluster.
 */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Binaries } from './binaries.ts';
import type { DataLocation, Notify } from './data-location.ts';
import { APPLICATION_ROLE, DATABASE, LAUNCHER_ROLE, type Transport } from './endpoint.ts';
import { EmbeddedUnavailable, failed } from './failure.ts';
import { errorCode, runToEnd } from './process.ts';

/** Written into postgresql.conf once, where an operator may change them. */
const TUNING: readonly string[] = [
  'max_connections=100',
  'shared_buffers=64MB',
  // Parallel queries need /dev/shm, which containers cap at 64 MB, and cores that a small machine does not have.
  'max_parallel_workers_per_gather=0',
  'max_parallel_maintenance_workers=0',
  // Saves the three I/O worker processes; they pay on large scans only.
  'io_method=sync',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_line_prefix=%m [%p] ',
];

/** unique_violation, duplicate_database, duplicate_object */
const ALREADY_THERE = ['23505', '42P04', '42710'];

const PART_PREFIX = 'postgres.part-';

/** Makes the cluster if there is none; otherwise makes sure that these binaries can read it. */
export async function prepareCluster(
  home: DataLocation,
  binaries: Binaries,
  options: { transport: Transport; durable: boolean; say: Notify },
): Promise<void> {
  await removeParts(home.directory);
  const version = await versionOf(home.cluster);
  if (version === binaries.major) return;
  if (version !== null) {
    throw new EmbeddedUnavailable(
      `The database in ${home.cluster} was made by PostgreSQL ${version} and this version of Dragoman ` +
        `brings ${binaries.major}. Export it with the version that made it and import it here, or set DATABASE_URL.`,
    );
  }
  // In a folder of its own until it is whole: whatever interrupts initdb leaves no half database behind.
  const part = join(home.directory, `${PART_PREFIX}${randomBytes(4).toString('hex')}`);
  try {
    await makeOwnedDirectory(home, part);
    await runInitdb(home, binaries, part, options);
    await rename(part, home.cluster);
  } catch (error) {
    await removeTree(part).catch(() => undefined);
    throw error;
  }
}

/** Null where sockets are used. */
export async function passwordOf(home: DataLocation, transport: Transport): Promise<string | null> {
  if (transport === 'socket') return null;
  try {
    return (await readFile(home.password, 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const password = randomBytes(24).toString('base64url');
  await writeFile(home.password, `${password}\n`, { flag: 'wx', mode: 0o600 });
  // initdb reads it, and does not run as root.
  if (home.account !== null) await chown(home.password, home.account.uid, home.account.gid);
  return password;
}

/** Finishes what a first start interrupted after initdb may have left out. */
export async function ensureDatabase(client: Client, password: string | null): Promise<void> {
  const found = await client.query(
    `select (select count(*)::int from pg_roles where rolname = '${APPLICATION_ROLE}') as roles,
            (select count(*)::int from pg_database where datname = '${DATABASE}') as databases`,
  );
  // The password is base64url, so it needs no escaping; utility statements take no parameters.
  const secret = password === null ? '' : ` password '${password}'`;
  if (found.rows[0]?.roles === 0) await create(client, `create role ${APPLICATION_ROLE} login createdb${secret}`);
  if (found.rows[0]?.databases === 0) await create(client, `create database ${DATABASE} owner ${APPLICATION_ROLE}`);
}

/** It may exist after all: the session of a starter that was killed finishes the statement it was at. */
async function create(client: Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    if (!ALREADY_THERE.includes(errorCode(error))) throw error;
  }
}

async function versionOf(cluster: string): Promise<string | null> {
  try {
    return (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** An initdb whose starter was killed may still be writing there: what cannot be removed now goes at the next start. */
async function removeParts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith(PART_PREFIX)) await removeTree(join(directory, name)).catch(() => undefined);
  }
}

function removeTree(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

async function makeOwnedDirectory(home: DataLocation, directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  await chmod(directory, 0o700);
  if (home.account !== null) await chown(directory, home.account.uid, home.account.gid);
}

async function runInitdb(
  home: DataLocation,
  binaries: Binaries,
  directory: string,
  options: { transport: Transport; durable: boolean },
): Promise<void> {
  // Ensures the password file before initdb reads it.
  const password = await passwordOf(home, options.transport);
  const settings = TUNING.flatMap((setting) => ['--set', setting]);
  const access =
    password === null
      ? ['--auth-local=trust', '--auth-host=reject']
      : ['--auth-local=reject', '--auth-host=scram-sha-256', `--pwfile=${home.password}`];
  const args = [
    `--pgdata=${directory}`,
    `--username=${LAUNCHER_ROLE}`,
    '--encoding=UTF8',
    // The built-in provider sorts the same on every system, so moving the data never breaks an index.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...access,
    ...settings,
    ...(options.durable ? [] : ['--no-sync']),
  ];
  const ran = await runToEnd(binaries.initdb, args, { cwd: directory, account: home.account });
  if (!ran.ok) throw failed(`The database could not be made in ${home.directory}`, ran.output, null);
}
