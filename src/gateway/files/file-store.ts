/**
 * Files of users, sealed in the database: one content for all replicas,
 * in the same backup and erasure as everything else of a user.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { fail, failAt, type Span } from '../../core/index.ts';
import type { Db, Row, StoreServices, Tx } from '../../platform/db/index.ts';
import { FILE_ID, FILES } from '../../rules/index.ts';
import { type OwnPage, ownRows } from './own-rows.ts';

export interface FileStoreOptions extends StoreServices {
  /** Days that a file is kept; 0 takes none. */
  readonly days: number;
}

/** What is known of a file before its first byte. */
export interface NewFile {
  readonly name: string;
  readonly mediaType: string;
  readonly purpose: string;
  /** Seconds until it goes, if the caller wants less than the days of the store. */
  readonly seconds?: number | undefined;
  /** Made by the gateway of replies that are paid for: it is kept whatever room the user has left. */
  readonly isResult?: boolean;
}

export interface FileOwner {
  readonly userId: string;
  readonly keyId: string;
}

interface Piece {
  readonly id: string;
  readonly userId: string;
  readonly at: number;
  readonly isLast: boolean;
}

export type StoredFile = Row<'files'>;

export interface FilePage extends OwnPage {
  readonly purpose?: string | undefined;
}

const DAY_SECONDS = 86_400;
const EXPIRED_BATCH = 200;

const sealLocation = (id: string, start: number) => `file_parts.sealed:${id}/${start}` as const;

export class FileStore {
  readonly #options: FileStoreOptions;

  constructor(options: FileStoreOptions) {
    this.#options = options;
  }

  /** A whole file, in one transaction. */
  create(owner: FileOwner, file: NewFile, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    return this.#inTransaction((tx) => this.createIn(tx, owner, file, content));
  }

  /** The same in the transaction of what it belongs to. */
  async createIn(tx: Tx, owner: FileOwner, file: NewFile, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    const { id } = await this.#insert(tx, owner, file);
    const maxBytes = file.isResult ? Number.POSITIVE_INFINITY : FILES.bytes;
    return this.#append(tx, { id, userId: owner.userId, at: 0, isLast: true, maxBytes }, content);
  }

  /** A file whose content arrives in pieces. */
  begin(owner: FileOwner, file: NewFile): Promise<StoredFile> {
    return this.#inTransaction((tx) => this.#insert(tx, owner, file));
  }

  /**
   * The next piece. One that begins elsewhere than the last one ended is refused,
   * so that a repeated piece is not kept twice.
   */
  append(piece: Piece, content: AsyncIterable<Buffer>): Promise<StoredFile> {
    return this.#inTransaction((tx) => this.#append(tx, piece, content));
  }

  /** Undefined alike for unknown files, expired ones and those of other users. */
  find(id: string, userId: string): Promise<StoredFile | undefined> {
    return this.#own(userId).where('id', '=', id).executeTakeFirst();
  }

  async findAll(ids: readonly string[], userId: string): Promise<ReadonlyMap<string, StoredFile>> {
    const rows = await this.#own(userId).where('id', 'in', ids).execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  list(userId: string, { purpose, ...page }: FilePage): Promise<StoredFile[]> {
    const isWanted = sql<boolean>`completed_at is not null and expires_at > now()
      and purpose = coalesce(${purpose ?? null}::text, purpose)`;
    return ownRows(this.#options.db, 'files', { ...page, userId }, isWanted);
  }

  /** False alike for unknown files and those of other users. */
  async remove(id: string, userId: string): Promise<boolean> {
    const { numAffectedRows } = await sql`
      delete from files where user_id = ${userId} and id = ${id}`.execute(this.#options.db);
    return (numAffectedRows ?? 0n) > 0n;
  }

  /** A part of the content, if all of the file is there. */
  async readSpan(id: string, userId: string, { start, end }: Span): Promise<Buffer> {
    const { rows } = await sql<Pick<Row<'file_parts'>, 'start' | 'sealed'>>`
      select start, sealed from file_parts where user_id = ${userId} and file_id = ${id}
        and start > ${start - FILES.partBytes}::bigint and start < ${end}::bigint order by start`.execute(
      this.#options.db,
    );
    const [first] = rows;
    const parts = rows.map((row) => this.#options.sealer.openBytes(row.sealed, sealLocation(id, Number(row.start))));
    const at = Number(first?.start);
    const content = Buffer.concat(parts).subarray(start - at, end - at);
    if (!first || content.length < end - start) throw fileNotFound(id);
    return content;
  }

  /** The content, a row at a time. */
  async *read({ id, user_id: userId, bytes }: StoredFile): AsyncGenerator<Buffer> {
    for (let at = 0; at < Number(bytes); ) {
      const { rows } = await sql<Pick<Row<'file_parts'>, 'sealed'>>`
        select sealed from file_parts where user_id = ${userId} and file_id = ${id} and start = ${at}::bigint`.execute(
        this.#options.db,
      );
      // Deleted while it was read.
      if (!rows[0]) throw fileNotFound(id);
      const part = this.#options.sealer.openBytes(rows[0].sealed, sealLocation(id, at));
      yield part;
      at += part.length;
    }
  }

  #own(userId: string) {
    return this.#options.db
      .selectFrom('files')
      .selectAll()
      .where('user_id', '=', userId)
      .where('completed_at', 'is not', null)
      .where('expires_at', '>', sql<Date>`now()`);
  }

  #inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#options.db.transaction().execute(work);
  }

  async #insert(tx: Tx, { userId, keyId }: FileOwner, file: NewFile): Promise<StoredFile> {
    const { days } = this.#options;
    if (days === 0)
      throw fail('invalid_request', 'This gateway keeps no files; send the content itself in the request.');
    if (!file.isResult) await checkRoom(tx, userId, 'files');
    const seconds = Math.min(file.seconds ?? days * DAY_SECONDS, days * DAY_SECONDS);
    return tx
      .insertInto('files')
      .values({
        id: FILE_ID.prefix + randomBytes(16).toString('hex'),
        user_id: userId,
        key_id: keyId,
        bytes: 0n,
        name: file.name,
        media_type: file.mediaType,
        purpose: file.purpose,
        expires_at: sql<Date>`now() + ${seconds} * interval '1 second'`,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  async #append(
    tx: Tx,
    { id, userId, at, isLast, maxBytes = FILES.bytes }: Piece & { readonly maxBytes?: number },
    content: AsyncIterable<Buffer>,
  ): Promise<StoredFile> {
    if (maxBytes === FILES.bytes) await checkRoom(tx, userId, 'bytes');
    const { rows } = await sql<Pick<StoredFile, 'bytes'>>`
      select bytes from files where user_id = ${userId} and id = ${id} and completed_at is null
        and created_at > now() - ${FILES.uploadHours} * interval '1 hour' for update`.execute(tx);
    const [open] = rows;
    if (!open) throw fileNotFound(id);
    if (Number(open.bytes) !== at)
      throw failAt('invalid_value', 'x-goog-upload-offset', `the file has ${open.bytes} bytes; send it from there on.`);
    let end = at;
    for await (const part of inParts(content)) {
      if (end + part.length > maxBytes) throw fileTooLarge();
      const sealed = this.#options.sealer.sealBytes(part, sealLocation(id, end));
      const row = { user_id: userId, file_id: id, start: BigInt(end), sealed };
      await tx.insertInto('file_parts').values(row).execute();
      end += part.length;
    }
    return tx
      .updateTable('files')
      .set({ bytes: BigInt(end), ...(isLast && { completed_at: sql<Date>`now()` }) })
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow();
  }
}

/** One batch per run. Returns how many were deleted. */
export async function expireFiles(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from files where ctid = any(array(
      select ctid from files where expires_at <= now()
        or (completed_at is null and created_at <= now() - ${FILES.uploadHours} * interval '1 hour')
      limit ${EXPIRED_BATCH}))`.execute(db);
  return Number(numAffectedRows);
}

/** What a user keeps in files, and may keep. */
export interface FileRoom {
  readonly files: number;
  readonly bytes: number;
  readonly max_files: number;
  readonly max_bytes: number;
}

export async function readFileRoom(db: Db, userId: string): Promise<FileRoom> {
  const { rows } = await sql<FileRoom>`
    select count(f.id)::int as files, coalesce(sum(f.bytes), 0)::float8 as bytes,
      coalesce(u.max_files, ${FILES.userFiles}) as max_files,
      coalesce(u.max_file_mib * 1048576::float8, ${FILES.userBytes}) as max_bytes
    from users u left join files f on f.user_id = u.id where u.id = ${userId} group by u.id`.execute(db);
  return rows[0] ?? { files: 0, bytes: 0, max_files: 0, max_bytes: 0 };
}

/** Uploads of one user wait for each other, so that several at once, or in pieces, do not pass the limit. */
async function checkRoom(tx: Tx, userId: string, of: 'files' | 'bytes'): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${userId}, 50))`.execute(tx);
  const room = await readFileRoom(tx, userId);
  if (room[of] < room[`max_${of}`]) return;
  const text = of === 'files' ? `${room.max_files} files` : `${room.max_bytes / 2 ** 20} MiB of files`;
  throw fail('invalid_request', `The user has ${text}, the limit; delete some files first.`, { param: 'file' });
}

/** Pieces of one size, however the content arrives. */
async function* inParts(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < FILES.partBytes) continue;
    const joined = Buffer.concat(waiting);
    const whole = joined.length - (joined.length % FILES.partBytes);
    for (let at = 0; at < whole; at += FILES.partBytes) yield joined.subarray(at, at + FILES.partBytes);
    waiting = [joined.subarray(whole)];
    size = joined.length - whole;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

export const fileNotFound = (id: string, param?: string) =>
  fail('file_not_found', `No file with id '${id.slice(0, 100)}' exists.`, param === undefined ? {} : { param });

export const fileTooLarge = () =>
  fail('request_too_large', `file: the file is larger than ${FILES.bytes / 2 ** 20} MiB, the limit.`, {
    param: 'file',
  });
