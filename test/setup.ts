/** Global setup of a test run: one PostgreSQL without fsync, and the template databases that test files copy. */
import { connect, type Embedded, joinEmbedded, migrate } from '../src/platform/db/index.ts';
import { SERVED_TEMPLATE, TEMPLATE, withDatabase } from './support/database.ts';
import { createFolder, removeFolder } from './support/embedded.ts';

let dataDir: string;
let embedded: Embedded;

export async function globalSetup(): Promise<void> {
  dataDir = await createFolder();
  embedded = await joinEmbedded({ dataDir, durable: false });
  process.env.TEST_DATABASE_URL = embedded.url;
  const client = await connect(embedded.url);
  await client.query(`create database ${TEMPLATE}`);
  await migrate(withDatabase(embedded.url, TEMPLATE));
  await client.query(`create database ${SERVED_TEMPLATE} template ${TEMPLATE}`);
  await client.end();
  await createPartitions(withDatabase(embedded.url, SERVED_TEMPLATE));
}

/** Those that every gateway creates as it starts. Copying them is cheaper. */
async function createPartitions(url: string): Promise<void> {
  const client = await connect(url);
  await client.query(`
    select request_day(today), request_day(today + 1), usage_month(today), usage_month((today + interval '1 month')::date)
    from (select (now() at time zone 'UTC')::date) as days (today)`);
  await client.end();
}

export async function globalTeardown(): Promise<void> {
  await embedded.leave();
  await removeFolder(dataDir, embedded.directory);
}
