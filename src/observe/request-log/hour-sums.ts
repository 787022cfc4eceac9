/**
 * What a batch of calls adds to the roll-ups by hour, group, account and model. The same sums as `roll-up.ts` builds
 * from the rows.
 */
import { entryOf, HOUR_MS, type Nanos } from '../../core/index.ts';
import { isCount } from '../../ledger/index.ts';
import { bucketOf, packHistogram } from './histogram.ts';
import { isFault, type RequestEntry } from './request-entry.ts';

/**
 * Callers may invent model names. An hour with more of them is rolled up from its rows, which counts the rare ones
 * together.
 */
export const MAX_MODELS = 200;

export const hourOf = ({ at }: Pick<RequestEntry, 'at'>): number => Math.floor(at / HOUR_MS);

/** Of the primary key of `request_hours`. */
interface Place {
  readonly level: string;
  readonly hour: number;
  readonly group_id: string;
  readonly account_id: string;
  readonly model: string;
}
type FaultPlace = Omit<Place, 'level'> & { readonly kind: string };
const keyOf = ({ hour, group_id, account_id, model, ...rest }: Omit<Place, 'level'>): string =>
  [hour, group_id, account_id, model, ...Object.values(rest)].join('\n');

const COUNTS = [
  'requests',
  'provider_errors',
  'own_errors',
  'caller_errors',
  'client_closed',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'cost_unknown',
] as const;
const MONEY = ['nanos', 'cost_nanos'] as const;
export const TIMES = ['first_byte', 'total', 'added', 'failover'] as const;
export const SUMS = [...COUNTS, ...MONEY] as const;
export const HOUR_COLUMNS = [...SUMS, ...TIMES] as const;

interface Sum {
  readonly place: Place;
  readonly counts: Record<(typeof COUNTS)[number], number>;
  readonly money: Record<(typeof MONEY)[number], bigint>;
  readonly times: Record<(typeof TIMES)[number], number[]>;
}

function levelsAbove({ hour, group_id, account_id, model }: Place): readonly Place[] {
  const total = { level: 'total', hour, group_id: '', account_id: '', model: '' };
  const group = { ...total, level: 'group', group_id };
  const account = { ...total, level: 'account', account_id };
  return [group, account, { ...total, level: 'model', model }, total];
}

/** The sums of one batch. A call is added once; the higher levels are added up at the end. */
export class HourSums {
  readonly #sums = new Map<string, Sum>();
  readonly #faults = new Map<string, FaultPlace & { attempts: number }>();

  add(entry: RequestEntry, cost: Nanos | undefined, model: string): void {
    const hour = hourOf(entry);
    const { attempts } = entry.trace;
    const account_id = attempts.at(-1)?.accountId ?? '';
    grow(sumAt(this.#sums, { level: 'all', hour, group_id: entry.groupId, account_id, model }), entry, cost);
    for (const { accountId, groupId = entry.groupId, outcome } of attempts)
      if (isFault(outcome)) this.#addFault({ hour, group_id: groupId, account_id: accountId, model, kind: outcome });
  }

  /** Rows for `jsonb_to_recordset`. */
  get hours(): readonly object[] {
    const sums = new Map(this.#sums);
    for (const sum of this.#sums.values()) for (const place of levelsAbove(sum.place)) addSum(sumAt(sums, place), sum);
    return [...sums.values()].map(({ place, counts, money, times }) => ({
      ...place,
      ...counts,
      ...Object.fromEntries(MONEY.map((name) => [name, money[name].toString()])),
      ...Object.fromEntries(TIMES.map((name) => [name, packHistogram(times[name])])),
    }));
  }

  get faults(): readonly object[] {
    return [...this.#faults.values()];
  }

  #addFault(place: FaultPlace): void {
    entryOf(this.#faults, keyOf(place), () => ({ ...place, attempts: 0 })).attempts += 1;
  }
}

function sumAt(sums: Map<string, Sum>, place: Place): Sum {
  const known = sums.get(keyOf(place));
  if (known) return known;
  const sum: Sum = {
    place,
    counts: Object.fromEntries(COUNTS.map((name) => [name, 0])) as Sum['counts'],
    money: { nanos: 0n, cost_nanos: 0n },
    times: { first_byte: [], total: [], added: [], failover: [] },
  };
  sums.set(keyOf(place), sum);
  return sum;
}

function addSum(sum: Sum, { counts, money, times }: Sum): void {
  for (const name of COUNTS) sum.counts[name] += counts[name];
  for (const name of MONEY) sum.money[name] += money[name];
  // `forEach` skips the buckets without a call.
  for (const name of TIMES)
    times[name].forEach((calls, bucket) => {
      sum.times[name][bucket] = (sum.times[name][bucket] ?? 0) + calls;
    });
}

function grow({ counts, money, times }: Sum, entry: RequestEntry, cost: Nanos | undefined): void {
  const { error, charge, outcome } = entry;
  counts.requests += 1;
  if (error === 'provider') counts.provider_errors += 1;
  if (error === 'ours') counts.own_errors += 1;
  if (error === 'caller') counts.caller_errors += 1;
  if (outcome === 'client_closed') counts.client_closed += 1;
  if (charge) {
    counts.input_tokens += believed(charge.usage.input);
    counts.cached_input_tokens += believed(charge.usage.cacheRead);
    counts.output_tokens += believed(charge.usage.output);
    money.nanos += charge.nanos;
    if (charge.nanos > 0n && cost === undefined) counts.cost_unknown += 1;
  }
  money.cost_nanos += cost ?? 0n;
  addTime(times.first_byte, entry.firstByteMs);
  addTime(times.total, entry.totalMs);
  addTime(times.added, entry.addedMs);
  addTime(times.failover, entry.failoverMs);
}

/** Sums of what a faulty provider reports could exceed their columns. */
const believed = (count: number | undefined): number => (isCount(count) ? count : 0);

function addTime(histogram: number[], ms: number | undefined): void {
  if (ms === undefined) return;
  // As the row has it, so that a roll-up from the rows finds the same bucket.
  const bucket = bucketOf(Math.fround(Math.round(ms * 1e3) / 1e3));
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}
