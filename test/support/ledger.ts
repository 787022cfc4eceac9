/** A database and a journal folder for one test file. The ledger is checked when the fixture closes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, type Db, openDatabase } from '../../src/platform/db/index.ts';
import { testDatabase } from './database.ts';

export interface LedgerFixture {
  readonly url: string;
  readonly database: Database;
  readonly db: Db;
  readonly dir: string;
  close(): Promise<void>;
}

export async function openLedgerFixture(connections?: number): Promise<LedgerFixture> {
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
