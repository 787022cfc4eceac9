/**
 * Metrics by group, account and model. The model is its line in the catalog, which bounds the series; further ones are
 * `other`.
 */

import type { Catalog } from '../../catalog/index.ts';
import { entryOf } from '../../core/index.ts';
import type { Metrics } from '../../platform/web/index.ts';
import type { MetricName } from '../../rules/index.ts';
import type { ErrorSide } from '../../schemas/index.ts';
import type { RequestEntry } from './request-entry.ts';
import type { EntryCosts } from './request-writer.ts';

const newSeries = (id: string, labels: Readonly<Record<'group' | 'account' | 'model', string>>) => {
  const errors: Record<ErrorSide, number> = { provider: 0, ours: 0, caller: 0 };
  return { id, labels, errors, requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, charge: 0, cost: 0 };
};
type Series = ReturnType<typeof newSeries>;

interface KnownSeries {
  readonly catalog: Catalog | undefined;
  size: number;
  readonly byModel: Map<string, readonly Series[]>;
}

/** Far more than a configuration has; a scrape stays below some megabytes. */
const MAX_SERIES = 2_000;
const NANOS_PER_DOLLAR = 1e9;
/** From a fast cache to a slow reasoning model. */
const FIRST_BYTE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120];
/** From a forwarded call to one that waited for a slot. */
const ADDED_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];

export class RequestMetrics {
  readonly #catalog: () => Catalog;
  readonly #series = new Map<string, Series>();
  /** Series by the name of the model in a request, for the catalog of the moment. */
  #known: KnownSeries = { catalog: undefined, size: 0, byModel: new Map() };
  /** By group and fallback group. Their number is bounded by that of the groups. */
  readonly #fallbacks = new Map<string, { value: number; readonly labels: Readonly<Record<string, string>> }>();
  readonly #firstByte: ReturnType<Metrics['histogram']>;
  readonly #added: ReturnType<Metrics['histogram']>;

  constructor(metrics: Metrics, catalog: () => Catalog) {
    this.#catalog = catalog;
    const counter = (name: MetricName, read: (series: Series) => number): void =>
      metrics.register(name, () =>
        [...this.#series.values()].map((series) => ({ value: read(series), labels: series.labels })),
      );
    counter('dragoman_account_requests_total', ({ requests }) => requests);
    metrics.register('dragoman_account_errors_total', () =>
      [...this.#series.values()].flatMap(({ labels, errors }) =>
        Object.entries(errors).map(([side, value]) => ({ value, labels: { ...labels, side } })),
      ),
    );
    metrics.register('dragoman_account_tokens_total', () =>
      [...this.#series.values()].flatMap(({ labels, inputTokens, cachedTokens, outputTokens }) => [
        { value: inputTokens, labels: { ...labels, kind: 'input' } },
        { value: cachedTokens, labels: { ...labels, kind: 'cached_input' } },
        { value: outputTokens, labels: { ...labels, kind: 'output' } },
      ]),
    );
    counter('dragoman_account_charge_dollars_total', ({ charge }) => charge);
    counter('dragoman_account_cost_dollars_total', ({ cost }) => cost);
    metrics.register('dragoman_fallback_requests_total', () =>
      [...this.#fallbacks.values()].map(({ value, labels }) => ({ value, labels })),
    );
    this.#firstByte = metrics.histogram('dragoman_account_first_byte_seconds', FIRST_BYTE_SECONDS);
    this.#added = metrics.histogram('dragoman_account_added_seconds', ADDED_SECONDS);
  }

  record(entry: RequestEntry): void {
    const series = this.#seriesOf(entry);
    const { error, charge, firstByteMs, addedMs } = entry;
    series.requests += 1;
    if (error) series.errors[error] += 1;
    if (firstByteMs !== undefined) this.#firstByte.record(firstByteMs / 1_000, series.id, series.labels);
    if (addedMs !== undefined) this.#added.record(addedMs / 1_000, series.id, series.labels);
    this.#countFallback(entry);
    if (!charge) return;
    series.inputTokens += charge.usage.input;
    series.cachedTokens += charge.usage.cacheRead;
    series.outputTokens += charge.usage.output;
    series.charge += Number(charge.nanos) / NANOS_PER_DOLLAR;
  }

  #countFallback({ groupId, trace: { attempts } }: RequestEntry): void {
    const fallback = attempts.at(-1)?.groupId;
    if (fallback === undefined) return;
    const id = `${groupId}\n${fallback}`;
    const known = this.#fallbacks.get(id);
    if (known) known.value += 1;
    else this.#fallbacks.set(id, { value: 1, labels: { group: groupId, fallback } });
  }

  /** Costs are known once the entries are written. */
  recordCosts(costs: EntryCosts): void {
    for (const [entry, nanos] of costs) this.#seriesOf(entry).cost += Number(nanos) / NANOS_PER_DOLLAR;
  }

  /** Every call looks for its series, so those of known names are found without building a text. */
  #seriesOf(entry: RequestEntry): Series {
    const catalog = this.#catalog();
    if (catalog !== this.#known.catalog || this.#known.size >= MAX_SERIES)
      this.#known = { catalog, size: 0, byModel: new Map() };
    const account = entry.trace.attempts.at(-1)?.accountId ?? '';
    const model = entry.model ?? '';
    const known = this.#known.byModel
      .get(model)
      ?.find(({ labels }) => labels.account === account && labels.group === entry.groupId);
    if (known) return known;
    const series = this.#findSeries(entry.groupId, account, model && this.#lineOf(entry.groupId, model));
    this.#known.byModel.set(model, [...(this.#known.byModel.get(model) ?? []), series]);
    this.#known.size += 1;
    return series;
  }

  #lineOf(groupId: string, model: string): string {
    const catalog = this.#catalog();
    // A key of any group may create videos.
    const videos = catalog.groups().filter(({ style }) => style === 'video');
    for (const id of [groupId, ...videos.map(({ id }) => id)]) {
      const pattern = catalog.resolve(id, model)?.line.pattern;
      if (pattern !== undefined) return pattern;
    }
    return 'other';
  }

  #findSeries(group: string, account: string, model: string): Series {
    const isKnown = this.#series.size < MAX_SERIES || this.#series.has(`${group}\n${account}\n${model}`);
    const labels = isKnown ? { group, account, model } : OTHER;
    const id = `${labels.group}\n${labels.account}\n${labels.model}`;
    return entryOf(this.#series, id, () => newSeries(id, labels));
  }
}

const OTHER = { group: 'other', account: 'other', model: 'other' } as const;
