/** The database as queries see it. The types of its rows are generated from the migrations. */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Rows } from '../../../migrations/rows.ts';

export type { Json, Rows } from '../../../migrations/rows.ts';
export type Db = Kysely<Rows>;
export type Tx = Transaction<Rows>;
/** As a query returns it. */
export type Row<Table extends keyof Rows> = Selectable<Rows[Table]>;
