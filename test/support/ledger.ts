/** A database and a folder for journals, for one file of tests; the ledger is checked when they go. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, type Db, openDatabase } from '../../src/db/index.ts';
import { testDatabase } from './database.ts';

export interface LedgerBed {
  readonly url: string;
  readonly database: Database;
  readonly db: Db;
  readonly dir: string;
  close(): Promise<void>;
}

export async function openLedgerBed(connections?: number): Promise<LedgerBed> {
  const { url, drop } = await testDatabase();
  const database = openDatabase(url, connections);
  const dir = mkdtempSync(join(tmpdir(), 'dragoman-ledger-'));
  return {
    url,
    database,
    db: database.db,
    dir,
    async close() {
      await database.close();
      rmSync(dir, { recursive: true, force: true });
      await drop();
    },
  };
}
