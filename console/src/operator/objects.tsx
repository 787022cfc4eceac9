/**
 * Files, batches, conversations and cached contents of all users: whose they are, how large, and until when they are
 * kept.
 */
import { admin } from '../api/admin.ts';
import { finders } from '../parts/finders.ts';
import { FilteredList } from '../parts/list.tsx';
import { KIND_FILTER, objectColumns } from '../parts/object-columns.tsx';
import { Page } from '../parts/page.tsx';
import { pages } from '../texts.ts';

const COLUMNS = objectColumns({
  reader: 'operator',
  remove: ({ user = '', id }) => admin.deleteObject(user, id),
  queries: 'objects',
});

export const Objects = () => (
  <Page title={pages.objects.title}>
    <FilteredList
      page={pages.objects}
      name="objects"
      load={admin.objects}
      filters={[
        { name: 'user', label: 'User', finder: finders.user },
        KIND_FILTER,
        { name: 'key', label: 'Key', finder: finders.key },
      ]}
      columns={COLUMNS}
      rowKey={({ id }) => id}
    />
  </Page>
);
