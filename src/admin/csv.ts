/** CSV (RFC 4180) as it is read from the database: a piece at a time, at the client's speed. */
import { type Clock, fail } from '../core/index.ts';
import { STALLED_CLIENT_MS } from '../rules/index.ts';
import { type Call, idHeaders } from '../web/index.ts';

export type Cell = string | number | null | undefined;

export interface Csv {
  readonly name: string;
  readonly columns: readonly string[];
  readonly pieces: AsyncIterable<readonly (readonly Cell[])[]>;
}

/** Each holds a connection for as long as its client takes; the others stay for short questions. */
const MAX_EXPORTS = 2;
let open = 0;

export async function sendCsv(call: Call, csv: Csv, clock: Clock): Promise<void> {
  if (open >= MAX_EXPORTS)
    throw fail('rate_limit_exceeded', `${MAX_EXPORTS} exports are running; wait for one to end.`, { retryAfter: 5 });
  open += 1;
  try {
    await send(call, csv, clock);
  } finally {
    open -= 1;
  }
}

/** A failure before the first piece is an ordinary refusal; one after it cuts the answer, which no client takes for its end. */
async function send(call: Call, { name, columns, pieces }: Csv, clock: Clock): Promise<void> {
  const { response } = call;
  let wake = (): void => {};
  call.onClose(() => wake());
  /** A client that takes nothing must not keep a transaction open for ever. */
  const drained = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(STALLED_CLIENT_MS, () => void response.destroy());
    wake = resolve;
    response.once('drain', resolve);
    return promise.finally(cancel);
  };
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
    // One who left while the piece was being read will never take it, nor leave again.
    if (call.isClientGone) return;
    begin();
    if (!response.write(csvText(rows))) await drained();
  }
  if (call.isClientGone) return;
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
