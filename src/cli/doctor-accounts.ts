/** What `dragoman doctor` finds about provider accounts: why they are out of use, and with --accounts whether they respond. */
import { sql } from 'kysely';
import type { Account, Group } from '../catalog/index.ts';
import { type ProbeServices, probeAccount } from '../gateway/index.ts';
import { type AppContext, loadServices } from '../server/index.ts';
import type { Finding } from './finding.ts';

const QUOTA_ADVICE = 'it has no quota left; add credit at the provider';
const CREDENTIAL_ADVICE =
  'the provider rejects its credential; apply a valid api_key, or POST /admin/v1/accounts/ID/test and resume it';

/** Why accounts are out of use, as the servers know it. */
export const checkAccounts = async (context: AppContext): Promise<Finding[]> => [
  ...(await checkParks(context)),
  ...(await checkCooldowns(context)),
];

async function checkParks({ database: { db } }: AppContext): Promise<Finding[]> {
  const rows = await db.selectFrom('account_parks').selectAll().orderBy('account_id').limit(100).execute();
  return rows.map(({ account_id, state, cause, provider_code, message, reason, since }) => {
    const isRefused = cause === 'credential';
    const why = isRefused ? [provider_code, message && `"${message}"`] : [reason ?? 'by an operator'];
    const advice = isRefused ? CREDENTIAL_ADVICE : 'POST /admin/v1/accounts/ID/resume takes it back';
    const text = `${account_id} is ${state} since ${since.toISOString()}: ${[cause, ...why].filter(Boolean).join(', ')}`;
    return {
      about: 'Account',
      state: isRefused ? 'bad' : 'note',
      text: `${text}; ${advice.replace('ID', account_id)}`,
    };
  });
}

async function checkCooldowns({ database: { db } }: AppContext): Promise<Finding[]> {
  const rows = await db
    .selectFrom('account_cooldowns as c')
    .leftJoin('replicas as r', 'r.id', 'c.replica_id')
    .selectAll('c')
    .select('r.host')
    .where('c.until', '>', sql<Date>`now()`)
    .orderBy('c.account_id')
    .orderBy('c.operation')
    .orderBy('c.model')
    .limit(100)
    .execute();
  return rows.map((row) => {
    const { account_id, model, operation, reason, provider_code, message, faults, since, until, host, replica_id } =
      row;
    const use = operation === '' ? '' : ` for ${model || 'requests without a model'} (${operation})`;
    const what = reason === 'model' ? 'is avoided' : row.in_use ? 'fails, and stays in use,' : 'cools down';
    const why = [reason, provider_code, message && `"${message}"`].filter(Boolean).join(', ');
    const isOut = reason === 'quota_exhausted';
    return {
      about: 'Account',
      state: isOut ? 'bad' : 'note',
      text: `${account_id} ${what}${use} since ${since.toISOString()} until ${until.toISOString()}, by ${host ?? 'a former server'} (${replica_id}): ${why}, faults: ${faults}${isOut ? `; ${QUOTA_ADVICE}` : ''}`,
    };
  });
}

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
    const note = 'each account got one request of a few tokens, which its provider bills to you';
    return [{ about: 'Test', state: 'note', text: note }, ...findings.toSorted((a, b) => (a.text < b.text ? -1 : 1))];
  } finally {
    await services.close();
  }
}

async function testAccount(services: ProbeServices, group: Group, account: Account): Promise<Finding> {
  const about = 'Test';
  if (group.style === 'video')
    return { about, state: 'note', text: `${account.id} (${group.id}) is a video account and was not tested` };
  const { ok, status, firstByteMs, totalMs, words, model } = await probeAccount(services, group, account);
  const times = `first byte ${firstByteMs ?? '-'} ms, all ${totalMs} ms`;
  return ok
    ? { about, state: 'good', text: `${account.id} (${group.id}) replied with ${model}: ${times}` }
    : {
        about,
        state: model === null ? 'note' : 'bad',
        text: `${account.id} (${group.id})${model === null ? '' : ` failed with ${model}: ${status === null ? 'no response' : `HTTP ${status}`}, ${times}`}: ${words}`,
      };
}
