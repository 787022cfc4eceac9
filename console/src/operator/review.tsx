/** What an operator must decide: holds and submissions of video tasks, and usage that was not charged. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { QuarantinedRecord, Review } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { countText } from '../format/count.ts';
import { t } from '../language.ts';
import { Json } from '../parts/code.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { Id, Money, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { Decision, REASON } from './decision.tsx';
import { Submissions } from './submissions.tsx';
import { operatorTexts } from './texts.ts';

/** Those that are decided make room for the next ones. */
const SHOWN = 100;

interface RestProps {
  readonly shown: number;
  readonly count: number | null | undefined;
}

export const Rest = ({ shown, count }: RestProps) =>
  count === undefined || (count !== null && count <= shown) ? null : (
    <p className="muted rest">{texts.table.firstOf(countText(shown), count === null ? '10,000+' : countText(count))}</p>
  );

export const ReviewPage = () => {
  const reviews = useQuery({ queryKey: ['reviews'], queryFn: () => admin.reviews({ limit: SHOWN }) });
  const submissions = useQuery({ queryKey: ['submissions'], queryFn: () => admin.submissions({ limit: SHOWN }) });
  const quarantine = useQuery({ queryKey: ['quarantine'], queryFn: () => admin.quarantine({ limit: SHOWN }) });
  return (
    <Page title={pages.review.title}>
      <div className="stack">
        <Card title={operatorTexts.review.holds} lead={operatorTexts.review.holdsLead} isFlush>
          <Load query={reviews} things={pages.review.things} lines={3}>
            {({ data, count }) => (
              <>
                <Holds rows={data} />
                <Rest shown={data.length} count={count} />
              </>
            )}
          </Load>
        </Card>
        <Card title={operatorTexts.review.submissions} lead={operatorTexts.review.submissionsLead} isFlush>
          <Load query={submissions} things={pages.review.things} lines={3}>
            {({ data, count }) => (
              <>
                <Submissions rows={data} />
                <Rest shown={data.length} count={count} />
              </>
            )}
          </Load>
        </Card>
        <Card title={operatorTexts.review.quarantine} lead={operatorTexts.review.quarantineLead} isFlush>
          <Load query={quarantine} things={pages.review.things} lines={3}>
            {({ data, count }) => (
              <>
                <Records rows={data} />
                <Rest shown={data.length} count={count} />
              </>
            )}
          </Load>
        </Card>
      </div>
    </Page>
  );
};

const Holds = ({ rows }: { readonly rows: readonly Review[] }) => (
  <Table
    caption={operatorTexts.review.holds}
    rows={rows}
    rowKey={({ task }) => task}
    empty={operatorTexts.review.noHolds}
    columns={[
      { head: 'Task', cell: ({ task }) => <Id id={task} to={paths.task(task)} canCopy={false} />, phone: 'title' },
      { head: 'User', cell: ({ user }) => <Link to={paths.user(user)}>{user}</Link> },
      { head: 'Model', cell: ({ model }) => model },
      {
        head: 'At the provider',
        cell: ({ account, upstream_task }) => (
          <>
            {account ?? '–'}
            <div>
              <Id id={upstream_task} />
            </div>
          </>
        ),
        phone: 'hide',
      },
      {
        head: 'Tokens',
        cell: ({ tokens, reported }) => (tokens === null ? (reported ?? t('missing')) : countText(tokens)),
        kind: 'number',
        phone: 'label',
      },
      { head: 'Held', cell: ({ held }) => <Money amount={held} />, kind: 'number', phone: 'side' },
      { head: 'Finished', cell: ({ finished_at }) => <Time at={finished_at} />, phone: 'hide' },
      {
        head: 'Decide',
        kind: 'actions',
        cell: ({ task, tokens }) => (
          <span className="row">
            <Decision
              label="Settle"
              explain={operatorTexts.review.settle}
              subject={task}
              fields={[
                { name: 'tokens', label: 'Tokens on the bill', kind: 'number', isRequired: true, value: tokens },
                REASON,
              ]}
              decide={(values) => admin.settleReview(task, values)}
            />
            <Decision
              label="Release"
              explain={operatorTexts.review.release}
              subject={task}
              fields={[REASON]}
              decide={(values) => admin.releaseReview(task, values)}
            />
          </span>
        ),
      },
    ]}
  />
);

const Records = ({ rows }: { readonly rows: readonly QuarantinedRecord[] }) => (
  <Table
    caption={operatorTexts.review.quarantine}
    rows={rows}
    rowKey={({ id }) => id}
    empty={operatorTexts.review.noQuarantine}
    columns={[
      { head: 'Record', cell: ({ id }) => <Id id={id} />, phone: 'title' },
      { head: 'Fault', cell: ({ fault }) => fault },
      { head: 'User', cell: ({ record }) => String(record?.userId ?? '–') },
      { head: 'Model', cell: ({ record }) => String(record?.model ?? '–'), phone: 'hide' },
      { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'side' },
      {
        head: 'Evidence',
        kind: 'prose',
        cell: ({ record }) => (record ? <Json label="Record" value={record} /> : t('missing')),
      },
      {
        head: 'Decide',
        kind: 'actions',
        cell: ({ id }) => (
          <span className="row">
            <Decision
              label="Charge"
              explain={operatorTexts.review.resolve}
              subject={id}
              fields={[{ name: 'amount', label: 'Amount in dollars', isRequired: true, placeholder: '0.012' }, REASON]}
              decide={(values) => admin.resolveRecord(id, values)}
            />
            <Decision
              label="Dismiss"
              explain={operatorTexts.review.dismiss}
              subject={id}
              fields={[REASON]}
              decide={(values) => admin.dismissRecord(id, values)}
            />
          </span>
        ),
      },
    ]}
  />
);
