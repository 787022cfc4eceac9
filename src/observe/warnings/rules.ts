/** Rules of an owner: a user, or the operators. Every query contains the owner, and every change has its audit line. */
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { type ApiError, fail, failAt, formatNanos, newId, notFound, parseNanos } from '../../core/index.ts';
import { ALARMS } from '../../ledger/index.ts';
import { type Db, firstRow, type Row, type Tx } from '../../platform/db/index.ts';
import { WARNING_LIMITS, type WarningAudience, type WarningScope, warningKind } from '../../rules/index.ts';
import * as schemas from '../../schemas/index.ts';

export type WarningRow = Row<'warning_rules'> & {
  readonly holds_for: number;
  readonly subject_name: string | null;
};

/** Who makes a change. The empty owner stands for the operators. */
export interface WarningActor {
  readonly owner: string;
  readonly by: Actor;
}

export const OPERATORS = '';
export const audienceOf = (owner: string): WarningAudience => (owner === OPERATORS ? 'operator' : 'user');

const HOLDS = sql<number>`(
  select count(*)::int from warning_states s where s.user_id = warning_rules.user_id and s.rule_id = warning_rules.id)`;

/** Keys of other users have no name for a user. */
const NAME = sql<string | null>`(
  select k.name from keys k
  where warning_rules.scope = 'key' and k.id = warning_rules.subject and warning_rules.user_id in (${OPERATORS}, k.user_id))`;

const rulesOf = (db: Db, owner: string) =>
  db
    .selectFrom('warning_rules')
    .selectAll()
    .select([HOLDS.as('holds_for'), NAME.as('subject_name')])
    .where('user_id', '=', owner);

/** All of them, in the order of their creation: an owner has few. */
export const listWarnings = (db: Db, owner: string): Promise<WarningRow[]> =>
  rulesOf(db, owner).orderBy('created_at').orderBy('id').execute();

async function readWarning(tx: Tx, owner: string, id: string): Promise<WarningRow> {
  const row = await rulesOf(tx, owner).where('id', '=', id).executeTakeFirst();
  if (!row) throw notFound('warning', id);
  return row;
}

export const createWarning = (db: Db, rule: schemas.NewWarning, { owner, by }: WarningActor) =>
  db.transaction().execute(async (tx) => {
    await lockOwner(tx, owner);
    const { scope, period, minCalls, states } = schemas.warningDefaults(rule);
    // A user watches no other user.
    const subject = rule.subject ?? (owner !== OPERATORS && scope === 'user' ? owner : undefined);
    await checkSubject(tx, owner, { kind: rule.kind, scope, subject });
    await checkDestinations(tx, owner, rule.destinations);
    await expectFree(tx, 'rules', owner);
    const id = newId('warning');
    await tx
      .insertInto('warning_rules')
      .values({
        user_id: owner,
        id,
        name: rule.name ?? warningKind(rule.kind).about,
        kind: rule.kind,
        scope,
        subject: subject ?? null,
        period: period ?? null,
        nanos: nanosOf(rule.amount) ?? null,
        percent: rule.percent ?? null,
        min_calls: rule.min_calls ?? minCalls ?? null,
        states: rule.states ?? (states ? [...states] : null),
        destinations: rule.destinations ?? null,
      })
      .execute();
    const view = warningView(await readWarning(tx, owner, id));
    await writeAudit(tx, by, { action: 'warning.created', subject: `warning:${id}`, after: view });
    return view;
  });

export const changeWarning = (db: Db, id: string, change: schemas.WarningChange, { owner, by }: WarningActor) =>
  db.transaction().execute(async (tx) => {
    await lockOwner(tx, owner);
    const before = warningView(await readWarning(tx, owner, id));
    const merged = Object.entries({ ...before, ...change }).map(([name, value]) => [name, value ?? undefined]);
    const { subject: _, ...checked } = Object.fromEntries(merged) as Parameters<typeof schemas.problemsOf>[0];
    const [problem] = schemas.problemsOf(checked);
    if (problem) throw fail('invalid_request', `${problem[0]}: ${problem[1]}.`, { param: problem[0] });
    await checkDestinations(tx, owner, change.destinations);
    const { amount, states, ...rest } = change;
    await tx
      .updateTable('warning_rules')
      .set({
        ...rest,
        ...(amount !== undefined && { nanos: nanosOf(amount) ?? null }),
        ...(states !== undefined && { states: [...states] }),
      })
      .where('user_id', '=', owner)
      .where('id', '=', id)
      .execute();
    // Nobody sees whether the condition ends meanwhile, so what holds after the pause is a new event.
    if (change.paused)
      await tx.deleteFrom('warning_states').where('user_id', '=', owner).where('rule_id', '=', id).execute();
    const after = warningView(await readWarning(tx, owner, id));
    await writeAudit(tx, by, { action: 'warning.changed', subject: `warning:${id}`, before, after });
    return after;
  });

/** Notices that were sent stay. */
export const deleteWarning = (db: Db, id: string, { owner, by }: WarningActor): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await lockOwner(tx, owner);
    const before = warningView(await readWarning(tx, owner, id));
    await tx.deleteFrom('warning_rules').where('user_id', '=', owner).where('id', '=', id).execute();
    await writeAudit(tx, by, { action: 'warning.deleted', subject: `warning:${id}`, before });
  });

/** Changes of one owner wait for one another, so that limits of numbers hold. */
export const lockOwner = (tx: Tx, owner: string): Promise<unknown> =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`warnings of ${owner}`}, 0))`.execute(tx);

export async function expectFree(tx: Tx, what: 'rules' | 'destinations', owner: string): Promise<void> {
  const most = WARNING_LIMITS[what][audienceOf(owner)];
  const own = await firstRow(tx)<{ count: number }>`
    select count(*)::int as count from ${sql.table(`warning_${what}`)} where user_id = ${owner}`;
  if ((own?.count ?? 0) >= most)
    throw fail('conflict', `There are ${most} ${what} of warnings already, which is the limit; delete one first.`);
}

interface Subject {
  readonly kind: schemas.NewWarning['kind'];
  readonly scope: WarningScope;
  readonly subject: string | undefined;
}

/** Keys of other users do not exist for a user. */
async function checkSubject(tx: Tx, owner: string, { kind, scope, subject }: Subject): Promise<void> {
  if (owner !== OPERATORS && warningKind(kind).audience !== 'user')
    throw failAt('not_permitted', 'kind', `only operators may watch "${kind}".`);
  if (subject === undefined || scope === 'all') return;
  if (scope === 'alarm') {
    if (!Object.hasOwn(ALARMS, subject)) throw unknown(scope, subject);
    return;
  }
  let find = tx.selectFrom(TABLES[scope]).select('id').where('id', '=', subject);
  if (owner !== OPERATORS) find = find.where(sql.ref(scope === 'key' ? 'user_id' : 'id'), '=', owner);
  if (!(await find.executeTakeFirst())) throw unknown(scope, subject);
}

const TABLES = { user: 'users', key: 'keys', group: 'groups', account: 'accounts' } as const;

const unknown = (scope: string, id: string): ApiError =>
  failAt('object_not_found', 'subject', `there is no ${scope} "${id.slice(0, 80)}".`);

async function checkDestinations(tx: Tx, owner: string, ids: readonly string[] | null | undefined): Promise<void> {
  if (!ids) return;
  const known = await tx.selectFrom('warning_destinations').select('id').where('user_id', '=', owner).execute();
  const missing = ids.find((id) => !known.some((row) => row.id === id));
  if (missing !== undefined)
    throw failAt('object_not_found', 'destinations', `there is no destination "${missing.slice(0, 80)}".`);
}

const nanosOf = (amount: string | undefined): bigint | undefined =>
  amount === undefined ? undefined : parseNanos(amount);

export const warningView = (row: WarningRow): schemas.ShownWarning =>
  schemas.shownRow(schemas.ShownWarning, row, { amount: row.nanos === null ? null : formatNanos(row.nanos) });
