/** Private assets and asset groups of the signed-in user. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { mine } from '../api/user.ts';
import { ASSET_STATES, assetColumns } from '../parts/asset-columns.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { Id, Time } from '../parts/values.tsx';
import type { Search } from '../search.ts';
import { pages } from '../texts.ts';

export const MyAssets = () => {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const tab = search.tab === 'groups' ? 'groups' : 'assets';
  return (
    <Page
      title={pages.assets.title}
      actions={
        <div className="segments">
          {(['assets', 'groups'] as const).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === tab}
              onClick={() => void navigate({ to: '.', search: () => ({ tab: name }), replace: true })}
            >
              {name === 'assets' ? 'Assets' : 'Groups'}
            </button>
          ))}
        </div>
      }
    >
      {tab === 'assets' ? (
        <FilteredList
          page={pages.assets}
          name="my-assets"
          load={mine.assets}
          filters={[{ name: 'status', label: 'State', options: ASSET_STATES }]}
          columns={assetColumns('user')}
          rowKey={({ id }) => id}
        />
      ) : (
        <FilteredList
          page={pages.assets}
          name="my-asset-groups"
          load={mine.assetGroups}
          columns={[
            { head: 'Name', cell: ({ name }) => name, phone: 'title' },
            { head: 'Group', cell: ({ id }) => <Id id={id} /> },
            { head: 'Service', cell: ({ route_group_name }) => route_group_name ?? '–' },
            {
              head: 'Made',
              cell: ({ created_at }) => <Time at={new Date(created_at * 1000).toISOString()} />,
              phone: 'side',
            },
          ]}
          rowKey={({ id }) => id}
        />
      )}
    </Page>
  );
};
