/** CSV (RFC 4180) as it is read from the database: a piece at a time, at the client's speed. */
import type { Clock } from '../core/index.ts';
import { STALLED_CLIENT_MS } from '../rules/index.ts';
import { type Call, idHeaders } from '../web/index.ts';

export type Cell = string | number | null | undefined;

export interface Csv {
  readonly name: string;
  readonly columns: readonly string[];
  readonly pieces: AsyncIterable<readonly (readonly Cell[])[]>;
}

/** A failure before the first piece is an ordinary refusal; one after it cuts the answer, which no client takes for its end. */
export async function sendCsv(call: Call, { name, columns, pieces }: Csv, clock: Clock): Promise<void> {
  const { response } = call;
  const begin = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, {
      ...idHeaders(call),
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    });
    response.write(csvText([columns]));
  };
  for await (const rows of pieces) {
    begin();
    if (!response.write(csvText(rows))) await drained(call, clock);
    if (call.isGone) return;
  }
  begin();
  response.end();
}

export const csvText = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((cells) => `${cells.map(cellText).join(',')}\r\n`).join('');

const NUMBER = /^-?\d+(\.\d+)?$/;

/** What a spreadsheet would take for a formula gets an apostrophe in front; numbers are numbers. */
function cellText(cell: Cell): string {
  const text = cell === null || cell === undefined ? '' : String(cell);
  const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A client that takes nothing must not keep a transaction open for ever. */
function drained({ response }: Call, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(STALLED_CLIENT_MS, () => void response.destroy());
  response.once('drain', resolve);
  response.once('close', resolve);
  return promise.finally(cancel);
}
