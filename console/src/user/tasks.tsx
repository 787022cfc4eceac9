/** Video tasks of the signed-in user, with their results. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { mine } from '../api/user.ts';
import { choices, t } from '../language.ts';
import { FilteredList, POLL_MS } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import { HoldFacts, TASK_STATUSES, TaskState, TaskView, taskColumns } from '../parts/task-parts.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages } from '../texts.ts';

export const MyTasks = () => (
  <Page title={t('Tasks')}>
    <FilteredList
      page={pages.tasks}
      name="my-tasks"
      load={mine.tasks}
      isLive
      filters={[
        { name: 'status', label: 'State', options: choices(TASK_STATUSES) },
        { name: 'model', label: 'Model' },
      ]}
      columns={taskColumns('user')}
      rowKey={({ id }) => id}
      open={({ id }) => paths.myTask(id)}
    />
  </Page>
);

export const MyTaskPage = () => {
  const { task: id = '' } = useParams({ strict: false });
  const query = useQuery({
    queryKey: ['my-task', id],
    queryFn: () => mine.task(id),
    refetchInterval: ({ state }) => (state.data?.finished_at ? false : POLL_MS),
  });
  return (
    <Page
      title={<Id id={id} isWhole />}
      name={id}
      parent={{ title: t('Tasks'), path: paths.myTasks }}
      beside={query.data && <TaskState task={query.data} />}
    >
      <Load query={query} things={pages.task.things}>
        {(task) => (
          <div className="stack">
            <TaskView task={task} video={mine.video(id)} lastFrame={mine.lastFrame(id)} />
            <Card title="Money">
              <HoldFacts hold={task.hold} />
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
};
