/** Accounts: how each does, how fast it is and what it costs. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { AccountStats, ShownAccount } from '../../../src/schemas/index.ts';
import { countText, shareText } from '../format/count.ts';
import { durationText } from '../format/time.ts';
import { t } from '../language.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { FilterBar } from '../parts/filters.tsx';
import { POLL_MS } from '../parts/list.tsx';
import { Load, Page } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { TableTools } from '../parts/table-tools.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { type Search, withFilter } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { NewAccountForm } from './account-form.tsx';
import { AccountHealth, healthOf, healthRank, inFlightText, isSimulated, reasonOf } from './account-state.tsx';
import { useAccountStats, useAccounts, useGroups } from './catalog.ts';

interface Row {
  readonly account: ShownAccount;
  readonly stats: AccountStats | undefined;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Account',
    cell: ({ account }) => (
      <>
        {account.id} {isSimulated(account) && <Badge>{t('Simulated')}</Badge>}
      </>
    ),
    value: ({ account }) => account.id,
    phone: 'title',
  },
  {
    head: 'Health',
    cell: (row) => <HealthCell {...row} />,
    value: ({ account, stats }) => healthRank(healthOf(account, stats)),
    kind: 'prose',
    phone: 'side',
  },
  { head: 'Group', cell: ({ account }) => account.groups.join(', ') },
  {
    head: 'Calls',
    cell: ({ stats }) => (stats ? countText(stats.requests) : '–'),
    value: ({ stats }) => stats?.requests,
    kind: 'number',
    phone: 'hide',
  },
  {
    head: 'Success',
    cell: ({ stats }) => (stats ? shareText(...successOf(stats)) : '–'),
    value: ({ stats }) => (stats && successOf(stats)[1] > 0 ? successOf(stats)[0] / successOf(stats)[1] : undefined),
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'First byte',
    cell: ({ stats }) => durationText(stats?.first_byte_ms.p50),
    value: ({ stats }) => stats?.first_byte_ms.p50,
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'Total p95',
    cell: ({ stats }) => durationText(stats?.total_ms.p95),
    value: ({ stats }) => stats?.total_ms.p95,
    kind: 'number',
    phone: 'hide',
  },
  {
    head: 'Cost',
    cell: ({ stats }) => (
      <>
        {stats && stats.cost_unknown > 0 && '≥ '}
        <Money amount={stats?.cost} isRounded />
      </>
    ),
    value: ({ stats }) => stats && Number(stats.cost),
    kind: 'number',
    phone: 'label',
  },
  {
    head: 'In flight',
    cell: ({ account }) => inFlightText(account),
    value: ({ account }) => account.in_flight,
    kind: 'number',
    phone: 'hide',
  },
];

/** The reason is cut; the page of the account has the whole of it. */
const HealthCell = ({ account, stats }: Row) => {
  const reason = reasonOf(account, stats);
  return (
    <>
      <AccountHealth account={account} stats={stats} />
      {reason && (
        <div className="muted small one-line" title={reason}>
          {reason}
        </div>
      )}
    </>
  );
};

/** Good ones, of all its calls and the attempts that another account made good. */
function successOf(stats: AccountStats): [good: number, all: number] {
  const failed = Object.values(stats.faults).reduce((sum, count) => sum + count, 0);
  const good = stats.requests - stats.errors.provider;
  return [good, good + failed];
}

export const Accounts = () => {
  const accounts = useAccounts(POLL_MS);
  const stats = useAccountStats('24h');
  const groups = useGroups();
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const go = (next: Search): void => void navigate({ to: '.', search: () => next, replace: true });
  return (
    <Page
      title={pages.accounts.title}
      lead={pages.accounts.lead}
      actions={
        <Opener label="Add account" className="primary">
          {(close) => (
            <Dialog title={t('Add account')} onClose={close}>
              <NewAccountForm
                groups={groups.data?.data ?? []}
                done={(id) => void navigate({ to: paths.account(id) })}
                cancel={close}
              />
            </Dialog>
          )}
        </Opener>
      }
    >
      <FilterBar
        filters={[{ name: 'group', label: 'Group', options: (groups.data?.data ?? []).map(({ id }) => id) }]}
        search={search}
        change={(name, value) => go(withFilter(search, name, value))}
      />
      <TableTools name="accounts" columns={COLUMNS} />
      <Load query={accounts} things={pages.accounts.things}>
        {({ data }) => (
          <Table
            name="accounts"
            caption={pages.accounts.title}
            columns={COLUMNS}
            rows={data
              .filter(({ groups }) => search.group === undefined || groups.includes(search.group))
              .map((account) => ({ account, stats: stats.data?.get(account.id) }))}
            rowKey={({ account }) => account.id}
            open={({ account }) => paths.account(account.id)}
            empty={search.group === undefined ? pages.accounts.empty : texts.noFilterHits}
          />
        )}
      </Load>
    </Page>
  );
};
