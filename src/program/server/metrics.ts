/**
 * The metrics that a server adds to those of its requests. docs/operating/metrics.md explains each one and what to do
 * about it.
 */
import type { Catalog } from '../../catalog/index.ts';
import { repeat } from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import { type AlarmState, type Metering, type MeteringState, readAlarms } from '../../ledger/index.ts';
import type { RevisionWatch } from '../../platform/db/index.ts';
import type { BodyBudget, Metrics } from '../../platform/web/index.ts';
import type { Pool } from '../../providers/pool/index.ts';
import type { FaultKind, MetricName } from '../../rules/index.ts';
import type { AppContext } from './context.ts';

export interface MeasuredParts {
  readonly metering: Metering;
  readonly alarms: AlarmWatch;
  readonly pool: Pool;
  readonly catalog: () => Catalog;
  readonly gateway: Gateway;
  readonly bodyBudget: BodyBudget;
  /** Calls that are missing in the request log. */
  readonly droppedCalls: () => number;
}

export function registerMetrics(metrics: Metrics, parts: MeasuredParts): void {
  registerLedgerMetrics(metrics, parts);
  registerPoolMetrics(metrics, parts);
  registerCallMetrics(metrics, parts);
}

function registerLedgerMetrics(metrics: Metrics, { metering, alarms }: MeasuredParts): void {
  const own = (name: MetricName, read: (state: MeteringState) => number): void =>
    metrics.register(name, () => [{ value: read(metering.state) }]);
  own('dragoman_journal_pending_records', ({ pending }) => pending);
  own('dragoman_journal_oldest_seconds', ({ oldestMs }) => oldestMs / 1000);
  own('dragoman_journal_disk_bytes', ({ journalBytes }) => journalBytes);
  own('dragoman_flush_failures', ({ flushFailures }) => flushFailures);
  metrics.register('dragoman_alarm', () => {
    // This process's own alarm is shown even while the database is down.
    const own = { name: 'flusher_failing', count: metering.state.flushFailures };
    return [...alarms.latest().states, own].map(({ name, count }) => ({ value: count, labels: { alarm: name } }));
  });
  metrics.register('dragoman_alarm_check_age_seconds', () => {
    const { states, ageMs } = alarms.latest();
    return states.slice(0, 1).map(({ ageSeconds }) => ({ value: ageSeconds + ageMs / 1000 }));
  });
}

function registerPoolMetrics(metrics: Metrics, { pool, catalog }: MeasuredParts): void {
  metrics.register('dragoman_account_cooling', () => {
    const cooling = Map.groupBy(pool.cooling(), ({ account }) => account);
    return catalog()
      .allAccounts()
      .flatMap(({ id }) => {
        const { account = [], model = [] } = Object.groupBy(cooling.get(id) ?? [], ({ use }) =>
          use ? 'model' : 'account',
        );
        return [
          { value: account.length, labels: { account: id, scope: 'account' } },
          { value: model.length, labels: { account: id, scope: 'model' } },
        ];
      });
  });
  metrics.register('dragoman_account_out', () => {
    const cooling = pool
      .cooling()
      .filter(({ use, isKept }) => !use && !isKept)
      .map(({ account, kind }) => ({ account, state: 'cooling', cause: kind }));
    const limited = catalog()
      .allAccounts()
      .flatMap((one) => {
        const limit = pool.reachedLimit(one)?.limit;
        return limit ? [{ account: one.id, state: 'limited', cause: limit }] : [];
      });
    return [...pool.parked(), ...cooling, ...limited].map(({ account, state, cause }) => ({
      value: 1,
      labels: { account, state, cause },
    }));
  });
  metrics.register('dragoman_account_in_flight', () =>
    catalog()
      .allAccounts()
      .map(({ id }) => ({ value: pool.inFlight(id), labels: { account: id } })),
  );
  metrics.register('dragoman_account_faults_total', () => {
    const none = catalog()
      .allAccounts()
      .flatMap(({ id }) => SINGLE_FAULTS.map((kind) => ({ account: id, kind, count: 0 })));
    const known = new Map([...none, ...pool.faults()].map((fault) => [`${fault.account}\n${fault.kind}`, fault]));
    return [...known.values()].map(({ account, kind, count }) => ({ value: count, labels: { account, fault: kind } }));
  });
}

/**
 * One of these takes the account out, so there may be no second one; a rate does not count what a series begins with.
 */
const SINGLE_FAULTS = ['credential', 'quota_exhausted'] as const satisfies FaultKind[];

function registerCallMetrics(metrics: Metrics, { gateway, bodyBudget, droppedCalls }: MeasuredParts): void {
  metrics.register('dragoman_request_log_dropped_total', () => [{ value: droppedCalls() }]);
  metrics.register('dragoman_large_body_bytes', () => [{ value: bodyBudget.reservedBytes }]);
  metrics.register('dragoman_options_removed_total', () =>
    gateway.rejectedOptions().map(({ dialect, option, count }) => ({ value: count, labels: { dialect, option } })),
  );
  metrics.register('dragoman_account_queue', () =>
    gateway.pressure().queued.map(({ groupId, length }) => ({ value: length, labels: { group: groupId } })),
  );
  metrics.register('dragoman_retries_refused_total', () => [{ value: gateway.pressure().retriesRefused }]);
}

/** Beside the announcements of the jobs. */
const ALARM_READ_MS = 30_000;

export interface AlarmWatch {
  /** The alarms as last read, none while the database is down, and how old the reading is. */
  latest(): { readonly states: readonly AlarmState[]; readonly ageMs: number };
  stop(): Promise<void>;
}

/** Reads the alarms in the background, so that a scrape of the metrics never needs the database. */
export async function watchAlarms(
  { database: { db }, clock }: AppContext,
  watch: Pick<RevisionWatch, 'onWork'>,
): Promise<AlarmWatch> {
  let states: readonly AlarmState[] = [];
  let readAt = clock.now();
  const read = async (): Promise<void> => {
    states = await readAlarms(db).catch(() => []);
    readAt = clock.now();
  };
  await read();
  watch.onWork(
    (name) => void (name === 'alarms' && read()),
    () => void read(),
  );
  const repetition = repeat(read, { clock, intervalMs: ALARM_READ_MS, onError: () => {} });
  return { latest: () => ({ states, ageMs: clock.now() - readAt }), stop: () => repetition.stop() };
}
