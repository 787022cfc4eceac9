/** Who changed what, with both values. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ShownAuditLine } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { allOf } from '../api/paths.ts';
import { type Change, ChangeList } from '../parts/changes.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/values.tsx';
import { pages } from '../texts.ts';
import { actionText, actorText, changesOf, subjectOf } from './audit-line.ts';
import { operatorTexts } from './texts.ts';

const COLUMNS: readonly Column<ShownAuditLine>[] = [
  { head: 'What', cell: (line) => <What line={line} />, kind: 'prose', phone: 'title' },
  { head: 'Change', cell: (line) => <Difference line={line} />, kind: 'prose' },
  {
    head: 'By',
    cell: (line) => (
      <>
        {actorText(line)}
        {line.address && <div className="muted small">{line.address}</div>}
      </>
    ),
  },
  { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'side' },
];

const What = ({ line }: { readonly line: ShownAuditLine }) => {
  const { text, path } = subjectOf(line);
  return (
    <>
      <strong>{actionText(line.action)}</strong>
      <div className="break">{path === undefined ? text : <Link to={path}>{text}</Link>}</div>
    </>
  );
};

/** More fields are folded, so that a line does not fill the page. */
const MAX_FIELDS = 5;

const Difference = ({ line }: { readonly line: ShownAuditLine }) => {
  const changes = changesOf(line);
  if (changes.length === 0) return <span className="muted">{operatorTexts.noDifference}</span>;
  const isWhole = line.before === null || line.after === null;
  if (!isWhole && changes.length <= MAX_FIELDS) return <ChangeList changes={changes} />;
  return (
    <details className="folded-changes">
      <summary>{changes.map(shortText).join(' · ')}</summary>
      <ChangeList changes={changes} isWhole={isWhole} />
    </details>
  );
};

const shortText = ({ label, before, after }: Change): string => `${label} ${after ?? before}`;

export const Audit = () => {
  const people = useQuery({
    queryKey: ['people', 'all'],
    queryFn: () => allOf(admin.people),
    staleTime: 30_000,
  });
  return (
    <Page title={pages.audit.title}>
      <FilteredList
        page={pages.audit}
        name="audit"
        load={admin.audit}
        isLive
        filters={[
          { name: 'subject', label: 'Subject' },
          {
            name: 'actor',
            label: 'By',
            options: [
              ...(people.data?.data ?? []).map(({ id, name }) => [`person:${id}`, name] as const),
              ...Object.entries(operatorTexts.audit.actors),
            ],
          },
          { name: 'action', label: 'Action' },
          { name: 'start', label: 'From (UTC)', type: 'date' },
          { name: 'end', label: 'Before (UTC)', type: 'date' },
        ]}
        columns={COLUMNS}
        rowKey={({ id }) => id}
      />
    </Page>
  );
};
