/** The request log: every call, newest first. */
import { admin } from '../api/admin.ts';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { requestColumns } from '../parts/request-columns.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';
import { useAccountIds, useGroupIds } from './catalog.ts';

export const Requests = () => {
  const groups = useGroupIds();
  const accounts = useAccountIds();
  return (
    <Page title={pages.requests.title}>
      <FilteredList
        page={pages.requests}
        name="requests"
        load={admin.requests}
        isLive
        filters={[
          { name: 'request_id', label: 'Request id' },
          { name: 'user', label: 'User' },
          { name: 'key', label: 'Key id' },
          { name: 'model', label: 'Model' },
          { name: 'group', label: 'Group', options: groups },
          { name: 'account', label: 'Account', options: accounts },
          { name: 'status', label: 'Status' },
          {
            name: 'error',
            label: 'Failed by',
            options: [
              ['provider', 'Provider'],
              ['ours', 'Gateway'],
              ['caller', 'Caller'],
            ],
          },
          { name: 'start', label: 'From (UTC)', type: 'date' },
          { name: 'end', label: 'Before (UTC)', type: 'date' },
        ]}
        columns={requestColumns('operator')}
        rowKey={({ id }) => id}
        open={({ id }) => paths.request(id)}
      />
    </Page>
  );
};
