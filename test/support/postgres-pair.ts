/**
 * A PostgreSQL primary with a synchronous standby, from the programs of the embedded database. The standby is promoted
 * when the primary is killed, and a new standby takes the place of the old primary.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../bench/child.ts';
import { type Binaries, prepareBinaries } from '../../src/platform/db/embedded/binaries.ts';
import { type OsUser, osUserFor } from '../../src/platform/db/embedded/os-user.ts';
import { cleanEnvironment } from '../../src/platform/db/embedded/process.ts';
import { connect } from '../../src/platform/db/index.ts';
import { createFolder, familyOf, removeFolder } from './embedded.ts';
import { until } from './wait.ts';

/** Why there is no pair; false where it can run. */
export const noPostgresPair: string | false =
  process.platform !== 'linux' && 'the base backup of this test uses the tar of Linux';

const DATABASE = 'dragoman';
const USER = 'postgres';

class PostgresNode {
  readonly directory: string;
  readonly port: number;
  readonly #binaries: Binaries;
  readonly #osUser: OsUser | undefined;
  #child: ChildProcess | undefined;

  constructor(directory: string, port: number, binaries: Binaries, osUser: OsUser | undefined) {
    this.directory = directory;
    this.port = port;
    this.#binaries = binaries;
    this.#osUser = osUser;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  url(database: string): string {
    return `postgres://${USER}@${this.address}/${database}`;
  }

  /** An empty folder that PostgreSQL accepts. */
  clear(): void {
    rmSync(this.directory, { recursive: true, force: true });
    mkdirSync(this.directory, { mode: 0o700 });
    this.#own(this.directory);
  }

  create(): void {
    this.clear();
    const args = [`--pgdata=${this.directory}`, `--username=${USER}`, '--auth=trust', '--no-sync', '--no-instructions'];
    execFileSync(this.#binaries.initdb, args, { cwd: '/', env: cleanEnvironment(), stdio: 'pipe', ...this.#osUser });
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.directory, name), text, { mode: 0o600 });
    this.#own(join(this.directory, name));
  }

  async start(): Promise<void> {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=200',
      'wal_keep_size=512MB',
      'hot_standby=on',
      // Processes are killed, not machines.
      'fsync=off',
    ];
    const log = openSync(`${this.directory}.log`, 'a');
    this.#child = spawn(this.#binaries.postgres, ['-D', this.directory, ...settings.flatMap((one) => ['-c', one])], {
      cwd: '/',
      env: cleanEnvironment(),
      stdio: ['ignore', log, log],
      ...this.#osUser,
    });
    closeSync(log);
    await until('PostgreSQL to start', () => this.query('select 1').then(Boolean, () => false)).catch(
      (error: unknown) => {
        throw new Error(readFileSync(`${this.directory}.log`, 'utf8').slice(-2_000), { cause: error });
      },
    );
  }

  async query(statement: string, database = 'postgres'): Promise<readonly unknown[][]> {
    const client = await connect(this.url(database));
    try {
      return (await client.query<unknown[]>({ text: statement, rowMode: 'array' })).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Kills all its processes, as a crash of the machine does. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    for (const pid of familyOf(child.pid)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    await exited;
  }

  #own(path: string): void {
    if (this.#osUser) chownSync(path, this.#osUser.uid, this.#osUser.gid);
  }
}

export class PostgresPair {
  readonly #folder: string;
  #primary: PostgresNode;
  #standby: PostgresNode;

  static async start(): Promise<PostgresPair> {
    const folder = await createFolder();
    chmodSync(folder, 0o755);
    const osUser = await osUserFor(folder);
    const binaries = await prepareBinaries(folder, osUser);
    const [primary, standby] = await Promise.all(
      ['a', 'b'].map(async (name) => new PostgresNode(join(folder, name), await freePort(), binaries, osUser)),
    );
    if (!primary || !standby) throw new Error('there are two nodes');
    const pair = new PostgresPair(folder, primary, standby);
    primary.create();
    await primary.start();
    await primary.query(`create database ${DATABASE}`);
    await pair.rebuildStandby();
    return pair;
  }

  private constructor(folder: string, primary: PostgresNode, standby: PostgresNode) {
    this.#folder = folder;
    this.#primary = primary;
    this.#standby = standby;
  }

  /** Both servers. */
  get url(): string {
    const hosts = [this.#primary, this.#standby].map(({ address }) => address).sort();
    return `postgres://${USER}@${hosts.join(',')}/${DATABASE}?target_session_attrs=read-write`;
  }

  async killPrimary(): Promise<void> {
    await this.#primary.kill();
  }

  /** The standby becomes the primary, alone. */
  async promote(): Promise<void> {
    await this.#standby.query('select pg_promote(true, 60)');
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /** Makes the other server a synchronous standby of the primary, from a new base backup. */
  async rebuildStandby(): Promise<void> {
    const [primary, standby] = [this.#primary, this.#standby];
    standby.clear();
    const session = await connect(primary.url('postgres'));
    try {
      await session.query(`select pg_backup_start('pair', true)`);
      const excluded = ['./pg_wal/*', './postmaster.*', './postgresql.auto.conf'].map((name) => `--exclude='${name}'`);
      // Files that vanish while they are copied are not part of the backup, which tar reports as an error.
      execFileSync('sh', [
        '-c',
        `tar -C '${primary.directory}' ${excluded.join(' ')} -cf - . 2>/dev/null | tar -C '${standby.directory}' -xpf -`,
      ]);
      const { rows } = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
      standby.write('backup_label', rows[0]?.labelfile ?? '');
    } finally {
      await session.end();
    }
    standby.write('standby.signal', '');
    const conninfo = `host=127.0.0.1 port=${primary.port} user=${USER}`;
    standby.write('postgresql.auto.conf', `primary_conninfo = '${conninfo}'\n`);
    await standby.start();
    await primary.query(`alter system set synchronous_standby_names = '*'`);
    await primary.query('select pg_reload_conf()');
    await until(
      'the standby to be synchronous',
      async () => (await primary.query('select sync_state from pg_stat_replication'))[0]?.[0] === 'sync',
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.#primary.kill(), this.#standby.kill()]);
    await removeFolder(this.#folder);
  }
}
