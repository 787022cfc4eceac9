/**
 * `dragoman migrate`: brings the schema of the database up to date. `serve` migrates too; a release pipeline may run it
 * first.
 */
import { Command } from 'commander';
import { isMigrated } from '../../platform/db/index.ts';
import { CliError } from '../server/index.ts';
import { withContext } from './context.ts';
import { info } from './output.ts';

export const migrateCommand = (): Command =>
  new Command('migrate').description('bring the schema of the database up to date').action(() =>
    // Opening the context migrates.
    withContext(async ({ database }) => {
      if (!(await isMigrated(database.db)))
        throw new CliError('The database could not be brought up to date; run "dragoman doctor".');
      info('The database is up to date.');
    }),
  );
