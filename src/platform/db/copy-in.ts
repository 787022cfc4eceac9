/**
 * COPY to PostgreSQL, with back-pressure. The driver hands the messages of a copy to any query that has their handlers;
 * this is one. Rows of a transaction are copied by `copyRows`: the pool runs its statement, so that time limits apply
 * as to every other.
 */
import type { Socket } from 'node:net';
import { CompiledQuery } from 'kysely';
import type { Submittable } from 'pg';
import type { SeverableClient } from './client.ts';
import type { Db, Rows } from './rows.ts';

/** What the driver offers to a query while it runs. */
export interface CopyConnection {
  readonly stream: Socket;
  query(statement: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** A value of a row. Lists and objects are JSON or array literals as text. */
export type CopiedValue = string | number | bigint | boolean | null | undefined;

const SPECIAL = /[\\\t\n\r]/;
const EVERY_SPECIAL = new RegExp(SPECIAL, 'g');
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** A line of the text format. */
export const copyLine = (values: readonly CopiedValue[]): string => `${values.map(copyField).join('\t')}\n`;

/** Most values need no escape, and to test for one takes a fifth of the time of a replacement that finds none. */
function copyField(value: CopiedValue): string | number | bigint | boolean {
  if (value === null || value === undefined) return '\\N';
  return typeof value === 'string' && SPECIAL.test(value)
    ? value.replace(EVERY_SPECIAL, (found) => ESCAPES[found] ?? '')
    : value;
}

/** A tenth of the CPU time of an insert from JSON, and less of the write-ahead log. Fails when a row exists. */
export async function copyRows(
  db: Db,
  table: keyof Rows,
  { columns, lines }: { readonly columns: readonly string[]; readonly lines: readonly string[] },
): Promise<void> {
  const statement = `copy ${table} (${columns.join(', ')}) from stdin`;
  await db.executeQuery(CompiledQuery.raw(statement, [Buffer.from(lines.join(''))]));
}

export const isCopyIn = (statement: string): boolean =>
  statement.startsWith('copy ') && statement.endsWith(' from stdin');

/**
 * Sends the bytes to `copy ... from stdin` and returns the number of rows. An error of the source ends the copy at the
 * server too.
 */
export async function copyIn(
  client: SeverableClient,
  statement: string,
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<number> {
  const query = new IncomingCopy(statement);
  client.query(query as unknown as Submittable);
  await query.opened.promise;
  try {
    for await (const chunk of source) await query.send(chunk);
  } catch (error) {
    await query.giveUp();
    throw error;
  }
  return query.end();
}

class IncomingCopy {
  readonly #statement: string;
  readonly opened = Promise.withResolvers<void>();
  readonly #rows = Promise.withResolvers<number>();
  #connection: CopyConnection | undefined;
  #error: Error | undefined;
  #count = 0;
  #wake: () => void = () => {};

  constructor(statement: string) {
    this.#statement = statement;
    // Either may fail while only the other one is awaited.
    this.opened.promise.catch(() => {});
    this.#rows.promise.catch(() => {});
  }

  async send(chunk: Buffer): Promise<void> {
    if (this.#error) throw this.#error;
    this.#connection?.sendCopyFromChunk(chunk);
    const stream = this.#connection?.stream;
    if (stream?.writableNeedDrain)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        stream.once('drain', resolve);
      });
    if (this.#error) throw this.#error;
  }

  end(): Promise<number> {
    this.#connection?.endCopyFrom();
    return this.#rows.promise;
  }

  async giveUp(): Promise<void> {
    if (!this.#error) this.#connection?.sendCopyFail('the source failed');
    await this.#rows.promise.catch(() => {});
  }

  submit(connection: CopyConnection): void {
    this.#connection = connection;
    connection.query(this.#statement);
  }

  handleCopyInResponse(): void {
    this.opened.resolve();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.split(' ')[1]);
  }

  handleReadyForQuery(): void {
    this.#rows.resolve(this.#count);
  }

  handleError(error: Error): void {
    this.#error ??= error;
    this.opened.reject(error);
    this.#rows.reject(error);
    this.#wake();
  }
}
