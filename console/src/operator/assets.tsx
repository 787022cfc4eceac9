/** Private assets of all users: which are usable, and where they live. */
import { admin } from '../api/admin.ts';
import { ASSET_STATES, assetColumns } from '../parts/asset-columns.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { pages } from '../texts.ts';

export const Assets = () => (
  <Page title={pages.assets.title}>
    <FilteredList
      page={pages.assets}
      name="assets"
      load={admin.assets}
      filters={[
        { name: 'user', label: 'User' },
        { name: 'status', label: 'State', options: ASSET_STATES },
        { name: 'account', label: 'Account' },
      ]}
      columns={assetColumns('operator')}
      rowKey={({ id }) => id}
    />
  </Page>
);
