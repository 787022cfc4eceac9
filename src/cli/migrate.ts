/** `dragoman migrate`: brings the database up to this version. `serve` does it too; a release pipeline may want it first. */
import { Command } from 'commander';
import { isMigrated } from '../db/index.ts';
import { withContext } from './context.ts';
import { info } from './output.ts';

export const migrateCommand = (): Command =>
  new Command('migrate').description('bring the database up to this version').action(() =>
    withContext(async ({ database }) => {
      info(
        (await isMigrated(database.db))
          ? 'The database is up to date.'
          : 'The database could not be brought up to date.',
      );
    }),
  );
