/** What was sent: notices with the state of each delivery. Every query contains the owner. */
import { sql } from 'kysely';
import { allRows, type Db, deleteBatch } from '../../platform/db/index.ts';
import { WARNING_LIMITS } from '../../rules/index.ts';
import type { NoticeContent, ShownNotice } from '../../schemas/index.ts';
import { titleOf } from './messages.ts';

export interface NoticeRow {
  readonly id: string;
  readonly content: NoticeContent;
  readonly created_at: Date;
  /** With microseconds. */
  readonly created: string;
  readonly deliveries: ShownNotice['deliveries'];
}

export interface NoticePage {
  readonly after?: readonly [created: string, id: string] | undefined;
  readonly limit: number;
}

/** Newest first, and one row more when there are further ones. */
export async function listNotices(db: Db, owner: string, { after, limit }: NoticePage): Promise<readonly NoticeRow[]> {
  const before = after ? sql`and (n.created_at, n.id) < (${after[0]}::timestamptz, ${after[1]})` : sql``;
  return allRows(db)<NoticeRow>`
    select n.id, n.content, n.created_at,
      to_char(n.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created,
      coalesce((
        select jsonb_agg(jsonb_build_object('destination', d.destination_id, 'name', w.name, 'state', d.state, 'attempts', d.attempts,
          'last_status', d.last_status, 'last_error', d.last_error,
          'next_attempt_at', case when d.finished_at is null then ${isoTime('d.next_at')} end,
          'finished_at', ${isoTime('d.finished_at')}) order by d.destination_id)
        from notice_deliveries d left join warning_destinations w on w.user_id = d.user_id and w.id = d.destination_id
        where d.user_id = n.user_id and d.notice_id = n.id), '[]') as deliveries
    from notices n where n.user_id = ${owner} ${before}
    order by n.created_at desc, n.id desc limit ${limit + 1}`;
}

const isoTime = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export const noticeView = ({ id, content, created_at, deliveries }: NoticeRow): ShownNotice => ({
  id,
  title: titleOf(content),
  ...content,
  created_at: created_at.toISOString(),
  deliveries,
});

export const expireNotices = (db: Db): Promise<number> =>
  deleteBatch(db, 'notices', sql`created_at < now() - ${WARNING_LIMITS.retentionDays} * interval '1 day'`);
