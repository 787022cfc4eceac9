/** Video tasks of all users: what is stuck, and what it holds. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { OperatorTask, ShownCallback } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { choices, t } from '../language.ts';
import { finders } from '../parts/finders.ts';
import { FilteredList, POLL_MS } from '../parts/list.tsx';
import { Card, Facts, Load, Page } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { HoldFacts, TASK_STATUSES, TaskState, TaskView, taskColumns } from '../parts/task-parts.tsx';
import { Countdown, Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';
import { CallbackState, TestCallback } from './callbacks.tsx';

export const Tasks = () => (
  <Page title={pages.tasks.title}>
    <FilteredList
      page={pages.tasks}
      name="tasks"
      load={admin.tasks}
      isLive
      filters={[
        { name: 'status', label: 'State', options: choices(TASK_STATUSES) },
        { name: 'user', label: 'User', finder: finders.user },
        { name: 'model', label: 'Model', finder: finders.model },
        { name: 'account', label: 'Account', finder: finders.account },
      ]}
      columns={taskColumns('operator')}
      rowKey={({ id }) => id}
      open={({ id }) => paths.task(id)}
    />
  </Page>
);

export const TaskPage = () => {
  const { task: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['task', id], queryFn: () => admin.task(id), refetchInterval: POLL_MS });
  return (
    <Page
      title={<Id id={id} isWhole />}
      name={id}
      parent={{ title: pages.tasks.title, path: paths.tasks }}
      beside={query.data && <TaskState task={query.data} />}
      actions={
        query.data?.in_review && (
          <Link className="button primary" to={paths.review}>
            {t('Open review')}
          </Link>
        )
      }
    >
      <Load query={query} things={pages.task.things}>
        {(task) => (
          <div className="stack">
            <TaskView task={task} video={resultOf(task, 'content')} lastFrame={resultOf(task, 'last-frame')} />
            <div className="grid-2">
              <Card title="Money">
                <HoldFacts hold={task.hold} />
              </Card>
              <Card title="Route">
                <Facts
                  rows={[
                    ['User', task.user && <Link to={paths.user(task.user)}>{task.user}</Link>],
                    ['Key', task.key && <Id id={task.key} to={paths.key(task.key)} />],
                    ['Group', task.group],
                    [
                      'Account',
                      task.account ? (
                        <Link key="account" to={paths.account(task.account)}>
                          {task.account}
                        </Link>
                      ) : (
                        '–'
                      ),
                    ],
                    ['At the provider', <Id key="upstream" id={task.upstream_task} />],
                    ['Assets', task.assets && task.assets.length > 0 ? task.assets.join(', ') : undefined],
                  ]}
                />
              </Card>
            </div>
            <TaskCallbacks task={task} />
          </div>
        )}
      </Load>
    </Page>
  );
};

/** An operator reads the result as support of the user. */
const resultOf = (task: OperatorTask, part: 'content' | 'last-frame'): string =>
  `/console/v1/tasks/${encodeURIComponent(task.id)}/${part}?user=${encodeURIComponent(task.user ?? '')}`;

const CALLBACK_COLUMNS: readonly Column<ShownCallback>[] = [
  { head: 'Version', cell: ({ version }) => `v${version}`, phone: 'title' },
  { head: 'State', cell: ({ state }) => <CallbackState state={state} />, phone: 'side' },
  { head: 'Last code', cell: ({ last_status, last_error }) => last_status ?? last_error ?? '–', phone: 'label' },
  {
    head: 'Next try',
    cell: ({ next_attempt_at }) => (next_attempt_at ? <Countdown until={next_attempt_at} /> : '–'),
    phone: 'label',
  },
];

const TaskCallbacks = ({ task }: { readonly task: OperatorTask }) => {
  const query = useQuery({
    queryKey: ['callbacks', 'task', task.id],
    queryFn: () => admin.callbacks({ task: task.id, limit: 50 }),
    enabled: task.callback_host !== null,
  });
  if (task.callback_host === null) return null;
  return (
    <Card
      title="Callbacks"
      {...(task.callback_host !== undefined && { lead: task.callback_host })}
      actions={task.user !== undefined && <TestCallback user={task.user} task={task.id} />}
      isFlush
    >
      <Load query={query} things={pages.callbacks.things} lines={2}>
        {({ data }) => (
          <Table
            caption={pages.callbacks.title}
            columns={CALLBACK_COLUMNS}
            rows={data}
            rowKey={({ id }) => id}
            open={({ id }) => paths.callback(id)}
            empty={pages.callbacks.empty}
          />
        )}
      </Load>
    </Card>
  );
};
