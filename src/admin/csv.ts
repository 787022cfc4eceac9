/** CSV exports (RFC 4180), streamed from the database at the speed of the client. */
import { type Clock, fail } from '../core/index.ts';
import { STALLED_CLIENT_MS } from '../rules/index.ts';
import { type Call, idHeaders } from '../web/index.ts';

export type CsvCell = string | number | null | undefined;

export interface Csv {
  readonly name: string;
  readonly columns: readonly string[];
  readonly chunks: AsyncIterable<readonly (readonly CsvCell[])[]>;
}

/** An export holds a database connection until its client has read everything; the other connections stay free for short reads. */
const MAX_EXPORTS = 2;
let running = 0;

export async function sendCsv(call: Call, csv: Csv, clock: Clock): Promise<void> {
  if (running >= MAX_EXPORTS)
    throw fail('rate_limit_exceeded', `${MAX_EXPORTS} exports are running; retry when one has ended.`, {
      retryAfter: 5,
    });
  running += 1;
  try {
    await send(call, csv, clock);
  } finally {
    running -= 1;
  }
}

/** A failure before the first chunk becomes an error response; a later one breaks the connection, so that the client sees a truncated body. */
async function send(call: Call, { name, columns, chunks }: Csv, clock: Clock): Promise<void> {
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
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    });
    response.write(csvText([columns]));
  };
  for await (const rows of chunks) {
    // After a disconnect neither 'drain' nor another close event follows: waiting would never end.
    if (call.isClientGone) return;
    begin();
    if (!response.write(csvText(rows))) await drained();
  }
  if (call.isClientGone) return;
  begin();
  response.end();
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
