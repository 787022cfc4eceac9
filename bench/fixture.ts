/** What the measurements inside of one process need: a database of their own with a user who never runs out of money. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalog } from '../src/catalog/index.ts';
import { loadConfig } from '../src/config.ts';
import { silentLog } from '../src/core/index.ts';
import type { Caller } from '../src/gateway/index.ts';
import { KeyCache } from '../src/identity/index.ts';
import { type AppContext, openContext } from '../src/main.ts';
import { applySetup, parseSetup } from '../src/setup/index.ts';

export interface BenchGround {
  readonly ground: AppContext;
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
  // Limits that are counted and never reached.
  keys: [{ user: 'bench', group: 'messages', name: 'bench', key: TOKEN, rpm: 2e9, tpm: 2e9, concurrency: 100_000 }],
};

export async function openBenchGround(): Promise<BenchGround> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-bench-'));
  // PostgreSQL refuses to run as root, and its substitute must be able to pass through.
  chmodSync(folder, 0o711);
  const ground = await openContext(loadConfig({ DATA_DIR: join(folder, 'data'), DEMO: 'off' }), { log: silentLog });
  const close = async (): Promise<void> => {
    await ground.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { ground, ...(await fill(ground)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fill(ground: AppContext): Promise<Pick<BenchGround, 'caller' | 'catalog'>> {
  const { db } = ground.database;
  await applySetup(db, parseSetup(JSON.stringify(SETUP)), { secrets: ground.secrets });
  const catalog = await loadCatalog(db, ground.sealer, silentLog);
  const key = await new KeyCache(db, ground.secrets.pepper, ground.clock).find(TOKEN);
  const group = catalog.group('messages');
  if (!key || group?.style !== 'messages') throw new Error('the setup of the benchmark is not what it should be');
  return { caller: { key, group: { ...group, style: group.style } }, catalog };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** CPU time of all threads of this process, in microseconds. */
export const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
