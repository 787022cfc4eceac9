/** `dragoman ledger check`: verifies every entry, which the worker does only in turn. */
import { Command } from 'commander';
import { checkAllEntries } from '../../ledger/index.ts';
import { withContext } from './context.ts';
import { info, print } from './output.ts';

export const ledgerCommand = (): Command =>
  new Command('ledger').description('balances and their entries').addCommand(checkCommand());

const checkCommand = (): Command =>
  new Command('check')
    .description('recompute every balance from all entries; takes a second or two per million entries')
    .action(() =>
      withContext(async ({ database }) => {
        const faults = await checkAllEntries(database.url);
        for (const { fault, subject, expected, found } of faults) print([fault, subject, expected, found].join('\t'));
        if (faults.length > 0) process.exitCode = 1;
        info(
          faults.length > 0
            ? 'The ledger does not add up. Back up the database and find the cause before correcting anything by hand.'
            : 'The ledger adds up.',
        );
      }),
    );
