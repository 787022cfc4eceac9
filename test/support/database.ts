/** A separate database for each test file, copied from the migrated template in about 30 ms. */
import { randomBytes } from 'node:crypto';
import { connect } from '../../src/db/index.ts';
import { until } from './wait.ts';

export const TEMPLATE = 'dragoman_template';

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
  await admin(`create database ${name} template ${template}`);
  const url = withDatabase(server, name);
  return {
    url,
    async drop() {
      const faults = await findFaults(url);
      await until(
        'the end of autovacuum in the database',
        () => admin(`drop database if exists ${name} with (force)`).then(() => true, isInMaintenance),
        30_000,
      );
      if (faults.length > 0) throw new Error(`The ledger does not add up at the end:\n  ${faults.join('\n  ')}`);
    },
  };
}

const NO_SUCH_DATABASE = '3D000';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Only a superuser may end a worker of autovacuum, which ends by itself soon. Other errors are thrown. */
function isInMaintenance(error: Error & { code?: string }): false {
  if (error.code !== INSUFFICIENT_PRIVILEGE) throw error;
  return false;
}

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
