/**
 * The end of a background response: charged by its usage, or released, in one transaction with its row and its hold.
 */
import { sql } from 'kysely';
import type { Catalog } from '../../catalog/index.ts';
import { estimateTokens, type Nanos } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import * as ledger from '../../ledger/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import { type AttemptFailure, hasTokens } from '../billing/failed-usage.ts';
import { type ModelNames, type PricedModel, pricedUsage } from '../billing/other-models.ts';
import { chargedUsage } from '../billing/usage.ts';
import { cutText, wholeText } from '../billing/visible-text.ts';
import { usageOfResponse } from '../native/searches.ts';
import type { GatewayServices } from '../services.ts';
import { ownedIds } from '../stored/owned-ids.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OtherOfRow {
  readonly path: string;
  readonly tool?: string | undefined;
  readonly name: string;
  readonly price: string;
}

export interface BackgroundCharge {
  readonly usage: HubUsage;
  readonly replyModel?: unknown;
  /** Of an object that the provider keeps; otherwise the row was a response. */
  readonly operation?: InferenceOperation;
}

export type BackgroundRow = Row<'background_responses'>;

/** Rows that have ended are kept for questions of callers. */
const KEPT_DAYS = 7;

/** Runs the task on the locked row. False when another replica or request has ended that state meanwhile. */
export const inTransaction = (
  { db }: BackgroundServices,
  { reference, state }: Pick<BackgroundRow, 'reference' | 'state'>,
  run: (tx: Tx, row: BackgroundRow) => Promise<void>,
): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const { rows } = await sql<BackgroundRow>`
      select * from background_responses where reference = ${reference} and state = ${state} for update`.execute(tx);
    const [row] = rows;
    if (row) await run(tx, row);
    return row !== undefined;
  });

export async function releaseRow(tx: Tx, reference: string): Promise<void> {
  await ledger.release(tx, reference);
  await endRow(tx, reference, 'released');
}

const endRow = (tx: Tx, reference: string, state: 'settled' | 'released') =>
  sql`update background_responses set state = ${state}, next_check_at = now() + ${KEPT_DAYS} * interval '1 day'
      where reference = ${reference}`.execute(tx);

/** A failed response costs nothing, a cancelled one what the provider reports (ADR 13). */
export async function settleResponse(services: BackgroundServices, tx: Tx, row: BackgroundRow, response: Json) {
  const { status } = response;
  const found = usageOfResponse(response);
  const reported = found?.estimated || found?.invalid !== undefined ? undefined : found;
  const made = status === 'cancelled' ? reported : estimated(row, response, reported);
  const usage = status === 'failed' ? undefined : made;
  if (!usage) {
    if (hasTokens(reported)) {
      const { model: replyModel } = response;
      await bookFailed(services, tx, row, { usage: reported, replyModel, fault: 'failed', accountId: row.account_id });
    }
    return releaseRow(tx, row.reference);
  }
  await settleRow(services, tx, row, { usage, replyModel: response.model });
  await sql`
    update stored_responses
    set item_ids = ${ownedIds(response.output)}::text[], tokens = ${usage.input + usage.output}
    where id = ${row.response_id} and user_id = ${row.user_id}`.execute(tx);
}

export interface AttemptInVain extends Pick<BackgroundCharge, 'usage' | 'replyModel'> {
  readonly accountId: string | null;
  readonly fault: AttemptFailure;
}

/** Books what the provider bills for an attempt that failed. Nothing is charged. */
export async function bookFailed(
  services: BackgroundServices,
  tx: Tx,
  row: BackgroundRow,
  { usage, replyModel, accountId, fault }: AttemptInVain,
): Promise<void> {
  const { catalog, log } = services;
  const terms = await termsOf(tx, row, catalog());
  const of = { ...row, account_id: accountId, operation: operationOf(row, catalog()) };
  const record = recordOf(services, of, terms, { usage, replyModel, fault });
  if (record.invalid === undefined)
    await ledger.recordUsage(tx, [record], await ledger.providerCosts(tx, [record], log));
}

export async function settleRow(
  services: BackgroundServices,
  tx: Tx,
  row: BackgroundRow,
  charge: BackgroundCharge,
): Promise<Nanos> {
  const { catalog, log } = services;
  const { usage: reported, replyModel, operation = operationOf(row, catalog()) } = charge;
  const used = row.tier !== null && reported.tier === undefined ? { ...reported, tier: row.tier } : reported;
  const terms = await termsOf(tx, row, catalog());
  const record = recordOf(services, { ...row, operation }, terms, { usage: used, replyModel });
  const { settled, excess } = await ledger.settle(tx, row.reference, {
    nanos: record.nanos,
    reason: `${charge.operation ? 'cached content' : 'background response'} ${row.response_id ?? row.request_id}`,
    priceId: record.priceId,
  });
  if (!settled) return 0n;
  if (excess > 0n)
    log.warn('background.above_hold', { request: row.request_id, user: row.user_id, excess: String(excess) });
  await ledger.recordUsage(tx, [record], await ledger.providerCosts(tx, [record], log));
  await endRow(tx, row.reference, 'settled');
  return record.nanos;
}

type ChargedRow = Pick<BackgroundRow, 'user_id' | 'key_id' | 'group_id' | 'account_id' | 'model' | 'request_id'>;

/** What the usage costs on these terms. As in `Admission.settle`, an estimate never exceeds the hold. */
export function recordOf(
  { catalog, clock }: Pick<BackgroundServices, 'catalog' | 'clock'>,
  row: ChargedRow & { readonly operation: string },
  { held, ...call }: Terms,
  { usage: used, replyModel, fault }: Pick<BackgroundCharge, 'usage' | 'replyModel'> & Partial<AttemptInVain>,
): ledger.UsageRecord {
  const account = catalog().account(row.account_id, row.group_id);
  const { usage, rates, priceId, ratesOf } = pricedUsage(used, call, { account, replyModel });
  const { nanos: cost } = ledger.costOf(usage, rates, call.multipliers, ratesOf);
  const charge = usage.estimated && held !== null && cost > held ? held : cost;
  return ledger.createUsageRecord({
    id: ledger.newRecordId(),
    at: clock.now(),
    userId: row.user_id,
    keyId: row.key_id,
    groupId: row.group_id,
    accountId: row.account_id ?? '',
    requestId: row.request_id,
    model: row.model,
    operation: row.operation,
    usage,
    images: 0,
    nanos: fault === undefined ? charge : 0n,
    priceId,
    estimated: usage.estimated === true,
    fault,
  });
}

/** The gateway makes responses itself on groups of other styles. */
const operationOf = (row: BackgroundRow, catalog: Catalog) =>
  row.state !== 'converting' && catalog.group(row.group_id)?.style === 'generate-content'
    ? 'interactions.create'
    : 'responses.create';

export function estimated(row: BackgroundRow, response: Json, reported?: HubUsage): HubUsage {
  const output = (): number =>
    estimateTokens(
      Array.isArray(response.steps) ? cutText(JSON.stringify(response.steps)) : wholeText('responses', response),
    );
  return chargedUsage(reported, { input: () => Number(row.input_tokens), output }, true);
}

/** A factor of 1 in parts per million. */
const UNCHANGED = 1_000_000n;

export type Terms = Awaited<ReturnType<typeof termsOf>>;

/** The prices of the request, and the multipliers of today. */
export async function termsOf(tx: Tx, row: PricedRow, catalog: Catalog) {
  const { rows } = await sql<{ held: bigint | null; userPpm: bigint | null }>`
    select (select nanos from holds where reference = ${row.reference}) as held,
      (select multiplier_ppm from users where id = ${row.user_id}) as "userPpm"`.execute(tx);
  const { held, userPpm } = rows[0] ?? { held: null, userPpm: null };
  const multipliers = [catalog.group(row.group_id)?.multiplierPpm ?? UNCHANGED, userPpm ?? UNCHANGED];
  return { ...(await modelsOf(tx, row, catalog)), held, multipliers };
}

type PricedRow = Pick<BackgroundRow, 'reference' | 'user_id' | 'group_id' | 'model' | 'price_id' | 'others'>;

/** The models of the request, with the prices that it was admitted at. Names upstream are those of today. */
async function modelsOf(tx: Tx, row: PricedRow, catalog: Catalog) {
  const namesOf = (name: string): ModelNames => catalog.resolve(row.group_id, name) ?? { name, upstream: name };
  const pricedAt = async (priceId: bigint | null) => ({ priceId, rates: await ratesAt(tx, priceId) });
  const others: PricedModel[] = [];
  for (const { name, price, ...one } of row.others as readonly OtherOfRow[])
    others.push({ ...one, model: namesOf(name), ...(await pricedAt(price === '' ? null : BigInt(price))) });
  return { model: namesOf(row.model), others, ...(await pricedAt(row.price_id)) };
}

/** The price at the time of the request. One that was removed with its model does not count. */
async function ratesAt(tx: Tx, priceId: bigint | null): Promise<ledger.Rates> {
  if (priceId === null) return {};
  const price = await tx.selectFrom('prices').select('rates').where('id', '=', priceId).executeTakeFirst();
  return ledger.parseRates(price?.rates ?? {});
}

export interface BackgroundServices extends Pick<GatewayServices, 'catalog' | 'upstream' | 'clock' | 'log' | 'store'> {
  readonly db: Db;
}
