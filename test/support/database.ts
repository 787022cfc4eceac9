/** A database of its own for every test file that asks, copied from the migrated template in some 30 ms. */
import { randomBytes } from 'node:crypto';
import { connect } from '../../src/db/index.ts';

export const TEMPLATE = 'dragoman_template';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

export async function testDatabase(): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server)
    throw new Error('Run tests through "npm test" (one file: npm test -- path), which starts PostgreSQL for them.');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = async (statement: string): Promise<void> => {
    const client = await connect(server);
    await client.query(statement).finally(() => client.end());
  };
  await admin(`create database ${name} template ${TEMPLATE}`);
  return { url: withDatabase(server, name), drop: () => admin(`drop database if exists ${name} with (force)`) };
}

export function withDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}
