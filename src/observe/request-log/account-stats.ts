/**
 * Statistics of each account: calls that it served, attempts that failed, and the latest error message of its provider.
 */
import { sql } from 'kysely';
import type { Row, Tx } from '../../platform/db/index.ts';
import type { AccountStats } from '../../schemas/index.ts';
import { readTotals, type StatsQuery, statsOfNothing } from './request-stats.ts';

/** A page of accounts has so many, and each so many models. */
const MAX_ACCOUNTS = 200;
const MAX_MODELS = 50;

type ModelRow = Record<'account_id' | 'model', string> &
  Record<'requests' | 'errors', bigint> & { served: Date | null };

type FaultRow = Record<'account_id' | 'model' | 'kind', string> & { attempts: bigint };

type LastRow = Pick<Row<'accounts'>, 'id' | 'group_id'> & {
  readonly [K in 'at' | 'request_id' | 'kind' | 'status' | 'words']: Row<'request_faults'>[K] | null;
};

export async function readAccountStats(tx: Tx, query: Omit<StatsQuery, 'by' | 'bucket'>): Promise<AccountStats[]> {
  const { start, end, group, account } = query;
  const { rows: accounts } = await sql<LastRow>`
    select a.id, a.group_id, f.at, f.request_id, f.kind, f.status, f.words
    from accounts a left join lateral (
      select * from request_faults f where f.account_id = a.id and f.at >= ${start} and f.at < ${end} order by f.at desc limit 1) f on true
    where (${group ?? null}::text is null or ${group ?? null} = any(coalesce(a.groups, array[a.group_id])))
      and (${account ?? null}::text is null or a.id = ${account ?? null})
    order by a.position, a.id limit ${MAX_ACCOUNTS}`.execute(tx);
  const ids = accounts.map(({ id }) => id);
  const { rows: models } = await sql<ModelRow>`
    select account_id, model, sum(requests)::bigint as requests,
      sum(provider_errors + own_errors + caller_errors)::bigint as errors,
      max(hour) filter (where requests > provider_errors) as served
    from request_hours where level = 'all' and hour >= ${start} and hour < ${end} and account_id = any(${ids})
    group by 1, 2 order by 3 desc`.execute(tx);
  const { rows: faults } = await sql<FaultRow>`
    select account_id, model, kind, sum(attempts)::bigint as attempts
    from request_fault_hours where hour >= ${start} and hour < ${end} and account_id = any(${ids})
    group by 1, 2, 3 order by 4 desc`.execute(tx);
  const totals = new Map(
    (await readTotals(tx, { start, end, by: 'account' }, MAX_ACCOUNTS)).map((point) => [point.name, point]),
  );
  return accounts.map((row) => {
    const total = totals.get(row.id) ?? statsOfNothing();
    const own = faults.filter(({ account_id }) => account_id === row.id);
    const { time: _, name: __, ...counts } = total;
    const { input, cached_input } = total.tokens;
    const ownModels = models.filter(({ account_id }) => account_id === row.id);
    return {
      account: row.id,
      group: row.group_id,
      ...counts,
      cache_hit_share: input === 0 ? null : Number((cached_input / input).toFixed(4)),
      faults: sumByKind(own),
      models: modelsOf(ownModels, own),
      served_hour: latest(ownModels.map(({ served }) => served)),
      last_fault: lastFault(row),
    };
  });
}

const latest = (times: readonly (Date | null)[]): string | null => {
  const last = Math.max(0, ...times.map((time) => time?.getTime() ?? 0));
  return last === 0 ? null : new Date(last).toISOString();
};

function modelsOf(rows: readonly ModelRow[], faults: readonly FaultRow[]): AccountStats['models'] {
  const names = [...new Set([...rows, ...faults].map(({ model }) => model))].slice(0, MAX_MODELS);
  return names.map((name) => {
    const row = rows.find(({ model }) => model === name);
    const { requests = 0n, errors = 0n } = row ?? {};
    const own = faults.filter(({ model }) => model === name);
    return { model: name, requests: Number(requests), errors: Number(errors), faults: sumByKind(own) };
  });
}

function sumByKind(rows: readonly FaultRow[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { kind, attempts } of rows) sums[kind] = (sums[kind] ?? 0) + Number(attempts);
  return sums;
}

const lastFault = ({ at, request_id, kind, status, words: message }: LastRow): AccountStats['last_fault'] =>
  at === null || request_id === null || kind === null
    ? null
    : { at: at.toISOString(), request_id, fault: kind, status, message };
