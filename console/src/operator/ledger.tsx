/** Does it add up: the invariants of the ledger, revenue by day, and the way to every entry. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { OperatorUsage, ShownAlarm } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { countText } from '../format/count.ts';
import { ageText, dayBefore } from '../format/time.ts';
import { choices, t } from '../language.ts';
import { FilteredList } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import type { Column } from '../parts/table.tsx';
import { Margin, Money, useNow } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import type { Search } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { operatorTexts } from './texts.ts';

const DIMENSIONS = ['day', 'user', 'model', 'group', 'account', 'key', 'operation'] as const;
type Dimension = (typeof DIMENSIONS)[number];
const isDimension = (text: string | undefined): text is Dimension => DIMENSIONS.some((name) => name === text);

export const Ledger = () => {
  const check = useQuery({ queryKey: ['alarms'], queryFn: () => admin.alarms() });
  const search = useSearch({ strict: false }) as Search;
  const now = useNow(3_600_000);
  const by = isDimension(search.by) ? search.by : 'day';
  const period = {
    start_date: search.start_date ?? dayBefore(29, now),
    end_date: search.end_date ?? dayBefore(0, now),
  };
  return (
    <Page
      title={pages.ledger.title}
      actions={
        <a className="button" href={csvOf(by, period)} download>
          CSV
        </a>
      }
    >
      <div className="stack">
        <Card title="Invariants">
          <Load query={check} things={pages.ledger.things} lines={2}>
            {({ data }) => <Invariants alarms={data} />}
          </Load>
        </Card>
        <section>
          <FilteredList
            page={pages.usage}
            name="ledger"
            load={admin.usage}
            defaults={{ ...period, by }}
            order={by === 'day' ? undefined : 'revenue'}
            filters={[
              { name: 'by', label: 'Sum by', options: choices(DIMENSIONS) },
              { name: 'start_date', label: 'First day (UTC)', type: 'date' },
              { name: 'end_date', label: 'Last day (UTC)', type: 'date' },
            ]}
            columns={columnsOf(by)}
            totalOf={(total) => ({ ...total, [by]: t('Total') })}
            rowKey={(line) => String(line[by])}
            {...(by === 'user' && { open: (line: OperatorUsage) => paths.user(String(line.user)) })}
            empty={pages.ledger.empty}
          />
        </section>
      </div>
    </Page>
  );
};

const csvOf = (by: string, period: Readonly<Record<string, string>>): string =>
  `/admin/v1/usage?${new URLSearchParams({ by, ...period, format: 'csv' })}`;

/** The worker compares every counter with the entries behind it; its last result is an alarm. */
const Invariants = ({ alarms }: { readonly alarms: readonly ShownAlarm[] }) => {
  const faults = alarms.find(({ name }) => name === 'ledger_faults');
  if (!faults) return <p className="muted">{operatorTexts.ledger.unchecked}</p>;
  const age = ageText(faults.checked_seconds_ago * 1000);
  return (
    <>
      <p>
        {faults.count === 0 ? (
          <State tone="ok">{operatorTexts.ledger.ok}</State>
        ) : (
          <State tone="bad">{operatorTexts.ledger.faults(countText(faults.count))}</State>
        )}{' '}
        <span className="muted">{operatorTexts.ledger.checked(age)}</span>
      </p>
      {faults.count > 0 && <blockquote>{faults.detail}</blockquote>}
    </>
  );
};

const columnsOf = (by: Dimension): readonly Column<OperatorUsage>[] => [
  { head: by, cell: (line) => String(line[by] ?? '–'), phone: 'title' },
  {
    head: 'Requests',
    cell: ({ requests }) => countText(requests),
    sort: 'requests',
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'Input tokens',
    cell: ({ input_tokens }) => countText(input_tokens),
    sort: 'input_tokens',
    kind: 'number',
    phone: 'hide',
  },
  {
    head: 'Output tokens',
    cell: ({ output_tokens }) => countText(output_tokens),
    sort: 'output_tokens',
    kind: 'number',
    phone: 'hide',
  },
  {
    head: 'Revenue',
    cell: ({ revenue }) => <Money amount={revenue} isRounded />,
    sort: 'revenue',
    kind: 'number',
    phone: 'side',
  },
  {
    head: 'Cost',
    cell: ({ cost, known_cost, unknown_cost_requests }) =>
      cost === null ? (
        <>
          <span title={operatorTexts.overview.costUnknown(texts.counts.calls(unknown_cost_requests))}>≥</span>{' '}
          <Money amount={known_cost} isRounded />
        </>
      ) : (
        <Money amount={cost} isRounded />
      ),
    sort: 'cost',
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'Margin',
    cell: (line) => <Margin usage={line} isRounded />,

    sort: 'margin',
    kind: 'number',
    phone: 'label',
  },
];
