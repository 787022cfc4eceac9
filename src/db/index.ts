export { ADVISORY_LOCK } from './advisory-lock.ts';
export { connectForCopy, copyIn, copyOut } from './copy.ts';
export { checkConnection, connect, type Database, type Db, openDatabase, snapshot } from './db.ts';
export { claimServer, type Embedded, EmbeddedUnavailable, joinEmbedded } from './embedded/index.ts';
export { isMigrated, MigrationError, type MigrationState, migrate, migrateTo, readMigrationState } from './migrate.ts';
export { DatabaseUnavailable, type PoolLimits } from './pool.ts';
export type { Json, Rows } from './rows.ts';
export { streamRows } from './stream.ts';
export { type RevisionName, RevisionWatch } from './watch.ts';
