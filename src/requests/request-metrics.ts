/**
 * Metrics by group, account and model. The model is the line of the catalog that the name resolves to, so the number of series is
 * bounded by the configuration, and further ones are counted as `other`.
 */
import type { Catalog } from '../catalog/index.ts';
import type { Metrics } from '../web/index.ts';
import type { ErrorSide, RequestEntry } from './request-entry.ts';
import type { EntryCosts } from './request-writer.ts';

interface Series {
  readonly labels: Readonly<Record<'group' | 'account' | 'model', string>>;
  requests: number;
  readonly errors: Record<ErrorSide, number>;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  charge: number;
  cost: number;
}

/** Far more than a configuration has; a scrape stays below some megabytes. */
const MAX_SERIES = 2_000;
const NANOS_PER_DOLLAR = 1e9;
/** From a fast cache to a slow reasoning model. */
const FIRST_BYTE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120];
const ADDED_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];

export class RequestMetrics {
  readonly #catalog: () => Catalog;
  readonly #series = new Map<string, Series>();
  readonly #firstByte: ReturnType<Metrics['histogram']>;
  readonly #added: ReturnType<Metrics['histogram']>;

  constructor(metrics: Metrics, catalog: () => Catalog) {
    this.#catalog = catalog;
    const counter = (name: string, description: string, read: (series: Series) => number): void =>
      metrics.counter(name, description, () =>
        [...this.#series.values()].map((series) => ({ value: read(series), labels: series.labels })),
      );
    counter(
      'dragoman_account_requests_total',
      'Calls by the account of their last attempt',
      ({ requests }) => requests,
    );
    metrics.counter('dragoman_account_errors_total', 'Failed calls, by the side of the failure', () =>
      [...this.#series.values()].flatMap(({ labels, errors }) =>
        Object.entries(errors).map(([side, value]) => ({ value, labels: { ...labels, side } })),
      ),
    );
    metrics.counter('dragoman_account_tokens_total', 'Tokens of charged calls', () =>
      [...this.#series.values()].flatMap(({ labels, inputTokens, cachedTokens, outputTokens }) => [
        { value: inputTokens, labels: { ...labels, kind: 'input' } },
        { value: cachedTokens, labels: { ...labels, kind: 'cached_input' } },
        { value: outputTokens, labels: { ...labels, kind: 'output' } },
      ]),
    );
    counter('dragoman_account_charge_dollars_total', 'What users paid', ({ charge }) => charge);
    counter(
      'dragoman_account_cost_dollars_total',
      'What the provider charges, where the cost is known',
      ({ cost }) => cost,
    );
    this.#firstByte = metrics.histogram(
      'dragoman_account_first_byte_seconds',
      "Time until the provider's first byte",
      FIRST_BYTE_SECONDS,
    );
    this.#added = metrics.histogram(
      'dragoman_account_added_seconds',
      'Time that the gateway adds to the time of the provider',
      ADDED_SECONDS,
    );
  }

  record(entry: RequestEntry): void {
    const id = this.#idOf(entry);
    const series = this.#seriesOf(id, entry);
    const { error, charge, firstByteMs, addedMs } = entry;
    series.requests += 1;
    if (error) series.errors[error] += 1;
    if (firstByteMs !== undefined) this.#firstByte.record(firstByteMs / 1_000, id, series.labels);
    if (addedMs !== undefined) this.#added.record(addedMs / 1_000, id, series.labels);
    if (!charge) return;
    series.inputTokens += charge.usage.input;
    series.cachedTokens += charge.usage.cacheRead;
    series.outputTokens += charge.usage.output;
    series.charge += Number(charge.nanos) / NANOS_PER_DOLLAR;
  }

  /** Costs are known once the entries are written. */
  recordCosts(costs: EntryCosts): void {
    for (const [entry, nanos] of costs)
      this.#seriesOf(this.#idOf(entry), entry).cost += Number(nanos) / NANOS_PER_DOLLAR;
  }

  #modelOf({ groupId, model }: RequestEntry): string {
    return model === undefined ? '' : (this.#catalog().resolve(groupId, model)?.line.pattern ?? 'other');
  }

  #idOf(entry: RequestEntry): string {
    const id = `${entry.groupId}\n${entry.trace.attempts.at(-1)?.accountId ?? ''}\n${this.#modelOf(entry)}`;
    return this.#series.size < MAX_SERIES || this.#series.has(id) ? id : 'other';
  }

  #seriesOf(id: string, entry: RequestEntry): Series {
    let series = this.#series.get(id);
    if (!series) {
      const isOther = id === 'other';
      series = {
        labels: {
          group: isOther ? 'other' : entry.groupId,
          account: isOther ? 'other' : (entry.trace.attempts.at(-1)?.accountId ?? ''),
          model: isOther ? 'other' : this.#modelOf(entry),
        },
        requests: 0,
        errors: { provider: 0, ours: 0, caller: 0 },
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        charge: 0,
        cost: 0,
      };
      this.#series.set(id, series);
    }
    return series;
  }
}
