/** Where the money went: charges by day, model or key, and the statement. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { UserUsage } from '../../../src/schemas/index.ts';
import { mine } from '../api/user.ts';
import { countText } from '../format/count.ts';
import { chartValue, roundMoney } from '../format/money.ts';
import { dayBefore } from '../format/time.ts';
import { choices, t } from '../language.ts';
import { Chart } from '../parts/chart.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Card, Page } from '../parts/page.tsx';
import { STATEMENT_COLUMNS } from '../parts/statement.tsx';
import type { Column } from '../parts/table.tsx';
import { Money, useNow } from '../parts/values.tsx';
import type { Search } from '../search.ts';
import { pages } from '../texts.ts';

const DIMENSIONS = ['day', 'model', 'key', 'group'] as const;
type Dimension = (typeof DIMENSIONS)[number];
/** A report has no more. */
const MAX_DAYS = 366;

export const MyUsage = () => {
  const search = useSearch({ strict: false }) as Search;
  const now = useNow(3_600_000);
  const by = DIMENSIONS.find((name) => name === search.by) ?? 'day';
  const period = {
    start_date: search.start_date ?? dayBefore(29, now),
    end_date: search.end_date ?? dayBefore(0, now),
  };
  const days = useQuery({
    queryKey: ['my-usage', 'days', period],
    queryFn: () => mine.usage({ by: 'day', ...period, limit: MAX_DAYS }),
    enabled: by === 'day',
  });
  return (
    <Page
      title={pages.usage.title}
      lead={pages.usage.lead}
      actions={
        <a className="button" href={mine.usageCsv({ by, ...period })} download>
          CSV
        </a>
      }
    >
      {by === 'day' && (days.data?.data.length ?? 0) > 1 && <Spend lines={days.data?.data ?? []} />}
      <FilteredList
        page={pages.usage}
        name="my-usage"
        load={mine.usage}
        defaults={{ ...period, by }}
        order={by === 'day' ? undefined : 'charge'}
        filters={[
          { name: 'by', label: 'Sum by', options: choices(DIMENSIONS) },
          { name: 'start_date', label: 'First day (UTC)', type: 'date' },
          { name: 'end_date', label: 'Last day (UTC)', type: 'date' },
        ]}
        columns={columnsOf(by)}
        totalOf={(total) => ({ ...total, [by]: t('Total') })}
        rowKey={(line) => String(line[by])}
      />
    </Page>
  );
};

const Spend = ({ lines }: { readonly lines: readonly UserUsage[] }) => {
  const { times, series } = useMemo(() => {
    const days = lines.toSorted((a, b) => String(a.day).localeCompare(String(b.day)));
    return {
      times: days.map(({ day }) => `${day}T00:00:00Z`),
      series: [{ label: t('Charged'), color: 1 as const, values: days.map(({ charge }) => chartValue(charge)) }],
    };
  }, [lines]);
  return (
    <Card title="Charged by day">
      <Chart title={t('Charged by day')} times={times} series={series} format={dollars} />
    </Card>
  );
};

const dollars = (value: number): string => roundMoney(value.toFixed(6));

const columnsOf = (by: Dimension): readonly Column<UserUsage>[] => [
  { head: by, cell: (line) => String(line[by] ?? '–'), phone: 'title' },
  { head: 'Requests', cell: ({ requests }) => countText(requests), sort: 'requests', kind: 'number', phone: 'label' },
  {
    head: 'Input tokens',
    cell: ({ input_tokens }) => countText(input_tokens),
    sort: 'input_tokens',
    kind: 'number',
    phone: 'label',
  },
  { head: 'Cached', cell: ({ cached_input_tokens }) => countText(cached_input_tokens), kind: 'number', phone: 'hide' },
  {
    head: 'Output tokens',
    cell: ({ output_tokens }) => countText(output_tokens),
    sort: 'output_tokens',
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'Charged',
    cell: ({ charge }) => <Money amount={charge} isRounded />,
    sort: 'charge',
    kind: 'number',
    phone: 'side',
  },
];

export const MyStatement = () => (
  <Page
    title={pages.charges.title}
    actions={
      <a className="button" href={mine.chargesCsv()} download>
        CSV
      </a>
    }
  >
    <FilteredList
      page={pages.charges}
      name="my-charges"
      load={mine.charges}
      filters={[
        { name: 'start', label: 'From (UTC)', type: 'date' },
        { name: 'end', label: 'Before (UTC)', type: 'date' },
      ]}
      columns={STATEMENT_COLUMNS}
      rowKey={({ entry }) => entry}
    />
  </Page>
);
