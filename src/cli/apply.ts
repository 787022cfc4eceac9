/** `dragoman apply FILE`: makes the configuration match a file. */
import { Command } from 'commander';
import { CliError } from '../main.ts';
import { type Applied, applySetup, parseSetup } from '../setup/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';
import { confirm } from './prompt.ts';
import { readSetup } from './serve.ts';

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
    .option('--prune', 'also remove what the file does not name (users stay, keys are revoked)')
    .option('--yes', 'do not ask before pruning')
    .action(async (path: string, options: Options) => {
      const file = parseSetup(await readSetup(path));
      await withContext(async ({ database, secrets }) => {
        const apply = (dryRun: boolean) =>
          applySetup(database.db, file, { secrets, prune: options.prune === true, dryRun, by: BY_CLI });
        if (options.dryRun || (options.prune && !options.yes)) reportApplied(await apply(true), 'would be ');
        if (options.dryRun) return;
        if (options.prune && !options.yes && !(await isConfirmed())) return info('Nothing was changed.');
        reportApplied(await apply(false));
      });
    });

export function reportApplied({ changes, keys }: Applied, verb = ''): void {
  for (const { what, object } of changes) info(`  ${object} ${verb}${what}`);
  info(
    changes.length === 0
      ? 'The configuration matches already.'
      : `${changes.length} ${changes.length === 1 ? 'object' : 'objects'} ${verb || ''}touched.`,
  );
  if (verb !== '') return;
  for (const key of keys) {
    info(`Key ${key.name} of ${key.user} for ${key.group}, shown this once:`);
    print(key.token);
  }
}

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CliError('Pruning asks first; add --yes where nobody can answer.');
  return confirm('Apply this, removals included?');
}
