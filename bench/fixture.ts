/** Fixture of the single-process benchmarks: a temporary database with a user whose balance never runs out. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { KeyCache } from '../src/access/keys/index.ts';
import { loadCatalog } from '../src/catalog/index.ts';
import { applySetup, parseSetup } from '../src/catalog/setup/index.ts';
import { silentLog } from '../src/core/index.ts';
import type { Caller } from '../src/gateway/index.ts';
import { loadConfig } from '../src/platform/config.ts';
import type { Db } from '../src/platform/db/index.ts';
import { type AppContext, openContext } from '../src/program/server/index.ts';
import { createWorkFolder } from './target.ts';

export interface BenchFixture {
  readonly context: AppContext;
  readonly caller: Caller;
  readonly catalog: Awaited<ReturnType<typeof loadCatalog>>;
  close(): Promise<void>;
}

const TOKEN = 'bench-key-for-the-messages-group';
const SETUP = {
  groups: [{ id: 'messages', style: 'messages' }],
  models: [
    {
      id: 'bench-*',
      groups: ['messages'],
      prices: { input: '3', cached_input: '0.3', cache_write: '3.75', output: '15' },
    },
  ],
  users: [{ id: 'bench', balance: '1000000' }],
  // Limits so high that they are counted but never reached.
  keys: [{ user: 'bench', group: 'messages', name: 'bench', key: TOKEN, rpm: 2e9, tpm: 2e9, concurrency: 100_000 }],
};

/** With `env`, settings beyond those of every fixture. */
export async function openBenchFixture(env: Readonly<Record<string, string>> = {}): Promise<BenchFixture> {
  const folder = createWorkFolder();
  const context = await openContext(loadConfig({ DATA_DIR: join(folder, 'data'), DEMO: 'off', ...env }), {
    log: silentLog,
  });
  const close = async (): Promise<void> => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { context, ...(await prepare(context)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepare(context: AppContext): Promise<Pick<BenchFixture, 'caller' | 'catalog'>> {
  const { db } = context.database;
  await applySetup(db, parseSetup(JSON.stringify(SETUP)), { secrets: context.secrets });
  const catalog = await loadCatalog(db, context.sealer, silentLog);
  const key = await new KeyCache(db, context.secrets.pepper, context.clock).find(TOKEN);
  const group = catalog.group('messages');
  if (!key || group?.style !== 'messages') throw new Error('the setup of the benchmark is invalid');
  return { caller: { key, group: { ...group, style: group.style } }, catalog };
}

/** CPU time of all threads of this process, in microseconds. */
export const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** What the database has done so far: committed transactions, and the position in the write-ahead log in bytes. */
export async function writtenBy(db: Db): Promise<{ transactions: number; bytes: number }> {
  const { rows } = await sql<{ transactions: number; bytes: number }>`
    select (select xact_commit from pg_stat_database where datname = current_database())::float8 as transactions,
      pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`.execute(db);
  return rows[0] ?? { transactions: 0, bytes: 0 };
}
