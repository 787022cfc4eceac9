/**
 * `dragoman migrate`: brings the schema of the database up to date. `serve` migrates too; a release pipeline may run it
 * first.
 */
import { Command } from 'commander';
import { newerSchemaNote, readMigrationState } from '../../platform/db/index.ts';
import { withContext } from './context.ts';
import { info } from './output.ts';

export const migrateCommand = (): Command =>
  new Command('migrate').description('bring the schema of the database up to date').action(() =>
    // Opening the context migrates, or refuses.
    withContext(async ({ database }) => {
      const newer = newerSchemaNote(await readMigrationState(database.db));
      info(newer === undefined ? 'The database is up to date.' : `${newer}. Nothing was changed.`);
    }),
  );
