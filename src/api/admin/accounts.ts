/** Upstream accounts with their state on all servers, and their test. Never shows a credential, sealed or not. */
import { sql } from 'kysely';
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail, failAt, notFound } from '../../core/index.ts';
import { type Db, firstRow, type Row, snapshot } from '../../platform/db/index.ts';
import { lockHealth, REACHED_LIMITS } from '../../providers/pool/index.ts';
import * as schemas from '../../schemas/index.ts';
import { BY_GROUP } from './catalog.ts';
import { operation } from './handler.ts';
import { listOperation } from './list.ts';

/** As JSON has them, where a time is text. */
type JsonTimes<T> = { readonly [K in keyof T]: T[K] extends Date ? string : T[K] };

interface CooldownColumns extends JsonTimes<Omit<Row<'account_cooldowns'>, 'model'>> {
  readonly model: string | null;
  readonly is_over: boolean;
  readonly [column: string]: unknown;
}

type Secret = 'credential_sealed' | 'proxy_sealed' | 'assets_secret_sealed';
interface AccountRow extends Omit<Row<'accounts'>, Secret> {
  readonly cooldowns: readonly CooldownColumns[];
  readonly park: JsonTimes<Row<'account_parks'>> | null;
  readonly last_test: schemas.ShownAccount['last_test'];
  readonly in_flight: number;
  readonly learned_concurrency: number | null;
  readonly is_full: boolean;
  readonly reached: { readonly limit: string; readonly until: string } | null;
}

/**
 * Null in `model` and `operation` means the whole account. An ejection that is over still waits for a successful probe.
 */
const COOLDOWNS = sql`
  (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from (
    select c.replica_id as replica, r.host, nullif(c.model, '') as model, nullif(c.operation, '') as operation, c.reason,
      c.provider_code, c.message, c.faults, c.ejections, c.in_use, c.until <= now() as is_over, c.since, c.until
    from account_cooldowns c left join replicas r on r.id = c.replica_id
    where c.account_id = accounts.id and (c.until > now() or c.ejections > 0)
    order by c.operation, c.model limit 100) c) as cooldowns`;

/** Servers write their numbers at least every five seconds while there are any. */
const LOADS = sql`
  (select coalesce(sum((l.in_flight ->> accounts.id)::integer), 0)::integer from account_loads l
    where l.at > now() - interval '15 seconds') as in_flight,
  (select min((l.used -> accounts.id ->> 'concurrency')::integer) from account_loads l
    where l.at > now() - interval '15 seconds' and accounts.max_concurrency = ${schemas.UNLIMITED_CONCURRENCY}) as learned_concurrency,
  exists (select from account_loads l where l.at > now() - interval '15 seconds'
    and (l.in_flight ->> accounts.id)::integer
      >= coalesce(nullif(accounts.max_concurrency, ${schemas.UNLIMITED_CONCURRENCY}),
        (l.used -> accounts.id ->> 'concurrency')::integer)) as is_full,
  (select to_jsonb(u) from (
    select u.limit, u.until from ${REACHED_LIMITS} u where u.account_id = accounts.id order by u.until desc limit 1) u) as reached`;

const PARK = sql`
  (select to_jsonb(p) from (
    select state, cause, provider_code, message, reason, since from account_parks where account_id = accounts.id) p) as park`;

const LAST_TEST = sql`
  (select to_jsonb(t) from (
    select at, ok, model, status, reason, provider_code, message from account_tests where account_id = accounts.id) t) as last_test`;

/** Selects columns by name, so that a column added later is not shown by accident. */
const SELECT = sql<AccountRow>`
  select ${sql.join(schemas.ACCOUNT_COLUMNS.map((name) => sql.ref(name)))}, ${COOLDOWNS}, ${LOADS}, ${PARK}, ${LAST_TEST} from accounts`;

function cooldownState({ is_over, reason, in_use }: Pick<CooldownColumns, 'is_over' | 'reason' | 'in_use'>): string {
  if (is_over) return 'half_open';
  if (reason === 'model') return 'avoided';
  return in_use ? 'in_use' : 'out';
}

function accountView(row: AccountRow) {
  const { park: _, is_full: __, reached: ___, ...columns } = row;
  return {
    ...schemas.membersOf(columns),
    ...stateOf(row),
    groups: schemas.shownGroups(row),
    base_url: withoutSecrets(row.base_url),
    assets: assetsView(row.assets),
    last_test: row.last_test && { ...row.last_test, at: new Date(row.last_test.at).toISOString() },
    cooldowns: row.cooldowns.map(({ is_over, since, until, ...cooldown }) => ({
      ...cooldown,
      state: cooldownState({ is_over, ...cooldown }),
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
    })),
  };
}

/** The state of the account as a whole; cooldowns of single models are in the list. */
function stateOf({ park, cooldowns, is_full, reached }: AccountRow): object {
  const nothing = { reason: null, provider_code: null, message: null, since: null, until: null };
  if (park) {
    const { cause, state, provider_code, message } = park;
    const since = new Date(park.since).toISOString();
    if (cause === 'credential')
      return { ...nothing, state: 'refused_credential', reason: 'credential', provider_code, message, since };
    return { ...nothing, state, reason: park.reason, since };
  }
  const whole = cooldowns.find(({ operation, in_use, is_over }) => operation === null && !in_use && !is_over);
  if (whole) {
    const { reason: kind, provider_code, message, since, until } = whole;
    const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
    return { state: 'cooling', reason: kind, provider_code, message, ...times };
  }
  if (reached)
    return { ...nothing, state: 'limited', reason: reached.limit, until: new Date(reached.until).toISOString() };
  return { ...nothing, state: is_full ? 'full' : 'healthy' };
}

export async function readAccountSettings(tx: Db, id: string): Promise<Record<string, unknown>> {
  const view: Readonly<Record<string, unknown>> = accountView(await findAccount(tx, id));
  return Object.fromEntries(schemas.ACCOUNT_SETTINGS.map((name) => [name, view[name]]));
}

async function findAccount(tx: Db, id: string): Promise<AccountRow> {
  const row = await firstRow(tx)<AccountRow>`${SELECT} where id = ${id}`;
  if (!row) throw notFound('account', id);
  return row;
}

function assetsView(stored: unknown) {
  if (stored === null) return null;
  const { base_url, region, project } = stored as NonNullable<schemas.ShownAccount['assets']>;
  return { base_url: withoutSecrets(base_url), region, project };
}

/** A base URL may hold user and password, or a token in its query. */
function withoutSecrets(baseUrl = ''): string {
  const url = URL.parse(baseUrl);
  if (!url) return '';
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

export const readAccount = async (db: Db, id: string): Promise<object> => ({
  object: 'account',
  ...accountView(await snapshot(db, (tx) => findAccount(tx, id))),
});

const TestBody = z.strictObject({
  model: schemas.line(512, 'a model of the group; by default its cheapest one without a pattern').optional(),
});

export const ACCOUNTS_OPERATIONS = {
  'admin.accounts': listOperation({ ...BY_GROUP, hasGroups: true, from: SELECT, view: accountView }),
  'admin.account': operation({ handle: ({ id }, { db }) => readAccount(db, id) }),
  /** Waits for the outcome, at most a minute. */
  'admin.testAccount': operation({
    body: TestBody,
    async handle({ id, by, body }, { db, accounts, clock }) {
      const tested = await accounts.test(id, body.model);
      if (tested === 'unknown_account') throw notFound('account', id);
      if (tested === 'unknown_model') throw notFound('model', body.model ?? '', 'model');
      if (tested === 'no_model')
        throw failAt('invalid_request', 'model', 'the group has no text model without a pattern; name one.');
      if (tested === 'no_price')
        throw failAt('invalid_request', 'model', 'no text model of the group has a price; set one, or name a model.');
      if (tested === 'no_text')
        throw fail('invalid_request', 'The account has no feature that answers a text request.');
      if (tested === 'video')
        throw fail('invalid_request', 'Video accounts cannot be tested: a task would be charged.');
      const { ok, model, status, fault, message } = tested;
      const outcome = { ok, model, status, reason: fault?.kind ?? null, provider_code: fault?.providerCode ?? null };
      await db.transaction().execute(async (tx) => {
        await lockHealth(tx);
        await writeAudit(tx, by, { action: 'account.tested', subject: `account:${id}`, after: outcome });
        const test = { ...outcome, message, at: new Date(clock.now()) };
        await tx
          .insertInto('account_tests')
          .values({ account_id: id, ...test })
          .onConflict((row) => row.column('account_id').doUpdateSet(test))
          .execute();
        // The credential works again; a park by an operator stays.
        if (ok)
          await tx.deleteFrom('account_parks').where('account_id', '=', id).where('cause', '=', 'credential').execute();
      });
      await accounts.refresh();
      return {
        object: 'account_test',
        account: id,
        ...outcome,
        message,
        first_byte_ms: tested.firstByteMs,
        duration_ms: tested.totalMs,
      };
    },
  }),
};
