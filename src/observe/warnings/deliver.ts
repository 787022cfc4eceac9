/**
 * Delivery of notices, at least once: takes due deliveries, sends each, records the outcome. Logs ids, never a URL or a
 * secret.
 */
import { type RawBuilder, sql } from 'kysely';
import { WrongMasterKey } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { allRows, type Db, DUE_SOON, type OpenWork, type StoreServices } from '../../platform/db/index.ts';
import * as outbound from '../../platform/outbound/index.ts';
import { type DestinationKind, NOTICE_RULES } from '../../rules/index.ts';
import type { NoticeContent, QuietHours } from '../../schemas/index.ts';
import { allowedAddresses, type DestinationRow, destinationSecret, destinationUrl } from './destinations.ts';
import type { Mailer } from './mail.ts';
import { mailText, type Notice, slackBody, teamsBody, webhookBody } from './messages.ts';
import { quietUntil } from './quiet.ts';
import { OPERATORS } from './rules.ts';

export interface SenderServices extends StoreServices {
  readonly fetcher: Pick<outbound.PublicFetcher, 'post'>;
  /** Undefined without SMTP_URL. */
  readonly mailer: Pick<Mailer, 'send'> | undefined;
  readonly publicUrl: () => string;
}

export const NOTICE_WORK: OpenWork = {
  name: 'notices',
  condition: sql<boolean>`exists (select from notice_deliveries where finished_at is null and next_at < ${DUE_SOON})`,
};

type NoticeTarget = Pick<DestinationRow, 'user_id' | 'id' | 'kind' | 'url_sealed' | 'secret_sealed' | 'addresses'>;

/** Never rejects for what a destination does. */
export async function sendNotice(services: SenderServices, target: NoticeTarget, notice: Omit<Notice, 'url'>) {
  const page = target.user_id === OPERATORS ? 'warnings' : 'my/warnings';
  const full: Notice = { ...notice, url: `${services.publicUrl()}/console/${page}` };
  return target.kind === 'mail' ? mail(services, target, full) : post(services, target, full);
}

async function mail(services: SenderServices, target: NoticeTarget, notice: Notice): Promise<outbound.SendResult> {
  const { db, mailer } = services;
  const to = await allowedAddresses(db, target.user_id, target.addresses ?? []);
  if (to.length === 0) return { ok: false, reason: 'recipient' };
  return mailer?.send({ id: `${notice.id}.${target.id}`, to, ...mailText(notice) }) ?? { ok: false, reason: 'mail' };
}

const FORMS = { webhook: webhookBody, slack: slackBody, teams: teamsBody } as const;

async function post(services: SenderServices, target: NoticeTarget, notice: Notice): Promise<outbound.SendResult> {
  const { sealer, clock, fetcher } = services;
  const { id, url_sealed, secret_sealed } = target;
  if (url_sealed === null) return { ok: false, reason: 'recipient' };
  const body = Buffer.from(JSON.stringify(FORMS[target.kind as Exclude<DestinationKind, 'mail'>](notice)));
  try {
    const url = sealer.open(url_sealed, destinationUrl(id));
    const secret = secret_sealed === null ? undefined : sealer.open(secret_sealed, destinationSecret(id));
    const timestamp = Math.floor(clock.now() / 1_000);
    const headers = secret
      ? outbound.callbackHeaders({ secret: Buffer.from(secret, 'base64'), eventId: notice.id, timestamp, body })
      : ['content-type', 'application/json'];
    const { headMs, timeoutMs, responseBytes: maxBytes } = NOTICE_RULES;
    return await fetcher.post(url, { headers, body, headMs, timeoutMs, maxBytes });
  } catch (error) {
    if (error instanceof WrongMasterKey) return { ok: false, reason: 'secret' };
    throw error;
  }
}

interface TakenDelivery extends NoticeTarget {
  readonly notice_id: string;
  /** With this attempt. Marks compare it: only the last taker writes the outcome. */
  readonly attempts: number;
  readonly content: NoticeContent;
  readonly created_at: Date;
  readonly quiet: QuietHours | null;
}

export async function deliverNotices(services: SenderServices): Promise<number> {
  const taken = await takeDeliveries(services.db);
  if (taken.length > 0) crashPoint('notice.taken');
  await Promise.all(taken.map((delivery) => deliver(services, delivery)));
  return taken.length;
}

/**
 * Owners take turns, each with few at a time: a slow receiver delays no other. Operators come first. After a crash a
 * delivery is due when its lease ends.
 */
async function takeDeliveries(db: Db): Promise<readonly TakenDelivery[]> {
  const { concurrency, perOwner, leaseMs } = NOTICE_RULES;
  return allRows(db)<TakenDelivery>`
    with due as (
      select user_id, notice_id, destination_id, next_at, row_number() over (partition by user_id order by next_at) as turn
      from notice_deliveries where finished_at is null and next_at <= now()
    ), chosen as (
      select e.* from (
        select * from due where turn <= ${perOwner} order by user_id <> '', turn, next_at limit ${concurrency}) next
      cross join lateral (
        select e.user_id, e.notice_id, e.destination_id from notice_deliveries e
        where e.user_id = next.user_id and e.notice_id = next.notice_id and e.destination_id = next.destination_id
          and e.finished_at is null and e.next_at <= now()
        for update skip locked) e
    )
    update notice_deliveries e set attempts = e.attempts + 1, next_at = now() + ${leaseMs} * interval '1 millisecond'
    from chosen c join notices n on n.user_id = c.user_id and n.id = c.notice_id
    left join warning_destinations d on d.user_id = c.user_id and d.id = c.destination_id
    where e.user_id = c.user_id and e.notice_id = c.notice_id and e.destination_id = c.destination_id
    returning e.user_id, e.notice_id, e.destination_id as id, e.attempts, n.content, n.created_at,
      coalesce(d.kind, 'webhook') as kind, d.url_sealed, d.secret_sealed, d.addresses, d.quiet`;
}

async function deliver(services: SenderServices, delivery: TakenDelivery): Promise<void> {
  const { db, clock, log } = services;
  const until = delivery.quiet ? quietUntil(delivery.quiet, clock.now()) : undefined;
  // Waiting for the end of the quiet hours is no attempt.
  if (until !== undefined) return change(db, delivery, sql`attempts = attempts - 1, ${nextIn(until - clock.now())}`);
  const { notice_id: id, content, created_at, attempts } = delivery;
  const result = await sendNotice(services, delivery, { id, at: created_at.getTime(), content });
  crashPoint('notice.sent');
  const attempt = { result, number: attempts, now: clock.now(), random: Math.random() };
  const verdict = outbound.verdictOf(attempt, NOTICE_RULES);
  const summary = outbound.summaryOf(result);
  const finished = verdict.state === 'pending' ? null : sql`now()`;
  const next = nextIn(verdict.state === 'pending' ? verdict.waitMs : 0);
  const outcome = sql`state = ${verdict.state}, last_status = ${summary.status}, last_error = ${summary.error}`;
  await change(db, delivery, sql`${outcome}, ${next}, finished_at = ${finished}`);
  const fields = { user: delivery.user_id, notice: id, destination: delivery.id, attempt: attempts, ...summary };
  if (verdict.state === 'delivered') log.info('notice.delivered', fields);
  else log.warn(verdict.state === 'dead' ? 'notice.dead' : 'notice.failed', fields);
}

const nextIn = (ms: number): RawBuilder<unknown> => sql`next_at = now() + ${ms} * interval '1 millisecond'`;

async function change(db: Db, delivery: TakenDelivery, columns: RawBuilder<unknown>): Promise<void> {
  const { user_id, notice_id, id, attempts } = delivery;
  await sql`
    update notice_deliveries set ${columns}
    where user_id = ${user_id} and notice_id = ${notice_id} and destination_id = ${id} and attempts = ${attempts}
      and finished_at is null`.execute(db);
}
