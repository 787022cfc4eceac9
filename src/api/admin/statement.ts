/** The statement of a wallet: every movement with the balance after it. */
import { z } from 'zod';
import { formatNanos } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { ShownMovement } from '../../schemas/index.ts';
import { shownReference } from './credits.ts';
import { sendCsv } from './download.ts';
import { type AdminServices, notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param, period } from './query-params.ts';

const EXPORT_PAGE = 5_000;
const COLUMNS = ShownMovement.keyof().options;

export const StatementParams = z.strictObject({ ...period, ...pageParams(rowKey.id), format: param.format });

export async function sendStatement(
  call: Call,
  user: string,
  { start, end, limit, cursor, format }: z.output<typeof StatementParams>,
  { db, clock, audience }: Pick<AdminServices, 'db' | 'clock'> & { readonly audience: ledger.UsageAudience },
): Promise<void> {
  const range = { start, end, before: cursor?.[0] };
  await snapshot(db, async (tx) => {
    const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', user).executeTakeFirst();
    if (!known) throw notFound('user', user);
    if (format === 'csv') {
      const batches = ledger.readStatementPages(tx, user, { ...range, limit: EXPORT_PAGE });
      const cells = (line: ledger.StatementLine) => Object.values(viewOf(line));
      return sendCsv(call, { name: `statement-${user}`, columns: COLUMNS, batches, audience, cells }, clock);
    }
    const lines = await ledger.readStatement(tx, user, { ...range, limit: limit + 1 });
    const { held } = await ledger.readBalance(tx, user);
    sendPage(call, lines, {
      limit,
      more: { currency: 'USD', user, held: formatNanos(held) },
      view: viewOf,
      key: ({ id }) => [id],
    });
  });
}

const viewOf = (line: ledger.StatementLine): ShownMovement => ({
  entry: String(line.id),
  at: line.at.toISOString(),
  kind: line.kind,
  amount: formatNanos(line.nanos),
  balance: formatNanos(line.balance),
  reference: shownReference(line.reference),
  reason: line.reason,
  price: line.priceId === null ? null : String(line.priceId),
});

export const STATEMENT_OPERATIONS = {
  'admin.statement': operation({
    query: StatementParams,
    handle: ({ call, query }, services) =>
      sendStatement(call, call.params.user ?? '', query, { ...services, audience: 'operator' }),
  }),
};
