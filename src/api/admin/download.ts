/** Downloads, streamed from the database at the speed of the client; mostly CSV (RFC 4180). */
import { type Clock, fail } from '../../core/index.ts';
import type { UsageAudience } from '../../ledger/index.ts';
import { type Call, idHeaders } from '../../platform/web/index.ts';
import { STALLED_CLIENT_MS } from '../../rules/index.ts';

export type CsvCell = string | number | null | undefined;

export interface Download<Row> {
  /** Of the file. */
  readonly name: string;
  readonly type: string;
  readonly head: string;
  readonly batches: AsyncIterable<readonly Row[]>;
  readonly audience: UsageAudience;
  text(rows: readonly Row[]): string;
}

export interface Csv<Row> extends Pick<Download<Row>, 'name' | 'batches' | 'audience'> {
  readonly columns: readonly string[];
  cells(row: Row): readonly CsvCell[];
}

export function sendCsv<Row>(call: Call, { name, columns, cells, ...csv }: Csv<Row>, clock: Clock): Promise<void> {
  const text = (rows: readonly Row[]) => csvText(rows.map(cells));
  const file = { name: `${name}.csv`, type: 'text/csv; charset=utf-8', head: csvText([columns]), text };
  return sendDownload(call, { ...csv, ...file }, clock);
}

/**
 * An export holds a database connection until its client has read everything. People of users cannot take the place of
 * operators.
 */
const MAX_EXPORTS: Readonly<Record<UsageAudience, number>> = { operator: 2, user: 1 };
const running: Record<UsageAudience, number> = { operator: 0, user: 0 };

export async function sendDownload<Row>(call: Call, download: Download<Row>, clock: Clock): Promise<void> {
  const { audience } = download;
  if (running[audience] >= MAX_EXPORTS[audience])
    throw fail('rate_limit_exceeded', `${MAX_EXPORTS[audience]} exports are running; retry when one has ended.`, {
      retryAfter: 5,
    });
  running[audience] += 1;
  try {
    await send(call, download, clock);
  } finally {
    running[audience] -= 1;
  }
}

/**
 * A failure before the first batch becomes an error response; a later one breaks the connection, so that the client
 * sees a truncated body.
 */
async function send<Row>(call: Call, { name, type, head, batches, text }: Download<Row>, clock: Clock): Promise<void> {
  const { response } = call;
  let resume = (): void => {};
  call.onClose(() => resume());
  /** A client that stops reading must not keep the transaction open. */
  const drained = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(STALLED_CLIENT_MS, () => void response.destroy());
    resume = resolve;
    response.once('drain', resolve);
    return promise.finally(cancel);
  };
  const begin = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, {
      ...idHeaders(call),
      'content-type': type,
      'content-disposition': `attachment; filename="${name}"`,
    });
    response.write(head);
  };
  for await (const rows of readAhead(batches)) {
    // After a disconnect neither 'drain' nor another close event follows: waiting would never end.
    if (call.isClientGone) return;
    begin();
    if (!response.write(text(rows))) await drained();
  }
  if (call.isClientGone) return;
  begin();
  response.end();
}

/** Asks for the next batch before it returns one, so that the database works while rows are formatted and sent. */
async function* readAhead<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const { done, value } = await next;
      if (done) return;
      next = iterator.next();
      // Its failure is thrown when its turn comes. A reader that stops earlier does not need it.
      next.catch(() => {});
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

export function csvText(rows: readonly (readonly CsvCell[])[]): string {
  let text = '';
  for (const cells of rows) {
    for (let n = 0; n < cells.length; n += 1) text += n === 0 ? cellText(cells[n]) : `,${cellText(cells[n])}`;
    text += '\r\n';
  }
  return text;
}

const NUMBER = /^-?\d+(\.\d+)?$/;
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

/** Text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay as they are. */
function cellText(cell: CsvCell): string {
  if (typeof cell === 'number') return String(cell);
  if (cell === null || cell === undefined) return '';
  const safe = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
