/**
 * What usage records add to the roll-ups by day, and for the charge the
 * first charged record and the number of charged ones.
 */
import { DAY_MS, entryOf, utcDay } from '../../core/index.ts';
import type { ProviderCosts } from '../pricing/provider-cost.ts';
import { DAILY_SUMS, storableText, type UsageRecord } from '../usage-record.ts';

type Counter = (typeof DAILY_SUMS)[number] | 'charged';

/**
 * One row for each user, day, key, group, model, account and operation. Counters are text, because JSON has no bigint.
 */
export function dailySums(records: readonly UsageRecord[], costs: ProviderCosts): readonly object[] {
  const sums = new Map<string, { readonly names: object; first: string | null; readonly counters: Counters }>();
  const days = new Map<number, string>();
  for (const record of records) {
    const { userId, keyId, groupId, accountId, operation } = record;
    const model = storableText(record.model);
    const dayNumber = Math.floor(record.at / DAY_MS);
    const day = days.get(dayNumber) ?? utcDay(dayNumber * DAY_MS);
    days.set(dayNumber, day);
    const key = [userId, day, keyId, groupId, model, accountId, operation].join('\0');
    const names = { user_id: userId, day, key_id: keyId, group_id: groupId, model, account_id: accountId, operation };
    const sum = entryOf(sums, key, () => ({ names, first: null, counters: new Counters() }));
    sum.counters.addRecord(record, costs.get(record));
    if (record.nanos > 0n && (sum.first === null || record.id < sum.first)) sum.first = record.id;
  }
  return [...sums.values()].map(({ names, first, counters }) => ({ ...names, first, ...counters.texts() }));
}

class Counters {
  readonly #counts = new Map<Counter, bigint>([...DAILY_SUMS, 'charged' as const].map((name) => [name, 0n]));

  addRecord(record: UsageRecord, cost: bigint | undefined): void {
    this.#add('cost_nanos', cost);
    this.#add('cost_unknown', cost === undefined ? 1 : 0);
    if (record.fault === undefined) this.#addCall(record);
    else this.#add('failed_cost_nanos', cost);
  }

  #addCall({ usage, images, nanos, estimated }: UsageRecord): void {
    this.#add('requests', 1);
    this.#add('input_tokens', usage.input);
    this.#add('cached_input_tokens', usage.cacheRead);
    this.#add('cache_write_tokens', usage.cacheWrite);
    this.#add('output_tokens', usage.output);
    this.#add('reasoning_tokens', usage.reasoning);
    this.#add('audio_tokens', (usage.inputAudio ?? 0) + (usage.outputAudio ?? 0));
    this.#add('image_tokens', (usage.inputImage ?? 0) + (usage.outputImage ?? 0));
    this.#add('searches', usage.searches);
    this.#add('images', images);
    this.#add('nanos', nanos);
    this.#add('estimated', estimated ? 1 : 0);
    this.#add('charged', nanos > 0n ? 1 : 0);
  }

  texts(): object {
    return Object.fromEntries([...this.#counts].map(([name, count]) => [name, String(count)]));
  }

  #add(name: Counter, count: number | bigint | undefined): void {
    if (count) this.#counts.set(name, (this.#counts.get(name) ?? 0n) + BigInt(count));
  }
}
