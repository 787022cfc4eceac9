/** The request log: every call, newest first. */
import { admin } from '../api/admin.ts';
import { finders } from '../parts/finders.ts';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { REQUEST_VIEWS, requestColumns, requestFilters } from '../parts/request-columns.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';
import { useGroupIds } from './catalog.ts';

export const Requests = () => {
  const groups = useGroupIds();
  return (
    <Page title={pages.requests.title}>
      <FilteredList
        page={pages.requests}
        name="requests"
        load={admin.requests}
        isLive
        filters={[
          ...requestFilters(finders.model),
          { name: 'user', label: 'User', type: 'part', finder: finders.user },
          { name: 'account', label: 'Account', finder: finders.account, isMore: true },
          { name: 'key', label: 'Key', finder: finders.key, isMore: true },
          { name: 'group', label: 'Group', options: groups, isMore: true },
        ]}
        views={REQUEST_VIEWS}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        open={({ id }) => paths.request(id)}
      />
    </Page>
  );
};

const COLUMNS = requestColumns('operator');
