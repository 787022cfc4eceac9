/** A separate database for each test file, copied from a template in about 20 ms. */
import { randomBytes } from 'node:crypto';
import { connect } from '../../src/platform/db/index.ts';

/** Migrated. */
export const TEMPLATE = 'dragoman_template';
/** Also with the partitions of today. */
export const SERVED_TEMPLATE = 'dragoman_served_template';

export interface TestDatabase {
  readonly url: string;
  /** Drops the database. Fails afterwards when its ledger did not add up, whatever the file tests. */
  drop(): Promise<void>;
}

/** A database without tables. */
export const emptyDatabase = (): Promise<TestDatabase> => testDatabase('template1');

export async function testDatabase(template = TEMPLATE): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server)
    throw new Error('Run tests through "npm test" (one file: npm test -- path), which starts PostgreSQL for them.');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = async (statement: string): Promise<void> => {
    const client = await connect(server);
    await client.query(statement).finally(() => client.end());
  };
  // Copies the files. Writing them to the log, as PostgreSQL does otherwise, takes four times as long.
  await admin(`create database ${name} template ${template} strategy file_copy`);
  const url = withDatabase(server, name);
  return {
    url,
    async drop() {
      const faults = await findFaults(url);
      await admin(`drop database if exists ${name} with (force)`);
      if (faults.length > 0) throw new Error(`The ledger does not add up at the end:\n  ${faults.join('\n  ')}`);
    },
  };
}

const NO_SUCH_DATABASE = '3D000';

/** Returns nothing when a test has dropped the database already, or left it without tables. */
async function findFaults(url: string): Promise<string[]> {
  const client = await connect(url).catch((error: Error & { code?: string }) => {
    if (error.code !== NO_SUCH_DATABASE) throw error;
  });
  if (!client) return [];
  try {
    const { rows: ledgers } = await client.query(`select from pg_proc where proname = 'ledger_faults'`);
    if (ledgers.length === 0) return [];
    const { rows } = await client.query<Record<string, string>>('select * from ledger_faults()');
    return rows.map(
      ({ fault, subject, expected, found }) => `${fault}: ${subject}, ${expected} expected, ${found} found`,
    );
  } finally {
    await client.end();
  }
}

export function withDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}
