/**
 * Assets and asset groups as rows: found by owner and id, listed,
 * and moved from one status to another by the table of moves.
 */
import { type RawBuilder, sql } from 'kysely';
import { allRows, type Db, deleteBatch, firstRow, type Row } from '../../platform/db/index.ts';
import * as rules from '../../rules/index.ts';

export type AssetRow = Row<'assets'>;
export type AssetGroupRow = Row<'asset_groups'>;

export interface RowOf {
  readonly assets: AssetRow;
  readonly asset_groups: AssetGroupRow;
}
export type Table = keyof RowOf;

export interface RowName {
  readonly user_id: string;
  readonly id: string;
}

const ID_FORMS: Readonly<Record<Table, RegExp>> = {
  assets: /^asset_[A-Za-z0-9]{1,64}$/,
  asset_groups: /^assetgrp_[A-Za-z0-9]{1,64}$/,
};
/** Any other id cannot exist. */
export const isIdOf = (table: Table, id: string): boolean => ID_FORMS[table].test(id);

/** Rows that their owner can read; hidden groups are not among them. */
const isReadable = (table: Table) =>
  sql`(deleted_at is null or deleted_at > now() - ${rules.ASSET_DELETED_DAYS} * interval '1 day')
    ${table === 'assets' ? sql`` : sql`and not is_hidden`}`;

/** Undefined alike for missing and foreign rows: one query, so that a response cannot differ. */
export async function findRow<T extends Table>(db: Db, table: T, userId: string, id: string) {
  if (!isIdOf(table, id)) return undefined;
  return firstRow(db)<RowOf[T]>`
    select * from ${sql.table(table)} where user_id = ${userId} and id = ${id} and ${isReadable(table)}`;
}

/**
 * The newest state of a row, hidden or deleted, too.
 * `share` lets others read it but not change it until the transaction ends.
 */
export const lockRow = <T extends Table>(tx: Db, table: T, name: RowName, mode: 'update' | 'share' = 'update') =>
  firstRow(tx)<RowOf[T]>`
    select * from ${sql.table(table)} where user_id = ${name.user_id} and id = ${name.id} for ${sql.raw(mode)}`;

type Changes = Readonly<Record<string, string | null | RawBuilder<unknown>>>;
interface StatusOf {
  readonly assets: rules.AssetStatus;
  readonly asset_groups: rules.AssetGroupStatus;
}

/** Moves a row and returns it; undefined when the move is not legal from its current status. */
export async function moveRow<T extends Table>(db: Db, table: T, name: RowName, to: StatusOf[T], more: Changes = {}) {
  const sources: readonly string[] =
    table === 'assets' ? rules.assetSourcesOf(to) : rules.assetGroupSourcesOf(to as rules.AssetGroupStatus);
  const columns = Object.entries(more).map(([column, value]) => sql`, ${sql.ref(column)} = ${value}`);
  return firstRow(db)<RowOf[T]>`
    update ${sql.table(table)} set status = ${to}, updated_at = now() ${sql.join(columns, sql``)}
    where user_id = ${name.user_id} and id = ${name.id} and status = any(${sources}) returning *`;
}

export const afterMs = (ms: number): RawBuilder<Date> => sql<Date>`now() + ${ms} * interval '1 millisecond'`;

export interface ListFilter {
  readonly statuses?: readonly string[] | undefined;
  readonly assetTypes?: readonly string[] | undefined;
  readonly assetGroupId?: string | undefined;
  readonly groupId?: string | undefined;
}
export interface ListPage {
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * One page, newest first, and one row more when there are further ones. The ids come from the index alone,
 * so that rows that are filtered out cost no access to the table. Deleted rows are not listed.
 */
export async function listRows<T extends Table>(db: Db, table: T, userId: string, filter: ListFilter, page: ListPage) {
  const { after, limit } = page;
  const { statuses, assetTypes, assetGroupId, groupId } = filter;
  const conditions = [
    sql`user_id = ${userId} and deleted_at is null`,
    ...(table === 'assets' ? [] : [sql`not is_hidden`]),
    ...(statuses ? [isOneOf('status', statuses)] : []),
    ...(assetTypes ? [isOneOf('asset_type', assetTypes)] : []),
    ...(assetGroupId === undefined ? [] : [sql`asset_group_id = ${assetGroupId}`]),
    ...(groupId === undefined ? [] : [sql`group_id = ${groupId}`]),
    ...(after === undefined
      ? []
      : [
          sql`(created_at, id) < (
            select created_at, id from ${sql.table(table)} where user_id = ${userId} and id = ${after})`,
        ]),
  ];
  return allRows(db)<RowOf[T]>`
    select * from ${sql.table(table)} where user_id = ${userId} and id in (
      select id from ${sql.table(table)} where ${sql.join(conditions, sql` and `)}
      order by created_at desc, id desc limit ${limit + 1})
    order by created_at desc, id desc`;
}

/** A single value is compared as such: an index then returns the rows in the order of the list. */
const isOneOf = (column: string, [first, ...more]: readonly string[]) =>
  more.length === 0 ? sql`${sql.ref(column)} = ${first}` : sql`${sql.ref(column)} = any(${[first, ...more]})`;

/** Removes rows that were deleted too long ago to be read. A group goes after its assets. */
export async function expireDeleted(db: Db): Promise<number> {
  const isOld = sql`deleted_at <= now() - ${rules.ASSET_DELETED_DAYS} * interval '1 day'`;
  return (await deleteBatch(db, 'assets', isOld)) + (await deleteBatch(db, 'asset_groups', isOld));
}
