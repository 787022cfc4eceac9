/** Private assets, asset groups and real-person authorizations of the signed-in user. */
import type { AssetGroup } from '../../../src/schemas/index.ts';
import { mine } from '../api/user.ts';
import { choices } from '../language.ts';
import { ASSET_STATES, assetColumns } from '../parts/asset-columns.tsx';
import { AUTHORIZATION_STATES, authorizationColumns } from '../parts/authorization-columns.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { Tabs, useTab } from '../parts/tabs.tsx';
import { Id, Time } from '../parts/values.tsx';
import { pages, texts } from '../texts.ts';

const GROUP_COLUMNS: readonly Column<AssetGroup>[] = [
  { head: 'Name', cell: ({ name }) => name, phone: 'title' },
  { head: 'Group', cell: ({ id }) => <Id id={id} /> },
  { head: 'Service', cell: ({ route_group_name }) => route_group_name ?? '–' },
  {
    head: 'Made',
    cell: ({ created_at }) => <Time at={new Date(created_at * 1000).toISOString()} />,
    phone: 'side',
  },
];

export const MyAssets = () => {
  const tab = useTab(['assets', 'groups', 'authorizations']);
  return (
    <Page title={pages.assets.title} beside={<Tabs labels={texts.assetTabs} chosen={tab} />}>
      {tab === 'assets' && (
        <FilteredList
          page={pages.assets}
          name="my-assets"
          load={mine.assets}
          filters={[{ name: 'status', label: 'State', options: choices(ASSET_STATES) }]}
          columns={assetColumns('user')}
          rowKey={({ id }) => id}
        />
      )}
      {tab === 'groups' && (
        <FilteredList
          page={pages.assets}
          name="my-asset-groups"
          load={mine.assetGroups}
          columns={GROUP_COLUMNS}
          rowKey={({ id }) => id}
        />
      )}
      {tab === 'authorizations' && (
        <FilteredList
          page={pages.authorizations}
          name="my-authorizations"
          load={mine.authorizations}
          filters={[{ name: 'status', label: 'State', options: choices(AUTHORIZATION_STATES) }]}
          columns={authorizationColumns('user')}
          rowKey={({ id }) => id}
        />
      )}
    </Page>
  );
};
