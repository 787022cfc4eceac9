/** Anything wrong: alarms first, then numbers that link to their rows, then charts. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type {
  AccountStats,
  OperatorUsage,
  OperatorUsagePage,
  ShownAccount,
  Stats,
  StatsPoint,
  StatsSums,
} from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { compactText, countText, shareText } from '../format/count.ts';
import { chartValue, roundMoney } from '../format/money.ts';
import { dayBefore, durationText } from '../format/time.ts';
import { t } from '../language.ts';
import { Chart } from '../parts/chart.tsx';
import { POLL_MS } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import type { Series } from '../parts/series.ts';
import { Badge } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { Margin, Money, useNow } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import type { Search } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { AccountHealth, healthOf, healthRank, isSimulated } from './account-state.tsx';
import { useAccountStats, useAccounts } from './catalog.ts';
import { Needs } from './needs.tsx';
import { operatorTexts } from './texts.ts';

const RANGES = ['24h', '7d', '30d'] as const;
/** Money is booked by UTC day. */
const DAYS = { '24h': 1, '7d': 7, '30d': 30 } as const;
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
  const faults = useAccountStats(range);
  const today = useAccountStats('24h');
  const now = useNow(CHART_MS);
  const days = { start_date: dayBefore(DAYS[range] - 1, now), end_date: dayBefore(0, now) };
  const money = useQuery({
    queryKey: ['usage', 'overview', days],
    queryFn: () => admin.usage({ by: 'day', ...days }),
    refetchInterval: CHART_MS,
    placeholderData: keepPreviousData,
  });
  if (accounts.data?.data.length === 0) return <Navigate to={paths.setup} replace />;
  return (
    <Page
      title={pages.overview.title}
      beside={accounts.data?.data.every(isSimulated) && <SimulatedBadge />}
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
        <Needs alarms={alarms.data?.data ?? []} accounts={accounts.data?.data ?? []} stats={today.data} />
        <Load query={stats} things={pages.overview.things} lines={3}>
          {(data) => (
            <>
              <Tiles total={data.total} money={money.data} days={days} />
              <Charts stats={data} money={money.data} />
              <div className="grid-8-4">
                <FailedAttempts stats={[...(faults.data?.values() ?? [])]} />
                <AccountList accounts={accounts.data?.data ?? []} stats={today.data} />
              </div>
            </>
          )}
        </Load>
      </div>
    </Page>
  );
};

const SimulatedBadge = () => (
  <span className="row">
    <Badge tone="warn">{operatorTexts.overview.simulated}</Badge>
    <Link to={paths.setup}>{operatorTexts.overview.useReal}</Link>
  </span>
);

interface ChartsProps {
  readonly stats: Stats;
  readonly money: OperatorUsagePage | undefined;
}

const Charts = ({ stats, money }: ChartsProps) => (
  <>
    <div className="grid-2">
      <Card title="Requests and errors">
        <Plotted stats={stats} series={requestSeries} format={compactText} title={t('Requests and errors')} />
      </Card>
      <Card title="Provider first byte">
        <Plotted stats={stats} series={firstByteSeries} format={seconds} title={t('Provider first byte')} />
      </Card>
    </div>
    {money && money.data.length > 1 && <MoneyChart money={money} />}
    <div className="grid-2">
      <Card title="Added by us">
        <Plotted stats={stats} series={addedSeries} format={milliseconds} title={t('Added by us')} />
      </Card>
      <Card title="Waiting for failover" lead={operatorTexts.overview.failover}>
        <Plotted stats={stats} series={failoverSeries} format={milliseconds} title={t('Waiting for failover')} />
      </Card>
    </div>
  </>
);

const MoneyChart = ({ money }: { readonly money: OperatorUsagePage }) => {
  const { times, series } = useMemo(() => moneySeries(money), [money]);
  const { unknown_cost_requests: unknown } = money.total;
  return (
    <Card title="Revenue and provider cost" lead={operatorTexts.overview.byDay}>
      <Chart title={t('Revenue and provider cost')} times={times} series={series} format={dollars} isGapTinted />
      {unknown > 0 && <p className="muted small">{operatorTexts.overview.costGap(texts.counts.calls(unknown))}</p>}
    </Card>
  );
};

interface AccountListProps {
  readonly accounts: readonly ShownAccount[];
  readonly stats: ReadonlyMap<string, AccountStats> | undefined;
}

const AccountList = ({ accounts, stats }: AccountListProps) => (
  <Card title="Accounts" actions={<Link to={paths.accounts}>{t('All')}</Link>} isFlush>
    <div className="tall-list">
      <Table
        caption="Accounts"
        columns={ACCOUNT_COLUMNS}
        rows={accounts
          .map((account) => ({ account, stats: stats?.get(account.id) }))
          .toSorted((a, b) => healthRank(healthOf(a.account, a.stats)) - healthRank(healthOf(b.account, b.stats)))}
        rowKey={({ account }) => account.id}
        open={({ account }) => paths.account(account.id)}
        empty={pages.accounts.empty}
      />
    </div>
  </Card>
);

interface AccountRow {
  readonly account: ShownAccount;
  readonly stats: AccountStats | undefined;
}

const ACCOUNT_COLUMNS = [
  { head: 'Account', cell: ({ account }: AccountRow) => account.id, phone: 'title' },
  { head: 'Health', cell: (row: AccountRow) => <AccountHealth {...row} />, phone: 'side' },
] as const;

interface TilesProps {
  readonly total: StatsSums;
  readonly money: OperatorUsagePage | undefined;
  readonly days: { readonly start_date: string; readonly end_date: string };
}

/** Money is what the ledger has for these days, and the page of the ledger shows the same amounts. */
const Tiles = ({ total, money, days }: TilesProps) => {
  const errors = total.errors.provider + total.errors.ours;
  const ledger = `${paths.ledger}?${new URLSearchParams(days)}`;
  const isToday = days.start_date === days.end_date;
  return (
    <div className="tiles">
      <Tile label="Requests" to={paths.requests} value={countText(total.requests)} />
      <Tile
        label="Errors"
        to={`${paths.requests}?error=provider`}
        value={shareText(errors, total.requests)}
        note={operatorTexts.overview.byCallers(total.errors.caller)}
      />
      <Tile
        label={isToday ? 'Revenue today' : 'Revenue'}
        to={ledger}
        value={<Money amount={money?.total.revenue} isRounded />}
        note={isToday ? operatorTexts.overview.utcDay : operatorTexts.overview.utcDays}
      />
      <Tile
        label={isToday ? 'Margin today' : 'Margin'}
        to={ledger}
        value={<Margin usage={money?.total} isRounded />}
        note={money && marginNote(money.total)}
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

const marginNote = ({ margin, revenue, unknown_cost_requests: unknown }: OperatorUsage): string =>
  unknown > 0
    ? operatorTexts.overview.costUnknown(texts.counts.calls(unknown))
    : shareText(Number(margin), Number(revenue));

/** Failed attempts by account and fault, also those that another account made good. */
const FailedAttempts = ({ stats }: { readonly stats: readonly AccountStats[] }) => {
  const rows = stats
    .flatMap(({ account, faults, last_fault }) =>
      Object.entries(faults).map(([fault, count]) => ({
        account,
        fault,
        count,
        message: last_fault?.fault === fault ? last_fault.message : null,
      })),
    )
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 10);
  return (
    <Card title="Failed attempts" lead={operatorTexts.overview.attempts} isFlush>
      <Table
        caption="Failed attempts"
        rows={rows}
        rowKey={({ account, fault }) => `${account} ${fault}`}
        open={({ account }) => paths.account(account)}
        empty={operatorTexts.overview.noFaults}
        columns={[
          { head: 'Account', cell: ({ account }) => account, phone: 'title' },
          { head: 'Count', cell: ({ count }) => countText(count), kind: 'number', phone: 'side' },
          { head: 'Fault', cell: ({ fault }) => fault.replaceAll('_', ' ') },
          { head: 'Latest message of the provider', cell: ({ message }) => message ?? '', kind: 'grow' },
        ]}
      />
    </Card>
  );
};

interface TileProps {
  readonly label: string;
  readonly to: string;
  readonly value: ReactNode;
  readonly note?: string | undefined;
}

const Tile = ({ label, to, value, note }: TileProps) => (
  <Link className="tile" to={to}>
    <span className="label">{t(label)}</span>
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
  if (stats.data.length === 0) return <p className="empty">{operatorTexts.overview.noChart}</p>;
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
  { label: t('Requests'), color: 1, values: valuesOf(points, ({ requests }) => requests, 0) },
  {
    label: t('Failed by provider'),
    color: 2,
    dash: true,
    values: valuesOf(points, ({ errors }) => errors.provider, 0),
  },
  { label: t('Failed by gateway'), color: 4, dash: true, values: valuesOf(points, ({ errors }) => errors.ours, 0) },
  { label: t('Failed by caller'), color: 3, values: valuesOf(points, ({ errors }) => errors.caller, 0) },
];

/** Days without money are points too. Unknown cost breaks the line. */
function moneySeries({ data, period }: OperatorUsagePage): { readonly times: string[]; readonly series: Series[] } {
  const byDay = new Map(data.map((line) => [line.day, line]));
  const [start, end] = [Date.parse(period.start), Date.parse(period.end)];
  const times = Array.from({ length: Math.round((end - start) / BUCKET_MS.day) + 1 }, (_, n) =>
    new Date(start + n * BUCKET_MS.day).toISOString(),
  );
  const lines = times.map((time) => byDay.get(time.slice(0, 10)));
  return {
    times,
    series: [
      { label: t('Revenue'), color: 1, values: lines.map((line) => (line ? chartValue(line.revenue) : 0)) },
      {
        label: t('Provider cost'),
        color: 2,
        dash: true,
        values: lines.map((line) => {
          if (!line) return 0;
          return line.cost === null ? undefined : chartValue(line.cost);
        }),
      },
    ],
  };
}

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
