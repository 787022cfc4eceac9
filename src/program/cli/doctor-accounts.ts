/**
 * What `dragoman doctor` finds about provider accounts: why they are out of use, and with --accounts whether they
 * respond.
 */
import { sql } from 'kysely';
import { type Account, type Group, loadCatalog, providerIdentity } from '../../catalog/index.ts';
import { type ProbeServices, probeAccount } from '../../gateway/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { REACHED_LIMITS } from '../../providers/pool/index.ts';
import { type AppContext, loadServices } from '../server/index.ts';
import { bad, duration, type Finding, good, note } from './finding.ts';

/** By the reason of a park or of a cooldown. */
const ADVICE: Readonly<Record<string, string>> = {
  credential: 'apply a valid api_key; if this one is valid again, POST /admin/v1/accounts/ID/test takes it back',
  operator: 'POST /admin/v1/accounts/ID/resume takes it back',
  quota_exhausted: 'add credit at the provider, then POST /admin/v1/accounts/ID/test takes it back',
  unreachable: 'check its base_url, its proxy and the network',
  model: 'correct the upstream name of the model, or leave the model out of this account',
};
const NO_ADVICE = 'it returns by itself';
const adviceOn = (reason: string, account: string): string =>
  (ADVICE[reason] ?? NO_ADVICE).replace('ID', encodeURIComponent(account));

/** Why accounts are out of use, as the servers know it, and which of them are one account of the provider. */
export async function checkAccounts(context: AppContext): Promise<Finding[]> {
  const { db } = context.database;
  const parks = await readParks(db);
  const parked = new Set(parks.map(({ account_id }) => account_id));
  // A park outlasts every cooldown.
  const cooldowns = (await readCooldowns(db)).filter(({ account_id }) => !parked.has(account_id));
  const { rows: limited } = await sql<{ id: string; limit: string; left: number }>`
    select account_id as id, "limit", ceil(extract(epoch from max(until) - now()))::int as left from ${REACHED_LIMITS} l
    group by 1, 2 order by 1, 2 limit 100`.execute(db);
  const limits = limited.map(({ id, limit, left }): Finding => {
    const text = `${id} is at its ${limit} and takes no calls for ${duration(left)}; raise it, or add an account`;
    return note('Account', text);
  });
  return [...parks.map(parkFinding), ...cooldowns.map(cooldownFinding), ...limits, ...(await checkShared(context))];
}

/** Accounts that share an address and credential share the provider's limits, and its video tasks. */
async function checkShared({ database: { db }, sealer, log }: AppContext): Promise<Finding[]> {
  const accounts = (await loadCatalog(db, sealer, log)).allAccounts().filter(({ credential }) => credential !== '');
  return [...Map.groupBy(accounts, providerIdentity).values()]
    .filter((sharing) => sharing.length > 1)
    .map((sharing) =>
      note(
        'Account',
        `${sharing
          .map(({ id }) => id)
          .sort()
          .join(', ')} ${SHARED}`,
      ),
    );
}

const SHARED =
  'have the same address and credential: limits at the provider count for all of them together; one account with several groups does the same with one health and one concurrency limit';

const age = sql<number>`extract(epoch from now() - since)::int`;

const readParks = (db: Db) =>
  db.selectFrom('account_parks').selectAll().select(age.as('age')).orderBy('account_id').limit(100).execute();

function parkFinding(park: Awaited<ReturnType<typeof readParks>>[number]): Finding {
  const { account_id, state, cause, provider_code, message, reason } = park;
  const isRefused = cause === 'credential';
  const why = isRefused ? ['the provider rejects its credential', provider_code, quoted(message)] : [reason];
  const by = isRefused ? '' : ' by an operator';
  return {
    about: 'Account',
    state: isRefused ? 'bad' : 'note',
    text: `${account_id} is ${state}${by} for ${duration(park.age)}${because(why)}; ${adviceOn(cause, account_id)}`,
  };
}

const readCooldowns = (db: Db) =>
  db
    .selectFrom('account_cooldowns as c')
    .leftJoin('replicas as r', 'r.id', 'c.replica_id')
    .selectAll('c')
    .select(['r.host', age.as('age'), sql<number>`ceil(extract(epoch from until - now()))::int`.as('left')])
    .where('c.until', '>', sql<Date>`now()`)
    .orderBy('c.account_id')
    .orderBy('c.operation')
    .orderBy('c.model')
    .limit(100)
    .execute();

function cooldownFinding(cooldown: Awaited<ReturnType<typeof readCooldowns>>[number]): Finding {
  const { account_id, model, operation, reason, provider_code, message, host, left } = cooldown;
  const use = operation === '' ? '' : ` for ${model || 'requests without a model'} (${operation})`;
  const state = cooldown.in_use ? 'fails, but stays in use' : 'cools down';
  const what = reason === 'model' ? 'is avoided' : state;
  const times = `began ${duration(cooldown.age)} ago, ends in ${duration(left)}`;
  const why = because([reason, provider_code, quoted(message)]);
  return {
    about: 'Account',
    state: reason === 'quota_exhausted' ? 'bad' : 'note',
    text: `${account_id} ${what}${use} on ${host ?? 'a former server'} (${times})${why}; ${adviceOn(reason, account_id)}`,
  };
}

const quoted = (message: string | null): string | null => message && `"${message}"`;
const because = (reasons: readonly (string | null)[]): string => {
  const known = reasons.filter(Boolean);
  return known.length === 0 ? '' : `: ${known.join(', ')}`;
};

/** Requests at a time, so that many slow accounts take seconds, not minutes. */
const TESTS_AT_A_TIME = 8;

/** Sends one request to every account. Video accounts are left out, because a task costs money. */
export async function testAccounts(context: AppContext): Promise<Finding[]> {
  const { openProbeServices } = await loadServices();
  const services = await openProbeServices(context);
  try {
    const accounts = services.catalog().allAccounts();
    const findings: Finding[] = [];
    const waiting = accounts.values();
    const work = async (): Promise<void> => {
      for (const account of waiting) {
        const group = services.catalog().group(account.groupId);
        if (group) findings.push(await testAccount(services, group, account));
      }
    };
    await Promise.all(Array.from({ length: TESTS_AT_A_TIME }, work));
    const bill = 'each account got one request of a few tokens, which its provider bills to you';
    return [note('Test', bill), ...findings.toSorted((a, b) => (a.text < b.text ? -1 : 1))];
  } finally {
    await services.close();
  }
}

async function testAccount(services: ProbeServices, group: Group, account: Account): Promise<Finding> {
  if (group.style === 'video') return note('Test', `${account.id} (${group.id}) is a video account and was not tested`);
  const { ok, status, firstByteMs, totalMs, message, model } = await probeAccount(services, group, account);
  const times = `first byte ${firstByteMs ?? '-'} ms, all ${totalMs} ms`;
  if (ok) return good('Test', `${account.id} (${group.id}) replied with ${model}: ${times}`);
  if (model === null) return note('Test', `${account.id} (${group.id}): ${message}`);
  const response = status === null ? 'no response' : `HTTP ${status}`;
  return bad('Test', `${account.id} (${group.id}) failed with ${model}: ${response}, ${times}: ${message}`);
}
