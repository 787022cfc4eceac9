/** Who changed what, with the difference. */
import type { ShownAuditLine } from '../../../src/objects/index.ts';
import { admin } from '../api/admin.ts';
import { Diff } from '../parts/code.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { Id, Time } from '../parts/values.tsx';
import { pages } from '../texts.ts';

const COLUMNS: readonly Column<ShownAuditLine>[] = [
  { head: 'Action', cell: ({ action }) => action, phone: 'title' },
  { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'side' },
  { head: 'Actor', cell: ({ actor }) => actor },
  { head: 'Subject', cell: ({ subject }) => <Id id={subject} isWhole canCopy={false} /> },
  { head: 'Address', cell: ({ address }) => address ?? '–', phone: 'hide' },
  {
    head: 'Change',
    kind: 'prose',
    cell: ({ before, after }) => (
      <details>
        <summary>Difference</summary>
        <Diff before={before} after={after} />
      </details>
    ),
  },
];

export const Audit = () => (
  <Page title={pages.audit.title}>
    <FilteredList
      page={pages.audit}
      name="audit"
      load={admin.audit}
      isLive
      filters={[
        { name: 'actor', label: 'Actor' },
        { name: 'action', label: 'Action' },
        { name: 'subject', label: 'Subject' },
        { name: 'start', label: 'From (UTC)', type: 'date' },
        { name: 'end', label: 'Before (UTC)', type: 'date' },
      ]}
      columns={COLUMNS}
      rowKey={({ id }) => id}
    />
  </Page>
);
