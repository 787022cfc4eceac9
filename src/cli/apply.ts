/** `dragoman apply FILE`: makes the configuration match a file. */
import { Command } from 'commander';
import { CliError } from '../server/index.ts';
import { applySetup, isUnnamedRepricing } from '../setup/index.ts';
import { isEmpty, readSetup, reportApplied } from './config-file.ts';
import { BY_CLI, withContext } from './context.ts';
import { confirm, info } from './output.ts';

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
    .option(
      '--yes',
      'do not ask for confirmation before pruning, or before prices of models that the file does not name change',
    )
    .action(async (path: string, options: Options) => {
      const file = await readSetup(path);
      if (isEmpty(file) && !options.prune) return;
      await withContext(async ({ database, secrets }) => {
        const prune = options.prune === true;
        const apply = (more: { readonly dryRun?: boolean; readonly refuseRepricing?: boolean }) =>
          applySetup(database.db, file, { secrets, prune, by: BY_CLI, ...more });
        if (options.yes && !options.dryRun) return reportApplied(await apply({}), { path });
        const planned = await apply({ dryRun: true });
        const reprices = planned.effects.some(isUnnamedRepricing);
        const needsConsent = prune || reprices;
        if (options.dryRun || needsConsent) reportApplied(planned, { path, isDryRun: true });
        if (options.dryRun) return;
        if (needsConsent && !(await isConfirmed(prune))) return info('Nothing was changed.');
        reportApplied(await apply({ refuseRepricing: !reprices }), { path });
      });
    });

async function isConfirmed(prune: boolean): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CliError(
      prune
        ? '--prune needs confirmation; pass --yes when not on a terminal.'
        : 'Nothing was changed: prices of models that the file does not name would change. Name them, or pass --yes.',
    );
  return confirm(prune ? 'Apply this, removals included?' : 'Apply this, prices of unnamed models included?');
}
