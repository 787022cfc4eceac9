/** Anything wrong: alarms first, then numbers that link to their rows, then charts. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type {
  AccountStats,
  ShownAccount,
  ShownAlarm,
  Stats,
  StatsPoint,
  StatsSums,
} from '../../../src/objects/index.ts';
import { admin } from '../api/admin.ts';
import { compactText, countText, plural, shareText } from '../format/count.ts';
import { chartValue, roundMoney, subtractMoney } from '../format/money.ts';
import { durationText } from '../format/time.ts';
import { Chart } from '../parts/chart.tsx';
import { POLL_MS } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import type { Series } from '../parts/series.ts';
import { Badge, State } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import type { Search } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { AccountStateText, isSimulated, reasonOf, wordsOf } from './account-state.tsx';
import { useAccounts } from './catalog.ts';

const RANGES = ['24h', '7d', '30d'] as const;
/** The roll-ups are built every few seconds; a minute is soon enough for a chart. */
const CHART_MS = 60_000;

export const Overview = () => {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const range = RANGES.find((name) => name === search.range) ?? '24h';
  const accounts = useAccounts(POLL_MS);
  const alarms = useQuery({ queryKey: ['alarms'], queryFn: () => admin.alarms(), refetchInterval: POLL_MS });
  const stats = useQuery({
    queryKey: ['stats', range],
    queryFn: () => admin.stats({ range }),
    refetchInterval: CHART_MS,
    placeholderData: keepPreviousData,
  });
  const faults = useQuery({
    queryKey: ['account-stats', range],
    queryFn: () => admin.accountStats({ range }),
    refetchInterval: CHART_MS,
    placeholderData: keepPreviousData,
  });
  if (accounts.data?.data.length === 0) return <Navigate to={paths.setup} replace />;
  return (
    <Page
      title={pages.overview.title}
      beside={accounts.data?.data.some(isSimulated) && <SimulatedBadge />}
      actions={
        <>
          <div className="segments">
            {RANGES.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === range}
                onClick={() => void navigate({ to: '.', search: () => ({ range: name }), replace: true })}
              >
                {name}
              </button>
            ))}
          </div>
          <span className="muted">{texts.zone}</span>
        </>
      }
    >
      <div className="stack">
        <OpenItems alarms={alarms.data?.data ?? []} accounts={accounts.data?.data ?? []} />
        <Load query={stats} things={pages.overview.things} lines={3}>
          {(data) => <Numbers stats={data} accounts={accounts.data?.data ?? []} range={range} />}
        </Load>
        {faults.data && <FailedAttempts stats={faults.data.data} />}
      </div>
    </Page>
  );
};

const SimulatedBadge = () => (
  <span className="row">
    <Badge tone="warn">{texts.overview.simulated}</Badge>
    <Link to={paths.setup}>{texts.overview.useReal}</Link>
  </span>
);

interface Need {
  readonly key: string;
  readonly text: ReactNode;
  readonly advice: string;
  /** Undefined where an operator acts outside of the console. */
  readonly path: string | undefined;
}

/** Where an operator acts on each alarm. */
const ALARM_PAGES: Readonly<Record<string, string>> = {
  ledger_faults: paths.ledger,
  usage_quarantined: paths.review,
  video_usage_missing: paths.review,
  callbacks_dead: `${paths.callbacks}?state=dead`,
  charges_above_reservation: paths.models,
  video_submissions_unknown: paths.tasks,
  accounts_out: paths.accounts,
  groups_without_account: paths.groups,
};

/** Alarms are checked every minute; older ones mean that no worker runs. */
const OLD_CHECK_S = 180;

const OpenItems = ({
  alarms,
  accounts,
}: {
  readonly alarms: readonly ShownAlarm[];
  readonly accounts: readonly ShownAccount[];
}) => {
  const needs = [...accounts.flatMap(accountNeed), ...alarms.filter(({ count }) => count > 0).map(alarmNeed)];
  const oldest = Math.max(0, ...alarms.map((alarm) => alarm.checked_seconds_ago));
  return (
    <>
      {oldest > OLD_CHECK_S && (
        <p className="notice" data-tone="warn">
          {texts.overview.worker(durationText(oldest * 1000))}
        </p>
      )}
      {needs.length === 0 ? (
        <p className="notice" data-tone="ok">
          <State tone="ok">{texts.overview.fine}</State>
        </p>
      ) : (
        <div className="notice" data-tone="bad">
          <strong>{texts.overview.openItems(needs.length)}</strong>
          <ul>
            {needs.map(({ key, text, advice, path }) => (
              <li key={key}>
                <span>{text}</span> <span className="muted">{advice}</span>{' '}
                {path !== undefined && <Link to={path}>Open</Link>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
};

function accountNeed(account: ShownAccount): Need[] {
  if (account.state !== 'refused_credential') return [];
  return [
    {
      key: account.id,
      text: `${account.id}: credential refused`,
      advice: wordsOf(account) ?? reasonOf(account) ?? '',
      path: paths.account(account.id),
    },
  ];
}

const alarmNeed = ({ name, count, about, advice }: ShownAlarm): Need => ({
  key: name,
  text: texts.overview.alarm(about, countText(count)),
  advice: texts.overview.advice[name] ?? advice,
  path: ALARM_PAGES[name],
});

interface NumbersProps {
  readonly stats: Stats;
  readonly accounts: readonly ShownAccount[];
  readonly range: string;
}

const Numbers = ({ stats, accounts, range }: NumbersProps) => (
  <>
    <Tiles total={stats.total} />
    <div className="grid-8-4">
      <Card title="Requests and errors">
        <Plotted stats={stats} series={requestSeries} format={compactText} title="Requests and errors" />
      </Card>
      <Card title="Accounts" actions={<Link to={paths.accounts}>All</Link>} isFlush>
        <Table
          caption="Accounts"
          columns={ACCOUNT_COLUMNS}
          rows={worstFirst(accounts).slice(0, 7)}
          rowKey={({ id }) => id}
          open={({ id }) => paths.account(id)}
          empty={pages.accounts.empty}
        />
      </Card>
    </div>
    <div className="grid-8-4">
      <Card title="Revenue and provider cost" lead={range}>
        <Plotted stats={stats} series={moneySeries} format={dollars} title="Revenue and provider cost" isGapTinted />
        {stats.total.cost_unknown > 0 && (
          <p className="muted">
            {texts.overview.costUnknown(plural(stats.total.cost_unknown, 'call'))} ·{' '}
            <Link to={paths.models}>{texts.overview.setCost}</Link>
          </p>
        )}
      </Card>
      <Card title="Provider first byte">
        <Plotted stats={stats} series={firstByteSeries} format={seconds} title="Provider first byte" />
      </Card>
    </div>
    <div className="grid-2">
      <Card title="Added by us">
        <Plotted stats={stats} series={addedSeries} format={milliseconds} title="Added by us" />
      </Card>
      <Card title="Waiting for failover">
        <Plotted stats={stats} series={failoverSeries} format={milliseconds} title="Waiting for failover" />
      </Card>
    </div>
  </>
);

const STATE_ORDER = ['refused_credential', 'parked', 'cooling', 'draining', 'full', 'healthy'];
const worstFirst = (accounts: readonly ShownAccount[]): ShownAccount[] =>
  accounts.toSorted((a, b) => STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state));

const ACCOUNT_COLUMNS = [
  { head: 'Account', cell: ({ id }: ShownAccount) => id, phone: 'title' },
  { head: 'State', cell: (account: ShownAccount) => <AccountStateText account={account} />, phone: 'side' },
] as const;

const Tiles = ({ total }: { readonly total: StatsSums }) => {
  const errors = total.errors.provider + total.errors.ours;
  const margin = subtractMoney(total.charge, total.cost);
  return (
    <div className="tiles">
      <Tile label="Requests" to={paths.requests} value={countText(total.requests)} />
      <Tile
        label="Errors"
        to={`${paths.requests}?error=provider`}
        value={shareText(errors, total.requests)}
        note={`${countText(total.errors.caller)} more by callers`}
      />
      <Tile label="Revenue" to={paths.ledger} value={<Money amount={total.charge} isRounded />} />
      <Tile
        label="Margin"
        to={paths.ledger}
        value={total.cost_unknown > 0 ? '–' : <Money amount={margin} isRounded />}
        note={
          total.cost_unknown > 0
            ? texts.overview.costUnknown(plural(total.cost_unknown, 'call'))
            : shareText(Number(margin), Number(total.charge))
        }
      />
      <Tile
        label="Added p95"
        to={paths.requests}
        value={durationText(total.added_ms.p95)}
        note={`p99 ${durationText(total.added_ms.p99)}`}
      />
    </div>
  );
};

/** Failed attempts by account and fault, also those that another account made good. */
const FailedAttempts = ({ stats }: { readonly stats: readonly AccountStats[] }) => {
  const rows = stats
    .flatMap(({ account, faults, last_fault }) =>
      Object.entries(faults).map(([fault, count]) => ({
        account,
        fault,
        count,
        words: last_fault?.fault === fault ? last_fault.words : null,
      })),
    )
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 10);
  if (rows.length === 0) return null;
  return (
    <Card title="Failed attempts" lead={texts.overview.attempts} isFlush>
      <Table
        caption="Failed attempts"
        rows={rows}
        rowKey={({ account, fault }) => `${account} ${fault}`}
        open={({ account }) => paths.account(account)}
        empty=""
        columns={[
          { head: 'Account', cell: ({ account }) => account, phone: 'title' },
          { head: 'Count', cell: ({ count }) => countText(count), kind: 'number', phone: 'side' },
          { head: 'Fault', cell: ({ fault }) => fault.replaceAll('_', ' ') },
          { head: 'Latest message of the provider', cell: ({ words }) => words ?? '', kind: 'grow' },
        ]}
      />
    </Card>
  );
};

interface TileProps {
  readonly label: string;
  readonly to: string;
  readonly value: ReactNode;
  readonly note?: string;
}

const Tile = ({ label, to, value, note }: TileProps) => (
  <Link className="tile" to={to}>
    <span className="label">{label}</span>
    <span className="value">{value}</span>
    {note && <span className="muted small">{note}</span>}
  </Link>
);

interface PlottedProps {
  readonly title: string;
  readonly stats: Stats;
  readonly series: (points: readonly (StatsPoint | undefined)[]) => Series[];
  readonly format: (value: number) => string;
  readonly isGapTinted?: boolean;
}

/** Buckets without calls are points too: a gap in the traffic is not a straight line. */
const Plotted = ({ title, stats, series, format, isGapTinted = false }: PlottedProps) => {
  const shown = useMemo(() => {
    const points = filled(stats);
    return { times: points.map(({ time }) => time), series: series(points.map(({ point }) => point)) };
  }, [stats, series]);
  if (stats.data.length === 0) return <p className="empty">{texts.overview.noChart}</p>;
  return <Chart title={title} times={shown.times} series={shown.series} format={format} isGapTinted={isGapTinted} />;
};

const BUCKET_MS = { hour: 3_600_000, day: 86_400_000 } as const;

function filled({ data, bucket, period }: Stats): { readonly time: string; readonly point: StatsPoint | undefined }[] {
  const step = BUCKET_MS[bucket];
  const byTime = new Map(data.map((point) => [new Date(point.time).getTime(), point]));
  const start = Math.floor(new Date(period.start).getTime() / step) * step;
  const count = Math.ceil((new Date(period.end).getTime() - start) / step);
  return Array.from({ length: count }, (_, n) => {
    const time = start + n * step;
    return { time: new Date(time).toISOString(), point: byTime.get(time) };
  });
}

type Points = readonly (StatsPoint | undefined)[];
const valuesOf = (points: Points, read: (point: StatsPoint) => number | null | undefined, missing?: number) =>
  points.map((point) => (point ? (read(point) ?? missing) : missing));

const requestSeries = (points: Points): Series[] => [
  { label: 'Requests', color: 1, values: valuesOf(points, ({ requests }) => requests, 0) },
  { label: 'Failed by provider', color: 2, dash: true, values: valuesOf(points, ({ errors }) => errors.provider, 0) },
  { label: 'Failed by gateway', color: 4, dash: true, values: valuesOf(points, ({ errors }) => errors.ours, 0) },
  { label: 'Failed by caller', color: 3, values: valuesOf(points, ({ errors }) => errors.caller, 0) },
];

/** Unknown cost breaks the line. */
const moneySeries = (points: Points): Series[] => [
  { label: 'Revenue', color: 1, values: valuesOf(points, ({ charge }) => chartValue(charge), 0) },
  {
    label: 'Provider cost',
    color: 2,
    dash: true,
    values: points.map((point) => (!point ? 0 : point.cost_unknown > 0 ? undefined : chartValue(point.cost))),
  },
];

const percentiles =
  (name: 'first_byte_ms' | 'added_ms' | 'failover_ms') =>
  (points: Points): Series[] => [
    { label: 'p50', color: 1, values: valuesOf(points, (point) => point[name].p50) },
    { label: 'p95', color: 2, dash: true, values: valuesOf(points, (point) => point[name].p95) },
    { label: 'p99', color: 4, values: valuesOf(points, (point) => point[name].p99) },
  ];
const firstByteSeries = percentiles('first_byte_ms');
const addedSeries = percentiles('added_ms');
const failoverSeries = percentiles('failover_ms');

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
/** Labels of an axis, from binary numbers; amounts beside the chart are exact. */
const dollars = (value: number): string => roundMoney(value.toFixed(6));
