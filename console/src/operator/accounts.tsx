/** Accounts with their health. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ShownAccount } from '../../../src/objects/index.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { FilterBar, POLL_MS } from '../parts/list.tsx';
import { Load, Page } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { paths } from '../paths.ts';
import { type Search, withFilter } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { NewAccountForm } from './account-form.tsx';
import { AccountStateText, isSimulated, reasonOf, wordsOf } from './account-state.tsx';
import { useAccounts, useGroups } from './catalog.ts';

const COLUMNS: readonly Column<ShownAccount>[] = [
  {
    head: 'Account',
    cell: (account) => (
      <>
        {account.id} {isSimulated(account) && <Badge>Simulated</Badge>}
      </>
    ),
    phone: 'title',
  },
  { head: 'State', cell: (account) => <AccountStateText account={account} />, phone: 'side' },
  {
    head: 'Reason',
    cell: (account) => (
      <span className="muted">{account.state === 'healthy' ? '' : (wordsOf(account) ?? reasonOf(account) ?? '')}</span>
    ),
    kind: 'grow',
  },
  { head: 'Group', cell: ({ group }) => group },
  {
    head: 'In flight',
    cell: ({ in_flight, max_concurrency }) => `${in_flight}/${max_concurrency}`,
    kind: 'number',
    phone: 'label',
  },
  { head: 'Priority', cell: ({ priority }) => priority, kind: 'number', phone: 'hide' },
  { head: 'Weight', cell: ({ weight }) => weight, kind: 'number', phone: 'hide' },
];

export const Accounts = () => {
  const accounts = useAccounts(POLL_MS);
  const groups = useGroups();
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const go = (next: Search): void => void navigate({ to: '.', search: () => next, replace: true });
  return (
    <Page
      title={pages.accounts.title}
      actions={
        <Opener label="Add account" className="primary">
          {(close) => (
            <Dialog title="Add account" onClose={close}>
              <h2>Add account</h2>
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
      <Load query={accounts} things={pages.accounts.things}>
        {({ data }) => (
          <Table
            caption={pages.accounts.title}
            columns={COLUMNS}
            rows={data.filter(({ group }) => search.group === undefined || group === search.group)}
            rowKey={({ id }) => id}
            open={({ id }) => paths.account(id)}
            empty={search.group === undefined ? pages.accounts.empty : texts.noFilterHits}
          />
        )}
      </Load>
    </Page>
  );
};
