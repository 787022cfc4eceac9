/** The results of a batch as lines of a file, in the shape of its clients. */
import { sql } from 'kysely';
import { type Sealer, valueOfJson } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import type { Batch } from './batch-store.ts';
import type { LineRow } from './line-rows.ts';

/** Rows with the largest replies are some megabytes each. */
const PAGE = 8;

const sealLocation = ({ user_id, batch_id, n }: Pick<LineRow, 'user_id' | 'batch_id' | 'n'>) =>
  `batch_lines.sealed:${user_id}/${batch_id}/${n}` as const;

/** A reply in one line. Newlines of JSON are outside its texts; a reply that is no JSON becomes a text. */
export const sealReply = (sealer: Sealer, line: Parameters<typeof sealLocation>[0], reply: Buffer): Buffer => {
  const text = reply.toString();
  const body = valueOfJson(text) === undefined ? JSON.stringify(text) : text.replaceAll(/[\r\n]+/g, ' ');
  return sealer.sealBytes(Buffer.from(body), sealLocation(line));
};

/** Of the requests that have succeeded, or of the others; all of a messages-dialect batch are in one file. */
export async function* resultLines(
  { tx, sealer }: { readonly tx: Tx; readonly sealer: Sealer },
  batch: Batch,
  which: 'succeeded' | 'others' | 'all',
): AsyncGenerator<Buffer> {
  const write = batch.operation === 'messages.create' ? messagesLine : openAiLine;
  for (let last = 0; ; ) {
    const { rows } = await sql<LineRow>`
      select * from batch_lines where user_id = ${batch.user_id} and batch_id = ${batch.id} and n > ${last}
        and (${which} = 'all' or (state = 'succeeded') = (${which} = 'succeeded')) order by n limit ${PAGE}`.execute(
      tx,
    );
    for (const row of rows)
      yield Buffer.from(`${write(row, row.sealed && sealer.openBytes(row.sealed, sealLocation(row)).toString())}\n`);
    last = rows.at(-1)?.n ?? 0;
    if (rows.length < PAGE) return;
  }
}

function openAiLine({ batch_id, n, custom_id, state, status, request_id }: LineRow, body: string | null): string {
  const head = `{"id":"${batch_id}_${n}","custom_id":${JSON.stringify(custom_id)}`;
  const response = `{"status_code":${status},"request_id":"${request_id}","body":${body}}`;
  return body === null
    ? `${head},"response":null,"error":${JSON.stringify({ code: `batch_${state}`, message: UNSENT[state] })}}`
    : `${head},"response":${response},"error":null}`;
}

function messagesLine({ custom_id, state }: LineRow, body: string | null): string {
  const error = state === 'errored' ? `,"error":${body ?? LOST}` : '';
  const member = state === 'succeeded' ? `,"message":${body}` : error;
  return `{"custom_id":${JSON.stringify(custom_id)},"result":{"type":"${state}"${member}}}`;
}

/** Why there is no reply, by the state of the request. */
const UNSENT: Readonly<Record<string, string>> = {
  canceled: 'The batch was cancelled before this request was sent.',
  expired: 'The time or the size of the results of the batch was over before this request was sent.',
  errored: 'The server stopped while this request was sent. It was not sent again, and may have been charged.',
};
const LOST = JSON.stringify({ type: 'error', error: { type: 'api_error', message: UNSENT.errored } });
