/** The database cluster: created once by initdb, checked before every start. Never deletes or upgrades a cluster. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import { codeOf } from '../../../core/index.ts';
import { EMBEDDED_CONNECTIONS } from '../../../rules/index.ts';
import type { Binaries } from './binaries.ts';
import type { DataLocation } from './data-location.ts';
import { APPLICATION_ROLE, DATABASE, LAUNCHER_ROLE, type Transport } from './endpoint.ts';
import { EmbeddedUnavailable, embeddedFailure } from './failure.ts';
import { readIfExists, runProgram } from './process.ts';

/** Written to postgresql.conf once, where an operator can change them. */
const TUNING: readonly string[] = [
  `max_connections=${EMBEDDED_CONNECTIONS.total}`,
  'shared_buffers=64MB',
  // Parallel queries need /dev/shm, which containers cap at 64 MB, and cores that a small machine does not have.
  'max_parallel_workers_per_gather=0',
  'max_parallel_maintenance_workers=0',
  // Saves three I/O worker processes, which help with large scans only.
  'io_method=sync',
  // A visit of all tables each minute costs more than all else that a gateway without calls does.
  'autovacuum_naptime=3min',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_line_prefix=%m [%p] ',
];

/** unique_violation, duplicate_database, duplicate_object */
const ALREADY_EXISTS = ['23505', '42P04', '42710'];

const PART_PREFIX = 'postgres.part-';

/** Creates the cluster if there is none; otherwise checks that these binaries can read it. */
export async function prepareCluster(
  location: DataLocation,
  binaries: Binaries,
  options: { transport: Transport; durable: boolean },
): Promise<void> {
  await removeParts(location.directory);
  const version = (await readIfExists(join(location.cluster, 'PG_VERSION')))?.trim();
  if (version === binaries.major) return;
  if (version !== undefined) {
    throw new EmbeddedUnavailable(
      `The database in ${location.cluster} was created by PostgreSQL ${version}, and this version of Dragoman ` +
        `includes ${binaries.major}. Export it with the version that created it and import it here, or set DATABASE_URL.`,
    );
  }
  // In a separate folder until it is complete, so that an interrupted initdb leaves no partial cluster.
  const part = join(location.directory, `${PART_PREFIX}${randomBytes(4).toString('hex')}`);
  try {
    await createOwnedDirectory(location, part);
    await runInitdb(location, binaries, part, options);
    await rename(part, location.cluster);
  } catch (error) {
    await removeTree(part).catch(() => undefined);
    throw error;
  }
}

/** Undefined with unix sockets, which need no password. */
export async function passwordOf(location: DataLocation, transport: Transport): Promise<string | undefined> {
  if (transport === 'socket') return undefined;
  const known = await readIfExists(location.password);
  if (known !== undefined) return known.trim();
  const password = randomBytes(24).toString('base64url');
  await writeFile(location.password, `${password}\n`, { flag: 'wx', mode: 0o600 });
  // initdb reads it, and does not run as root.
  if (location.osUser !== undefined) await chown(location.password, location.osUser.uid, location.osUser.gid);
  return password;
}

/** Creates the role and the database if they are missing, also after a first start that was interrupted. */
export async function ensureDatabase(client: Client, password: string | undefined): Promise<void> {
  const found = await client.query(
    `select (select count(*)::int from pg_roles where rolname = '${APPLICATION_ROLE}') as roles,
            (select count(*)::int from pg_database where datname = '${DATABASE}') as databases`,
  );
  // The password is base64url, so it needs no escaping; utility statements take no parameters.
  const secret = password === undefined ? '' : ` password '${password}'`;
  if (found.rows[0]?.roles === 0) await create(client, `create role ${APPLICATION_ROLE} login createdb${secret}`);
  if (found.rows[0]?.databases === 0) await create(client, `create database ${DATABASE} owner ${APPLICATION_ROLE}`);
}

/** The object may exist by now: the session of a killed starter completes its statement. */
async function create(client: Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    if (!ALREADY_EXISTS.includes(codeOf(error) ?? '')) throw error;
  }
}

/**
 * An initdb whose starter was killed may still write there. What cannot be removed now is removed at the next start.
 */
async function removeParts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith(PART_PREFIX)) await removeTree(join(directory, name)).catch(() => undefined);
  }
}

function removeTree(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

async function createOwnedDirectory(location: DataLocation, directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  await chmod(directory, 0o700);
  if (location.osUser !== undefined) await chown(directory, location.osUser.uid, location.osUser.gid);
}

async function runInitdb(
  location: DataLocation,
  binaries: Binaries,
  directory: string,
  options: { transport: Transport; durable: boolean },
): Promise<void> {
  // Creates the password file, which initdb reads.
  const password = await passwordOf(location, options.transport);
  const settings = TUNING.flatMap((setting) => ['--set', setting]);
  const access =
    password === undefined
      ? ['--auth-local=trust', '--auth-host=reject']
      : ['--auth-local=reject', '--auth-host=scram-sha-256', `--pwfile=${location.password}`];
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
  const ran = await runProgram(binaries.initdb, args, { cwd: directory, osUser: location.osUser });
  if (!ran.ok)
    throw embeddedFailure(`The database could not be created in ${location.directory}`, { evidence: ran.output });
}
