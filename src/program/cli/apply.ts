/** `dragoman apply FILE`: makes the configuration match a file. */
import { Command } from 'commander';
import * as setup from '../../catalog/setup/index.ts';
import { CliError } from '../server/index.ts';
import { isEmpty, readSetup, reportApplied, STDIN } from './config-file.ts';
import { BY_CLI, withContext } from './context.ts';
import { confirm, info, print } from './output.ts';

interface Options extends Partial<Record<'prune' | 'dryRun' | 'diff' | 'yes', boolean>> {
  readonly confirm?: string;
}

/** Exit code of a difference; 1 is an error. */
const DIFFERS = 2;

export const applyCommand = (): Command =>
  new Command('apply')
    .description('make groups, accounts, models, users, keys and characters match a YAML or JSON file')
    .argument('<file>', 'its path, or - for standard input')
    .option('--dry-run', 'show what would change, change nothing')
    .option('--diff', `show every field that would change, change nothing; ends with ${DIFFERS} if there is one`)
    .option('--prune', 'also remove objects that the file does not name (users stay, keys are revoked)')
    .option(
      '--yes',
      'do not ask for confirmation before pruning, or before prices of models that the file does not name change',
    )
    .option('--confirm <n>', 'how many objects --prune removes, where that is more than it keeps')
    .action(async (path: string, options: Options) => {
      const file = await readSetup(path);
      if (isEmpty(file) && !options.prune) return;
      await withContext(async ({ database, secrets }) => {
        const prune = options.prune === true;
        const confirmed = options.confirm === undefined ? undefined : Number(options.confirm);
        const apply = (more: Pick<setup.ApplyOptions, 'dryRun' | 'refuseRepricing' | 'refuseRemoval'>) =>
          setup
            .applySetup(database.db, file, { secrets, prune, by: BY_CLI, refuseRemoval: { confirmed }, ...more })
            .catch(explainRemoval);
        if (options.diff) return showDiff(await apply({ dryRun: true }), path);
        if (options.yes && !options.dryRun) return reportApplied(await apply({}), { path });
        const planned = await apply({ dryRun: true });
        const reprices = planned.effects.some(setup.isUnnamedRepricing);
        const needsConsent = prune || reprices;
        if (options.dryRun || needsConsent) reportApplied(planned, { path, isDryRun: true });
        if (options.dryRun) return;
        const mass = planned.removal && setup.isMass(planned.removal) ? planned.removal.removed : undefined;
        const isNumbered = mass !== undefined && mass !== confirmed;
        if (needsConsent && !(await isConfirmed(path, prune, isNumbered ? String(mass) : undefined)))
          return info('Nothing was changed.');
        reportApplied(await apply({ refuseRepricing: !reprices, refuseRemoval: { confirmed: mass } }), { path });
      });
    });

/** The fields go to standard output, the rest to standard error. */
function showDiff(planned: setup.Applied, path: string): void {
  for (const { object, fields } of planned.diff) {
    print(object);
    for (const { field, before = '(none)', after = '(none)' } of fields) print(`  ${field}: ${before} -> ${after}`);
  }
  reportApplied(planned, { path, isDryRun: true });
  if (planned.changes.length > 0) process.exitCode = DIFFERS;
}

/** A file that lacks a part would remove what is missing: the operator names the number. */
function explainRemoval(error: unknown): never {
  if (!(error instanceof setup.RemovalError)) throw error;
  throw new CliError(
    `Nothing was changed: --prune ${error.lines[0]}. If this is intended, add --confirm ${error.removal.removed}.`,
  );
}

async function isConfirmed(path: string, prune: boolean, expected: string | undefined): Promise<boolean> {
  if (path === STDIN || !process.stdin.isTTY)
    throw new CliError(
      prune
        ? '--prune needs confirmation; pass --yes when not on a terminal.'
        : 'Nothing was changed: prices of models that the file does not name would change. Name them, or pass --yes.',
    );
  return confirm(prune ? 'Apply this, removals included?' : 'Apply this, prices of unnamed models included?', expected);
}
