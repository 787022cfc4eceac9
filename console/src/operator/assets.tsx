/** Private assets and real-person authorizations of all users: which are usable, and where they live. */
import { admin } from '../api/admin.ts';
import { choices } from '../language.ts';
import { ASSET_STATES, assetColumns } from '../parts/asset-columns.tsx';
import { AUTHORIZATION_STATES, authorizationColumns } from '../parts/authorization-columns.tsx';
import { finders } from '../parts/finders.ts';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { Tabs, useTab } from '../parts/tabs.tsx';
import { pages, texts } from '../texts.ts';

export const Assets = () => {
  const tab = useTab(['assets', 'authorizations']);
  const { assets, authorizations } = texts.assetTabs;
  return (
    <Page title={pages.assets.title} beside={<Tabs labels={{ assets, authorizations }} chosen={tab} />}>
      {tab === 'assets' ? (
        <FilteredList
          page={pages.assets}
          name="assets"
          load={admin.assets}
          filters={[
            { name: 'user', label: 'User', finder: finders.user },
            { name: 'status', label: 'State', options: choices(ASSET_STATES) },
            { name: 'account', label: 'Account', finder: finders.account },
          ]}
          columns={assetColumns('operator')}
          rowKey={({ id }) => id}
        />
      ) : (
        <FilteredList
          page={pages.authorizations}
          name="authorizations"
          load={admin.authorizations}
          filters={[
            { name: 'user', label: 'User', finder: finders.user },
            { name: 'status', label: 'State', options: choices(AUTHORIZATION_STATES) },
            { name: 'account', label: 'Account', finder: finders.account },
          ]}
          columns={authorizationColumns('operator')}
          rowKey={({ id }) => id}
        />
      )}
    </Page>
  );
};
