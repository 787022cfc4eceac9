export { connect, type Database, DatabaseUnavailable, type Db, openDatabase, reach, snapshot } from './db.ts';
export { claimServer, type Embedded, EmbeddedUnavailable, joinEmbedded } from './embedded/index.ts';
export { isMigrated, MigrationError, migrate } from './migrate.ts';
export type { Json, Rows } from './rows.ts';
export { streamRows } from './stream.ts';
export { type Revised, type Watch, watchRevisions } from './watch.ts';
