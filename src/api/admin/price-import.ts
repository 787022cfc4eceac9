/**
 * Import of prices from the public list in two steps: the plan, then its application if nothing has changed meanwhile.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import * as setup from '../../catalog/setup/index.ts';
import { fail, failAt, parsePpm } from '../../core/index.ts';
import { line, type PriceImport } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { flags } from './query-params.ts';

const FACTOR_EXPECTED = 'a decimal factor in quotes, for example "1.25"';

const ImportBody = z.strictObject({
  group: line(64, 'only models of this group').optional(),
  model: line(200, 'only this model, spelled as in the configuration').optional(),
  provider: line(64, 'provider of the list, instead of the one derived from accounts and style').optional(),
  multiplier: z
    .string()
    .refine((text) => parsePpm(text) !== undefined, FACTOR_EXPECTED)
    .describe('factor on the prices of the provider; "1" by default')
    .default('1'),
  plan: line(64, '`plan` of the dry run that was looked at').optional(),
  force: z.boolean().describe('also applies changes by more than ten times, to zero, or to no price').default(false),
});

/** The list of the package and the catalog decide the plan, so the same plan has the same name. */
const nameOf = ({ changes }: setup.ImportPlan): string =>
  createHash('sha256')
    .update(JSON.stringify(changes.map(({ modelId, ...change }) => ({ ...change, modelId: String(modelId) }))))
    .digest('hex')
    .slice(0, 32);

function expectSeen(plan: setup.ImportPlan, seen: string | undefined): void {
  if (seen === undefined)
    throw failAt('invalid_request', 'plan', 'missing; send the plan of a request with dry_run=true.');
  if (seen !== nameOf(plan))
    throw failAt('conflict', 'plan', 'prices changed since the dry run; nothing was applied. Look at a new dry run.');
}

function expectForce({ changes }: setup.ImportPlan, isForced: boolean): void {
  const suspicious = changes.flatMap((change) => change.changes.filter(({ isSuspicious }) => isSuspicious)).length;
  if (suspicious > 0 && !isForced)
    throw failAt(
      'conflict',
      'force',
      `${suspicious} rates would change by more than ten times or disappear; nothing was applied. Send force: true to apply them.`,
    );
}

function rejectImport(error: unknown): never {
  throw error instanceof setup.ImportError ? fail('invalid_request', error.message, { cause: error }) : error;
}

const planView = (plan: setup.ImportPlan): Omit<PriceImport, 'object' | 'dry_run'> => ({
  plan: nameOf(plan),
  changes: plan.changes.map(({ group, model, source, from, rates, cost, changes }) => ({
    group,
    model,
    source,
    valid_from: from ?? null,
    prices: { ...rates },
    cost: { ...cost },
    rates: changes.map(({ rate, before, after, isSuspicious }) => ({
      rate,
      before,
      after,
      suspicious: isSuspicious,
    })),
  })),
  unchanged: plan.unchanged,
  remarks: plan.remarks,
  skipped: plan.skipped,
});

export const PRICE_IMPORT_OPERATIONS = {
  'admin.importPrices': operation({
    query: z.strictObject({ dry_run: flags.dry_run }),
    body: ImportBody,
    async handle({ query, by, body }, { db, clock }) {
      const { group, model, provider, multiplier } = body;
      const multiplierPpm = BigInt(parsePpm(multiplier) ?? 0);
      const options: setup.ImportOptions = { group, model, provider, multiplierPpm, now: clock.now() };
      const plan = await setup.planImport(db, options).catch(rejectImport);
      const isDryRun = query.dry_run === 'true';
      if (!isDryRun) {
        expectSeen(plan, body.plan);
        expectForce(plan, body.force);
        await setup.applyImport(db, plan, options, by).catch(rejectImport);
      }
      return { object: 'price_import', dry_run: isDryRun, ...planView(plan) };
    },
  }),
};
