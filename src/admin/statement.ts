/** Every movement of a wallet with the balance after it. */
import { formatNanos } from '../core/index.ts';
import { snapshot } from '../db/index.ts';
import { available, type StatementLine, statement, statementPages } from '../ledger/index.ts';
import { shownReference } from './credits.ts';
import { sendCsv } from './csv.ts';
import { type AdminHandler, notFound } from './handler.ts';
import { sendPage } from './pagination.ts';

const EXPORT_PAGE = 1_000;
const COLUMNS = ['entry', 'at', 'kind', 'amount', 'balance', 'reference', 'reason', 'price'] as const;

export const getStatement: AdminHandler = async ({ call, query }, { db, clock }) => {
  const user = call.params.user ?? '';
  const wish = { start: query.time('start'), end: query.time('end'), before: query.idCursor() };
  const { limit } = query;
  const isCsv = query.oneOf('format', ['json', 'csv']) === 'csv';
  await snapshot(db, async (tx) => {
    const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', user).executeTakeFirst();
    if (!known) throw notFound('user', user);
    if (isCsv) {
      const pieces = cells(statementPages(tx, user, { ...wish, limit: EXPORT_PAGE }));
      return sendCsv(call, { name: `statement-${user}`, columns: COLUMNS, pieces }, clock);
    }
    const lines = await statement(tx, user, { ...wish, limit: limit + 1 });
    const { held } = await available(tx, user);
    sendPage(call, lines, limit, {
      more: { currency: 'USD', user, held: formatNanos(held) },
      view: viewOf,
      key: ({ id }) => [id],
    });
  });
};

const viewOf = (line: StatementLine): Record<(typeof COLUMNS)[number], string | null> => ({
  entry: String(line.id),
  at: line.at.toISOString(),
  kind: line.kind,
  amount: formatNanos(line.nanos),
  balance: formatNanos(line.balance),
  reference: shownReference(line.reference),
  reason: line.reason,
  price: line.priceId === null ? null : String(line.priceId),
});

async function* cells(pieces: AsyncIterable<readonly StatementLine[]>) {
  for await (const lines of pieces) yield lines.map((line) => Object.values(viewOf(line)));
}
