/** Global setup of a test run: one PostgreSQL without fsync, and a migrated template database that each test file copies. */
import { connect, type Embedded, joinEmbedded, migrate } from '../src/platform/db/index.ts';
import { TEMPLATE, withDatabase } from './support/database.ts';
import { createFolder, removeFolder } from './support/embedded.ts';

let dataDir: string;
let embedded: Embedded;

export async function globalSetup(): Promise<void> {
  dataDir = await createFolder();
  embedded = await joinEmbedded({ dataDir, durable: false });
  process.env.TEST_DATABASE_URL = embedded.url;
  const client = await connect(embedded.url);
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  await migrate(withDatabase(embedded.url, TEMPLATE));
}

export async function globalTeardown(): Promise<void> {
  await embedded.leave();
  await removeFolder(dataDir, embedded.directory);
}
