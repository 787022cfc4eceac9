/** `dragoman apply FILE`: makes the configuration match a file. */
import { Command } from 'commander';
import { CliError } from '../main.ts';
import { applySetup } from '../setup/index.ts';
import { isEmpty, readSetup, reportApplied } from './config-file.ts';
import { BY_CLI, withContext } from './context.ts';
import { info } from './output.ts';
import { confirm } from './prompt.ts';

interface Options {
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const applyCommand = (): Command =>
  new Command('apply')
    .description('make groups, accounts, models, users, keys and characters match a YAML or JSON file')
    .argument('<file>')
    .option('--dry-run', 'show what would change, change nothing')
    .option('--prune', 'also remove objects that the file does not name (users stay, keys are revoked)')
    .option('--yes', 'do not ask for confirmation before pruning')
    .action(async (path: string, options: Options) => {
      const file = await readSetup(path);
      if (isEmpty(file) && !options.prune) return;
      await withContext(async ({ database, secrets }) => {
        const apply = (dryRun: boolean) =>
          applySetup(database.db, file, { secrets, prune: options.prune === true, dryRun, by: BY_CLI });
        if (options.dryRun || (options.prune && !options.yes))
          reportApplied(await apply(true), { path, isDryRun: true });
        if (options.dryRun) return;
        if (options.prune && !options.yes && !(await isConfirmed())) return info('Nothing was changed.');
        reportApplied(await apply(false), { path });
      });
    });

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CliError('--prune needs confirmation; pass --yes when not on a terminal.');
  return confirm('Apply this, removals included?');
}
