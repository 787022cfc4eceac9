/**
 * `dragoman import new-api | one-api | sub2api | litellm`: shows what would come over from another gateway, or takes it
 * over.
 */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { linkUrl } from '../../access/people/index.ts';
import { parseNanos } from '../../core/index.ts';
import type { ForeignGateway } from '../../rules/index.ts';
import * as foreign from '../import/index.ts';
import { type AppContext, CliError, publicUrlOf } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

interface Options extends Partial<Record<'options' | 'config' | 'balance', string>> {
  readonly apply?: boolean;
  readonly dryRun?: boolean;
  readonly as: string;
}

export function sourceCommand(source: ForeignGateway, about: string): Command {
  const command = new Command(source)
    .description(
      `take over accounts, models, users, balances and keys from ${source}; by default only shows what would come`,
    )
    .argument('<source>', about)
    .option('--dry-run', 'show every object that comes over, changes or is lost; change nothing (the default)')
    .option('--apply', 'take them over, in one transaction; a second run changes nothing')
    .option('--as <name>', 'begins the names of groups and accounts; set it to take over two installations', source);
  if (source === 'new-api' || source === 'one-api')
    command.option('--options <file>', 'the response of GET /api/option/, with ratios that the database does not have');
  if (source === 'litellm')
    command
      .option('--config <file>', 'its YAML file, beside a database; LITELLM_SALT_KEY is the salt key')
      .option('--balance <dollars>', 'opening balance of users without a budget, because calls need one');
  return command.action((address: string, options: Options) =>
    withContext((context) => importSource(context, source, address, options)),
  );
}

async function importSource(context: AppContext, source: ForeignGateway, address: string, options: Options) {
  const { database, secrets, clock, config } = context;
  const dryRun = options.apply !== true || options.dryRun === true;
  const input = await inputOf(source, address, options);
  const run = await foreign
    .runImport(input, { db: database.db, secrets, now: clock.now(), by: BY_CLI, dryRun })
    .catch((error: unknown) => {
      if (!(error instanceof foreign.SourceError)) throw error;
      throw new CliError(`Nothing was imported from ${source}: ${error.message}.`, { cause: error });
    });
  show(run, dryRun);
  if (dryRun) return;
  for (const { email, link } of run.invited)
    print(`link\t${email}\t${linkUrl(publicUrlOf(config, config.PORT), link)}`);
  if (run.invited.length > 0)
    info('Send each person their link; it works once, and is shown only now. The console makes new ones.');
}

async function inputOf(source: ForeignGateway, address: string, options: Options): Promise<foreign.SourceInput> {
  if (!/^[a-z0-9][a-z0-9-]{0,19}$/.test(options.as))
    throw new CliError(`--as: found "${options.as}", expected at most 20 lower-case letters, digits and dashes.`);
  const { balance } = options;
  if (balance !== undefined && (parseNanos(balance) ?? -1n) < 0n)
    throw new CliError(`--balance: found "${balance}", expected an amount such as 10 or 2.50.`);
  const isYaml = source === 'litellm' && /\.ya?ml$/.test(address);
  const file = isYaml ? address : options.config;
  return {
    source,
    address: isYaml ? undefined : address,
    label: options.as,
    balance,
    config: file === undefined ? undefined : await readText(file),
    options: options.options === undefined ? undefined : await readText(options.options),
    saltKey: process.env.LITELLM_SALT_KEY ?? process.env.LITELLM_MASTER_KEY,
    variable: (name) => process.env[name],
  };
}

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`${path} cannot be read: ${error.message}.`, { cause: error });
  });

const OUTCOMES: readonly foreign.RowOutcome[] = ['comes', 'changes', 'lost'];

/** The table goes to standard output, the rest to standard error. */
function show({ rows, applied, invited }: foreign.ImportRun, dryRun: boolean): void {
  for (const { outcome, kind, name, note } of rows) print([outcome, kind, name, note].join('\t'));
  for (const outcome of OUTCOMES) {
    const byKind = Map.groupBy(
      rows.filter((row) => row.outcome === outcome),
      (row: foreign.ReportRow) => row.kind,
    );
    const counts = [...byKind].map(([kind, own]) => `${own.length} ${kind}`);
    info(`${outcome.padEnd(8)} ${counts.length > 0 ? counts.join(', ') : 'nothing'}`);
  }
  for (const warning of applied.warnings) info(`Warning: ${warning}`);
  const verb = dryRun ? 'would be' : 'were';
  info(`${applied.changes.length} objects and ${invited.length} people ${verb} created or changed here.`);
  if (dryRun) info('Nothing was changed; --apply takes this over.');
}
