/**
 * Rows of background responses that a process of ours makes.
 * One transaction, under the lock of the row, ends one: charge and result.
 */
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
import type { Db, Tx } from '../../platform/db/index.ts';
import { BACKGROUND } from '../../rules/index.ts';
import type { BackgroundInput } from '../native/native-request.ts';
import type { StoredResponse } from '../stored/response-cache.ts';
import type { StoringContent } from '../stored/turn-text.ts';
import { holdMaximum } from './hold.ts';
import * as settling from './settle.ts';

const leaseEnd = sql<Date>`now() + ${BACKGROUND.leaseMs} * interval '1 millisecond'`;

/** Holds the money and stores the response without a result. Returns the reference of the row. */
export function insertRun(
  services: settling.BackgroundServices,
  input: BackgroundInput,
  response: Pick<StoredResponse, 'id' | 'content' | 'previous'>,
): Promise<string> {
  const { id: keyId, userId } = input.caller.key;
  return holdMaximum(services, input, async (tx, row) => {
    const { rows } = await sql<{ open: number }>`
      select count(*)::int as open from background_responses where user_id = ${userId}
      and state = 'converting'`.execute(tx);
    if ((rows[0]?.open ?? 0) >= BACKGROUND.perUser)
      throw fail(
        'rate_limit_exceeded',
        `background: ${BACKGROUND.perUser} background responses of this user are running; wait until one has ended.`,
        { param: 'background', retryAfter: 5 },
      );
    await tx
      .insertInto('background_responses')
      .values({ ...row, response_id: response.id, state: 'converting', next_check_at: leaseEnd })
      .execute();
    await services.store.insert(tx, { ...response, userId, keyId });
  });
}

export interface RunEnd {
  readonly content: StoringContent;
  readonly charged: (settling.BackgroundCharge & { readonly accountId: string }) | undefined;
  /** What the attempts have used that failed. */
  readonly failedAttempts?: readonly settling.AttemptInVain[];
}

/** False when the response has ended already. */
export const endRun = (services: settling.BackgroundServices, reference: string, end: RunEnd): Promise<boolean> =>
  settling.inTransaction(services, { reference, state: 'converting' }, (tx, row) => finish(services, tx, row, end));

async function finish(services: settling.BackgroundServices, tx: Tx, row: settling.BackgroundRow, end: RunEnd) {
  const { content, charged, failedAttempts = [] } = end;
  const { response_id: id, user_id: userId, reference } = row;
  if (id !== null) await services.store.replace(tx, { id, userId, content });
  for (const attempt of failedAttempts) await settling.bookFailed(services, tx, row, attempt);
  if (!charged) return settling.releaseRow(tx, reference);
  const { usage: reported, accountId, replyModel } = charged;
  // A report that cannot be believed counts as none.
  const usage = reported.invalid === undefined ? reported : settling.estimated(row, content.response);
  await settling.settleRow(services, tx, { ...row, account_id: accountId }, { usage, replyModel });
}

export const renewLeases = (db: Db, references: readonly string[]) =>
  sql`update background_responses set next_check_at = ${leaseEnd}
      where reference = any(${references}::text[]) and state = 'converting'`.execute(db);

export async function findStopped(db: Db, references: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ reference: string }>`
    select reference from background_responses
    where reference = any(${references}::text[]) and (cancelled_at is not null or state <> 'converting')`.execute(db);
  return rows.map(({ reference }) => reference);
}

export const requestCancel = (db: Db, id: string, userId: string) =>
  sql`update background_responses set cancelled_at = coalesce(cancelled_at, now())
      where response_id = ${id} and user_id = ${userId} and state = 'converting'`.execute(db);

/** Whether a process of ours makes the response, or its provider. */
export async function isOpen(db: Db, id: string, userId: string, state: 'converting' | 'running'): Promise<boolean> {
  const { rows } = await sql`
    select from background_responses where response_id = ${id} and user_id = ${userId}
    and state = ${state}`.execute(db);
  return rows.length > 0;
}

const BATCH = 20;

/** Fails responses whose process has ended. They cost nothing. */
export async function failLapsed(services: settling.BackgroundServices): Promise<void> {
  const { db, log, store } = services;
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<settling.BackgroundRow>`
      select * from background_responses where state = 'converting' and next_check_at <= now()
      order by next_check_at limit ${BATCH} for update skip locked`.execute(tx);
    for (const row of rows) {
      log.error('background.lost', { request: row.request_id, user: row.user_id });
      const id = row.response_id ?? '';
      const content = await store.content(id, row.user_id).catch(() => undefined);
      const response = { id, object: 'response', output: [], ...content?.response, status: 'failed', error: LOST };
      const input = JSON.stringify(content?.input ?? []);
      await finish(services, tx, row, { content: { input, response }, charged: undefined });
    }
  });
}

const LOST = {
  code: 'server_error',
  message: 'The server that made this response stopped. It cost nothing; create it again.',
} as const;
