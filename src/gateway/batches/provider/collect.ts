/**
 * Results of a provider's batch: charged and recorded a page at a time,
 * each in one transaction, so that a result counts once.
 */
import { sql } from 'kysely';
import { type Account, redact } from '../../../catalog/index.ts';
import { newRequestId } from '../../../core/index.ts';
import * as ledger from '../../../ledger/index.ts';
import {
  BATCHES,
  type Dialect,
  type InferenceOperation,
  inferenceRow,
  PROVIDER_BATCHES,
} from '../../../rules/index.ts';
import { recordOf, type Terms, termsOf } from '../../background/settle.ts';
import { hasTokens } from '../../billing/failed-usage.ts';
import { chargedUsage } from '../../billing/usage.ts';
import { UnaryTap } from '../../native/unary-tap.ts';
import { findBatch } from '../batch-store.ts';
import { NO_ROOM } from '../failed-reply.ts';
import { endLinesIn } from '../line-rows.ts';
import { sealReply } from '../results.ts';
import type { PrepareServices } from './prepare.ts';
import type { LineOutcome } from './result-lines.ts';
import { changeRow, type ProviderBatch, payBatch, whileIn } from './rows.ts';

interface OpenLine {
  readonly n: number;
  readonly input_tokens: bigint;
  readonly max_nanos: bigint;
}

/** Vectors have the usage of chat completions. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  'responses.create': 'responses',
  'chat.create': 'chat',
  'embeddings.create': 'chat',
  'messages.create': 'messages',
};

/** False when another process has ended the batch meanwhile. */
export async function collect(
  services: PrepareServices,
  row: ProviderBatch,
  outcomes: AsyncIterable<LineOutcome> | Iterable<LineOutcome>,
): Promise<boolean> {
  let page = new Map<number, LineOutcome>();
  let bytes = 0;
  for await (const outcome of outcomes) {
    if (!page.has(outcome.n)) page.set(outcome.n, outcome);
    bytes += outcome.body?.length ?? 0;
    if (page.size < PROVIDER_BATCHES.pageLines && bytes < PROVIDER_BATCHES.pageBytes) continue;
    if (!(await recordPage(services, row, page))) return false;
    page = new Map();
    bytes = 0;
  }
  return recordPage(services, row, page);
}

async function recordPage(services: PrepareServices, given: ProviderBatch, page: ReadonlyMap<number, LineOutcome>) {
  const { db, catalog, clock, log, sealer, store } = services;
  const charges: ReturnType<typeof chargeOf>[] = [];
  const isOpen = await whileIn(db, given, async (tx, row) => {
    const { rows: open } = await sql<OpenLine>`
      delete from provider_batch_lines where user_id = ${row.user_id} and reference = ${row.reference}
        and n = any(${[...page.keys()]}::int[]) returning n, input_tokens, max_nanos`.execute(tx);
    const terms = await termsOf(tx, { ...row, others: [] }, catalog());
    const account = catalog().account(row.account_id, row.group_id);
    const batch = await findBatch(tx, row.user_id, row.batch_id);
    let room = BATCHES.resultBytes - Number(batch?.result_bytes ?? 0);
    const results = open.flatMap((line) => {
      const outcome = page.get(line.n);
      if (!outcome) return [];
      const requestId = newRequestId(clock.now());
      if (outcome.isServed)
        charges.push(chargeOf(services, { ...row, request_id: requestId }, { line, outcome, terms }));
      const { state, status, body } = shownOutcome(outcome, account, room);
      const sealed = body ? sealReply(sealer, { ...row, n: line.n }, body) : null;
      room -= sealed?.length ?? 0;
      return [{ n: line.n, state, status, requestId, sealed }];
    });
    const records = charges.flatMap((charge) => (charge && charge.record.invalid === undefined ? [charge.record] : []));
    if (records.length > 0)
      await ledger.recordUsage(tx, records, await ledger.providerCosts(tx, records, log, ledger.parseRates));
    await changeRow(tx, row, { nanos: records.reduce((sum, { charge }) => sum + charge, row.nanos) });
    // Without effect on requests of a batch that was deleted.
    await endLinesIn(
      tx,
      sql`state = r.state, status = r.status, request_id = r.request_id, sealed = r.sealed
        from unnest(${results.map(({ n }) => n)}::int[], ${results.map(({ state }) => state)}::text[],
          ${results.map(({ status }) => status)}::int[], ${results.map(({ requestId }) => requestId)}::text[],
          ${results.map(({ sealed }) => sealed)}::bytea[]) as r (n, state, status, request_id, sealed)`,
      sql<boolean>`l.user_id = ${row.user_id} and l.batch_id = ${row.batch_id} and l.n = r.n and l.state = 'provider'`,
      results.reduce((sum, { sealed }) => sum + (sealed?.length ?? 0), 0),
    );
  });
  // Behind the transaction, as calls do.
  for (const charge of charges) if (charge?.stored) store.save(charge.stored);
  ledger.crashPoint('batch.collected');
  return isOpen;
}

/** A reply that is an error costs nothing (ADR 13). With what the provider keeps for later requests. */
function chargeOf(
  services: PrepareServices,
  row: ProviderBatch & { readonly request_id: string },
  served: { readonly line: OpenLine; readonly outcome: LineOutcome; readonly terms: Terms },
) {
  const { line, outcome, terms } = served;
  const operation = row.operation as InferenceOperation;
  const tap = new UnaryTap(DIALECTS[operation] ?? 'chat');
  if (outcome.state === 'succeeded' && outcome.body) tap.push(outcome.body);
  const { usage: found, isError, id, ownedIds, model: replyModel } = tap.end();
  const reported = found?.estimated || found?.invalid !== undefined ? undefined : found;
  if (isError) {
    if (!hasTokens(reported)) return undefined;
    const usage = { ...reported, tier: 'batch' };
    return { record: recordOf(services, row, terms, { usage, replyModel, fault: 'failed' }), stored: undefined };
  }
  const output = () => (inferenceRow(operation).vectors ? 0 : tap.outputTokens);
  const used = chargedUsage(reported, { input: () => Number(line.input_tokens), output }, true);
  const usage = { ...used, tier: 'batch' };
  const record = recordOf(services, row, { ...terms, held: line.max_nanos }, { usage, replyModel });
  const isOwned =
    operation === 'messages.create' ? ownedIds.length > 0 : operation === 'responses.create' && row.stores;
  const owner = { userId: row.user_id, accountId: row.account_id };
  const stored = { ...owner, id: id ?? '', itemIds: ownedIds, tokens: used.input + used.output };
  return { record, stored: isOwned && id !== undefined ? stored : undefined };
}

function shownOutcome(outcome: LineOutcome, account: Account | undefined, room: number): Omit<LineOutcome, 'n'> {
  const { state, body } = outcome;
  if (body && body.length > room) return { state: 'errored', status: NO_ROOM.status, body: NO_ROOM.content };
  const isError = body && state !== 'succeeded' && account;
  return isError ? { ...outcome, body: Buffer.from(redact(body.toString(), { account })) } : outcome;
}

/** All results are recorded: the hold ends with what they cost. */
export const settleBatch = ({ db, log }: PrepareServices, given: ProviderBatch): Promise<boolean> =>
  whileIn(db, given, (tx, row) => payBatch(tx, row, log));
