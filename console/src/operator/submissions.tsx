/** Video tasks that may be any of several tasks at the provider: what was requested, beside what the provider has. */
import { Link } from '@tanstack/react-router';
import type { OpenSubmission, SubmissionCandidate } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Badge } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { Id, Money, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { Decision, REASON } from './decision.tsx';
import { operatorTexts } from './texts.ts';

export const Submissions = ({ rows }: { readonly rows: readonly OpenSubmission[] }) =>
  rows.length === 0 ? (
    <div className="empty">{operatorTexts.review.noSubmissions}</div>
  ) : (
    rows.map((row) => <Submission key={row.task} submission={row} />)
  );

/** The request is the first row, so that its values stand above those of the candidates. */
const Submission = ({ submission }: { readonly submission: OpenSubmission }) => {
  const { task, user, model, held, parameters, created_at, decide_until, candidates } = submission;
  const requested: SubmissionCandidate = { upstream_task: '', status: '', created_at, parameters, differs: [] };
  const names = SHOWN.filter((name) => name in parameters || valuesOf(candidates, name).size > 1);
  return (
    <Table
      caption={`${operatorTexts.review.candidatesOf} ${task}`}
      rows={[requested, ...candidates]}
      rowKey={({ upstream_task }) => `${task} ${upstream_task}`}
      empty=""
      above={
        <div className="row table-lead">
          <Id id={task} to={paths.task(task)} />
          <Link to={paths.user(user)}>{user}</Link>
          <span>{model}</span>
          <span>
            <Money amount={held} /> {t('held')}
          </span>
          <span>
            {t('expires')} <Time at={decide_until} />
          </span>
          <Decision
            label="Dismiss"
            explain={operatorTexts.review.dismissTask}
            subject={task}
            fields={[REASON]}
            decide={(values) => admin.dismissTask(task, values)}
          />
        </div>
      }
      columns={[
        {
          head: 'At the provider',
          cell: ({ upstream_task }) =>
            upstream_task === '' ? <strong>{operatorTexts.review.requested}</strong> : <Id id={upstream_task} />,
          phone: 'title',
        },
        { head: 'Status', cell: ({ status }) => t(status), phone: 'side' },
        { head: 'Created', cell: ({ created_at }) => <Time at={created_at} />, phone: 'label' },
        ...names.map((name) => ({
          head: name,
          cell: ({ parameters, differs }: SubmissionCandidate) => (
            <Value value={withUnit(name, parameters[name])} isDifferent={differs.includes(name)} />
          ),
          phone: 'label' as const,
        })),
        {
          head: 'Decide',
          kind: 'actions',
          cell: ({ upstream_task }) =>
            upstream_task !== '' && (
              <Decision
                label="Assign"
                explain={operatorTexts.review.assignTask}
                subject={upstream_task}
                fields={[REASON]}
                decide={(values) => admin.assignTask(task, { ...values, upstream_task })}
              />
            ),
        },
      ]}
    />
  );
};

/** What is the same for all candidates and was not requested tells nothing. */
const valuesOf = (candidates: readonly SubmissionCandidate[], name: string): ReadonlySet<unknown> =>
  new Set(candidates.map(({ parameters }) => parameters[name]));

const SHOWN = [
  'resolution',
  'ratio',
  'duration',
  'frames',
  'seed',
  'generate_audio',
  'watermark',
  'return_last_frame',
  'service_tier',
  'execution_expires_after',
];

const withUnit = (name: string, value: unknown): unknown =>
  name === 'duration' && typeof value === 'number' && value > 0 ? `${value} s` : value;

const Value = ({ value, isDifferent }: { readonly value: unknown; readonly isDifferent: boolean }) => {
  if (value === undefined) return null;
  return isDifferent ? <Badge tone="warn">{String(value)}</Badge> : <span>{String(value)}</span>;
};
