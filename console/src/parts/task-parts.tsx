/** Video tasks in both trees: the state, the times, the result. */
import { useState } from 'react';
import type { ReadTask } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { subtractMoney } from '../format/money.ts';
import { clockTime } from '../format/time.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Json } from './code.tsx';
import { Card, Facts } from './page.tsx';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Id, Money, Time } from './values.tsx';

const TONES: Readonly<Record<ReadTask['status'], Tone>> = {
  queued: 'muted',
  running: 'warn',
  cancelled: 'muted',
  succeeded: 'ok',
  failed: 'bad',
  expired: 'bad',
};

export const TaskState = ({ task }: { readonly task: ReadTask }) => (
  <State tone={task.in_review ? 'held' : TONES[task.status]}>
    {t(task.status)}
    {task.status === 'running' && task.progress > 0 ? ` ${task.progress}%` : ''}
    {task.in_review ? `, ${texts.task.inReview}` : ''}
  </State>
);

const HOLD_STATES = {
  held: t('Held'),
  review: t('In review'),
  settled: t('Settled'),
  released: t('Released'),
} as const;
const SUBMISSIONS = {
  pending: t('Pending'),
  sending: t('Sending'),
  confirmed: t('Confirmed'),
  unknown: texts.task.unknown,
} as const;

export const TASK_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;

export const sizeText = ({ resolution, ratio, duration }: ReadTask['parameters']): string =>
  [resolution, ratio, duration === undefined ? undefined : `${duration} s`]
    .filter((part) => part !== undefined)
    .join(' ');

export function taskColumns(reader: 'operator' | 'user'): Column<ReadTask>[] {
  const all: (Column<ReadTask> & { readonly only?: 'operator' })[] = [
    { head: 'Task', cell: ({ id }) => <Id id={id} canCopy={false} />, phone: 'title' },
    { head: 'State', cell: (task) => <TaskState task={task} />, phone: 'side' },
    { head: 'Model', cell: ({ model }) => model },
    { head: 'Size', cell: ({ parameters }) => sizeText(parameters), phone: 'hide' },
    { head: 'User', cell: ({ user }) => user, phone: 'hide', only: 'operator' },
    { head: 'Account', cell: ({ account }) => account ?? '–', phone: 'hide', only: 'operator' },
    {
      head: 'Charge',
      cell: ({ hold }) => <TaskMoney hold={hold} />,
      kind: 'number',
      phone: 'label',
    },
    {
      head: 'Made',
      cell: ({ created_at }) => <Time at={created_at} />,
      phone: 'line',
      ...(reader === 'operator' && { sort: 'created' }),
    },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}

/** The charge; before it, what is held for it. */
const TaskMoney = ({ hold }: { readonly hold: ReadTask['hold'] }) =>
  !hold || hold.state === 'released' || hold.charged !== null ? (
    <Money amount={hold?.state === 'released' ? '0' : hold?.charged} />
  ) : (
    <>
      <span className="muted">{texts.task.held}</span> <Money amount={hold.held} />
    </>
  );

/** What the task holds, and what it was charged. */
export const HoldFacts = ({ hold }: { readonly hold: ReadTask['hold'] }) =>
  hold ? (
    <Facts
      rows={[
        ['Held', <Money key="held" amount={hold.held} />],
        ['Charged', hold.charged === null ? undefined : <Money key="charged" amount={hold.charged} />],
        [
          'Released',
          hold.charged === null ? undefined : <Money key="rest" amount={subtractMoney(hold.held, hold.charged)} />,
        ],
        ['State', HOLD_STATES[hold.state]],
      ]}
    />
  ) : (
    <p className="muted">{texts.task.noHold}</p>
  );

const Player = ({ source }: { readonly source: string }) => {
  const [isGone, setGone] = useState(false);
  return isGone ? (
    <p className="muted">{texts.task.noResult}</p>
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: providers deliver no captions
    <video className="media" controls preload="metadata" src={source} onError={() => setGone(true)} />
  );
};

interface TaskViewProps {
  readonly task: ReadTask;
  /** Addresses of the results; undefined where the reader may not see them. */
  readonly video?: string;
  readonly lastFrame?: string;
}

export const TaskView = ({ task, video, lastFrame }: TaskViewProps) => (
  <div className="grid-2">
    <Card title="Result">
      {task.error && (
        <p className="notice" data-tone="bad">
          {task.error.code}: {task.error.message}
        </p>
      )}
      {task.status === 'succeeded' && video !== undefined ? (
        <div className="fields">
          <Player source={video} />
          <div className="row">
            <a className="button" href={video} download={`${task.id}.mp4`}>
              {t('Download')}
            </a>
            {task.has_last_frame && lastFrame !== undefined && (
              <a className="button" href={lastFrame} target="_blank" rel="noreferrer">
                {t('Last frame')}
              </a>
            )}
          </div>
        </div>
      ) : (
        !task.error && (
          <p className="muted">
            {task.status === 'queued' || task.status === 'running' ? texts.task.done(task.progress) : t(task.status)}
          </p>
        )
      )}
    </Card>
    <Card title="Task">
      <Facts
        rows={[
          ['Queued', `${clockTime(task.created_at)} UTC`],
          ['Changed', `${clockTime(task.updated_at)} UTC`],
          ['Finished', task.finished_at ? `${clockTime(task.finished_at)} UTC` : undefined],
          ['Model', task.model],
          ['Size', sizeText(task.parameters)],
          ['Tokens', task.tokens === null ? undefined : countText(task.tokens)],
          ['Submission', task.submission && SUBMISSIONS[task.submission]],
          ['Review', task.in_review ? texts.task.review : undefined],
        ]}
      />
      <Json label="Parameters" value={task.parameters} />
    </Card>
  </div>
);
