/** `dragoman prices import | list`: imports prices from the public price list, and lists the current ones. */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { sql } from 'kysely';
import * as setup from '../../catalog/setup/index.ts';
import { parseNanos, parsePpm } from '../../core/index.ts';
import type { Row } from '../../platform/db/index.ts';
import { type AppContext, CliError } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { firstLineOf } from './finding.ts';
import { confirm, info, print } from './output.ts';

interface Options
  extends Partial<Record<'group' | 'model' | 'provider' | 'list', string>>,
    Partial<Record<'dryRun' | 'yes' | 'force', boolean>> {
  readonly multiplier: string;
}

export const pricesCommand = (): Command =>
  new Command('prices').description('prices of models').addCommand(importCommand()).addCommand(listCommand());

const importCommand = (): Command =>
  new Command('import')
    .description(
      'import prices for configured models from a public list; shows the changes and asks before it applies them',
    )
    .option('--group <id>', 'only models of this group')
    .option('--model <name>', 'only this model, spelled as in the configuration')
    .option('--provider <id>', 'provider of the list, instead of the one derived from accounts and style')
    .option('--multiplier <factor>', 'factor on the prices of the provider', '1')
    .option('--list <file>', 'a price list in the JSON form of LiteLLM, instead of the public list of the package')
    .option('--dry-run', 'show what would change, change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--force', 'also apply changes by more than ten times, to zero, or to no price')
    .action((options: Options) => withContext((context) => importPrices(context, options)));

async function importPrices({ database: { db }, clock }: AppContext, options: Options): Promise<void> {
  const ppm = parsePpm(options.multiplier);
  if (ppm === undefined)
    throw new CliError(`--multiplier: found "${options.multiplier}", expected a decimal factor such as 1.25.`);
  const { group, model, provider } = options;
  const list = options.list === undefined ? undefined : await readList(options.list);
  const input: setup.ImportOptions = { group, model, provider, list, multiplierPpm: BigInt(ppm), now: clock.now() };
  const plan = await setup.planImport(db, input);
  show(plan);
  if (plan.changes.length + plan.limits.length === 0 || options.dryRun) return;
  const suspicious = plan.changes.flatMap(({ changes }) => changes.filter(({ isSuspicious }) => isSuspicious)).length;
  if (suspicious > 0 && !options.force)
    throw new CliError(
      `${suspicious} ${suspicious === 1 ? 'rate' : 'rates'} marked ! would change by more than ten times or disappear; nothing was changed. Use --force to apply them.`,
    );
  if (!options.yes && !process.stdin.isTTY) return info('Nothing was changed; use --yes to apply this.');
  if (!options.yes && !(await confirm('Apply these prices?'))) return info('Nothing was changed.');
  await setup.applyImport(db, plan, input, BY_CLI);
  info(
    `${plan.changes.length} ${plan.changes.length === 1 ? 'price' : 'prices'} applied; earlier charges keep their prices.`,
  );
}

async function readList(file: string) {
  try {
    return setup.parseLitellmList(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CliError(`--list: ${file} is not a price list in the form of LiteLLM: ${firstLineOf(error)}`);
  }
}

function show({ changes, limits, unchanged, remarks, skipped }: setup.ImportPlan): void {
  for (const change of changes) {
    const { group, model, source, from } = change;
    print(`${model} of ${group}, from ${source}${from === undefined ? '' : `, beginning ${from.slice(0, 10)}`}`);
    for (const line of linesOf(change)) print(`  ${line}`);
  }
  for (const { group, model, context, max_output } of limits)
    print(`${model} of ${group}: context ${context ?? 'unknown'}, max_output ${max_output ?? 'unknown'}`);
  for (const remark of remarks) info(`Note: ${remark}.`);
  for (const reason of skipped) info(`Skipped: ${reason}.`);
  info(`${changes.length} to change, ${unchanged} unchanged, ${skipped.length} skipped.`);
}

function linesOf({ changes }: setup.PriceChange): string[] {
  if (changes.length === 0) return ['cost of the provider'];
  return changes.map(({ rate, before, after, isSuspicious }) =>
    [
      rate.padEnd(15),
      `${before ?? 'none'} -> ${after ?? 'none'}`,
      ...(before !== null && after !== null ? [percentOf(before, after)] : []),
      ...(isSuspicious ? ['!'] : []),
    ].join('  '),
  );
}

/** One decimal place, truncated. */
function percentOf(before: string, after: string): string {
  const [was, is] = [parseNanos(before) ?? 0n, parseNanos(after) ?? 0n];
  if (was === 0n) return '(was free)';
  const tenths = ((is - was) * 1000n) / was;
  const size = tenths < 0n ? -tenths : tenths;
  return `${is < was ? '-' : '+'}${size / 10n}.${size % 10n} %`;
}

const listCommand = (): Command =>
  new Command('list').description('list current and future prices: group, model, valid from, rates').action(() =>
    withContext(async ({ database: { db }, clock }) => {
      const now = new Date(clock.now());
      const { rows: models } = await sql<Row<'models'>>`
        select * from models order by group_id, position, id`.execute(db);
      const prices = await db.selectFrom('prices').selectAll().orderBy('valid_from').orderBy('id').execute();
      for (const { id, group_id, pattern, free } of models) {
        const own = prices.filter((row) => row.model_id === id);
        const current = own.findLast((row) => row.valid_from <= now);
        const isPriced = current !== undefined && Object.keys(current.rates as object).length > 0;
        if (!isPriced) print([group_id, pattern, free ? 'free' : 'no price', free ? '' : 'rejected'].join('\t'));
        for (const row of own.filter((price) => (isPriced && price === current) || price.valid_from > now))
          print([group_id, pattern, row.valid_from.toISOString(), ratesText(row.rates)].join('\t'));
      }
    }),
  );

const ratesText = (rates: unknown): string =>
  Object.entries(rates as object)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
