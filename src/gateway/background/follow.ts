/** Reads background responses at their providers until they end. Replicas share the work by locked rows. */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { errorFields } from '../../core/index.ts';
import { deleteBatch } from '../../platform/db/index.ts';
import { fetchJson } from '../../providers/upstream/index.ts';
import { heldRequest } from '../upstream-request.ts';
import { failLapsed } from './run-rows.ts';
import { type BackgroundRow, type BackgroundServices, inTransaction, releaseRow, settleResponse } from './settle.ts';

const BATCH = 40;
/** Reads at a time; a response with images may have many megabytes. */
const PARALLEL = 4;
const MAX_BYTES = 64 * 2 ** 20;
/** A response that the provider does not know this often was deleted there. */
const MAX_MISSES = 3;
const MAX_AGE_MS = 24 * 3_600_000;
const ENDED: ReadonlySet<unknown> = new Set([
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  // Of interactions: the next request continues them.
  'requires_action',
  'requires_continuation',
  'budget_exceeded',
]);

/** Follows what is due and removes rows that ended long ago. Zero unless more may be due. */
export async function followDue(services: BackgroundServices): Promise<number> {
  const { db } = services;
  await releaseUnsent(services);
  await failLapsed(services);
  // A batch is more than can end in the meantime, so that ended rows do not pile up in the index of what is due.
  await deleteBatch(db, 'background_responses', sql`next_check_at <= now() and state in ('settled', 'released')`);
  const due = await takeDue(services);
  for (let n = 0; n < due.length; n += PARALLEL)
    await Promise.all(due.slice(n, n + PARALLEL).map((row) => follow(services, row)));
  return due.length === BATCH ? due.length : 0;
}

/** Of this user: another one may have a response of the same id from another provider. */
export async function followResponse(services: BackgroundServices, responseId: string, userId: string): Promise<void> {
  const { rows } = await sql<BackgroundRow>`
    select * from background_responses where response_id = ${responseId} and user_id = ${userId} and state = 'running'
    limit 1`.execute(services.db);
  for (const row of rows) await follow(services, row);
}

/** Older responses are read less often. */
async function takeDue({ db }: BackgroundServices): Promise<BackgroundRow[]> {
  const { rows } = await sql<BackgroundRow>`
    with due as materialized (
      select reference from background_responses where state = 'running' and next_check_at <= now()
      order by next_check_at limit ${BATCH} for update skip locked)
    update background_responses b set next_check_at = now() + case
      when b.created_at > now() - interval '1 minute' then interval '5 seconds'
      when b.created_at > now() - interval '10 minutes' then interval '15 seconds' else interval '1 minute' end
    from due where b.reference = due.reference
    returning b.*`.execute(db);
  return rows;
}

async function follow(services: BackgroundServices, row: BackgroundRow): Promise<void> {
  const { catalog, clock, log } = services;
  try {
    const account = catalog().account(row.account_id, row.group_id);
    const result = account && (await readHeld(services, account, row));
    const body = (result?.body ?? {}) as Readonly<Record<string, unknown>>;
    if (result?.status === 200 && ENDED.has(body.status)) {
      await inTransaction(services, row, (tx) => settleResponse(services, tx, row, body));
      return;
    }
    const isMissing = result?.status === 404;
    const isOld = clock.now() - row.created_at.getTime() > MAX_AGE_MS;
    // Nothing can be charged: the provider no longer has the response, or never ends it.
    if (isOld || (isMissing && row.misses + 1 >= MAX_MISSES)) {
      log.error('background.abandoned', { request: row.request_id, account: row.account_id, user: row.user_id });
      await inTransaction(services, row, (tx) => releaseRow(tx, row.reference));
      return;
    }
    if (isMissing !== row.misses > 0 || isMissing)
      await sql`update background_responses set misses = ${isMissing ? row.misses + 1 : 0}
        where reference = ${row.reference}`.execute(services.db);
  } catch (error) {
    log.warn('background.follow_failed', { request: row.request_id, ...errorFields(error) });
  }
}

function readHeld({ upstream, catalog }: BackgroundServices, account: Account, row: BackgroundRow) {
  const style = catalog().group(row.group_id)?.style;
  return fetchJson(
    upstream,
    heldRequest('GET', style, account, { kind: 'reply', id: row.response_id ?? '' }),
    MAX_BYTES,
  );
}

/** A process ended while it sent the request, so that the id of the response is unknown. */
async function releaseUnsent({ db, log }: BackgroundServices): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ reference: string; request_id: string }>`
      select reference, request_id from background_responses where state = 'sending' and next_check_at <= now()
      limit ${BATCH} for update skip locked`.execute(tx);
    for (const { reference, request_id } of rows) {
      log.error('background.abandoned', { request: request_id });
      await releaseRow(tx, reference);
    }
  });
}
