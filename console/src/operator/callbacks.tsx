/** Callbacks of video tasks: did the receiver get them. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { CALLBACK_STATES } from '../../../src/rules/video/callbacks.ts';
import type { ShownCallback, ShownCallbackAttempt } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { durationText } from '../format/time.ts';
import { choices } from '../language.ts';
import { Json } from '../parts/code.tsx';
import { Opener } from '../parts/dialog.tsx';
import { finders } from '../parts/finders.ts';
import { FormDialog, REASON_FIELD } from '../parts/form.tsx';
import { FilteredList, POLL_MS } from '../parts/list.tsx';
import { Card, Facts, Load, Page } from '../parts/page.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { notify } from '../parts/toast.tsx';
import { Countdown, Id, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { operatorTexts } from './texts.ts';

const TONES: Readonly<Record<ShownCallback['state'], Tone>> = { pending: 'warn', delivered: 'ok', dead: 'bad' };

export const CallbackState = ({ state }: Pick<ShownCallback, 'state'>) => <State tone={TONES[state]}>{state}</State>;

const COLUMNS: readonly Column<ShownCallback>[] = [
  { head: 'Callback', cell: ({ id }) => <Id id={id} canCopy={false} />, phone: 'title' },
  { head: 'State', cell: ({ state }) => <CallbackState state={state} />, phone: 'side' },
  { head: 'Last code', cell: ({ last_status, last_error }) => last_status ?? last_error ?? '–', phone: 'label' },
  {
    head: 'Next try',
    cell: ({ next_attempt_at }) => (next_attempt_at ? <Countdown until={next_attempt_at} /> : '–'),
    phone: 'label',
  },
  { head: 'Attempts', cell: ({ attempts }) => attempts, kind: 'number', phone: 'hide' },
  { head: 'Host', cell: ({ host }) => host },
  { head: 'Task', cell: ({ task }) => <Id id={task} to={paths.task(task)} canCopy={false} />, phone: 'hide' },
  { head: 'User', cell: ({ user }) => user, phone: 'hide' },
  { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide' },
];

export const Callbacks = () => (
  <Page title={pages.callbacks.title}>
    <FilteredList
      page={pages.callbacks}
      name="callbacks"
      load={admin.callbacks}
      isLive
      filters={[
        { name: 'state', label: 'State', options: choices(CALLBACK_STATES) },
        { name: 'user', label: 'User', finder: finders.user },
        { name: 'task', label: 'Task' },
        { name: 'host', label: 'Host' },
      ]}
      columns={COLUMNS}
      rowKey={({ id }) => id}
      open={({ id }) => paths.callback(id)}
    />
  </Page>
);

const ATTEMPT_COLUMNS: readonly Column<ShownCallbackAttempt>[] = [
  { head: 'Attempt', cell: ({ attempt }) => attempt, phone: 'title' },
  { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'side' },
  { head: 'Status', cell: ({ status }) => status ?? '–', phone: 'label' },
  { head: 'Error', cell: ({ error }) => error ?? '' },
  { head: 'Took', cell: ({ duration_ms }) => durationText(duration_ms), kind: 'number' },
];

export const CallbackPage = () => {
  const { event: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['callback', id], queryFn: () => admin.callback(id), refetchInterval: POLL_MS });
  return (
    <Page
      title={<Id id={id} isWhole />}
      name={id}
      parent={{ title: pages.callbacks.title, path: paths.callbacks }}
      beside={query.data && <CallbackState state={query.data.state} />}
      actions={
        query.data && (
          <>
            <TestCallback user={query.data.user} task={query.data.task} />
            <Redeliver id={id} isWaiting={query.data.state === 'pending'} />
          </>
        )
      }
    >
      <Load query={query} things={pages.callback.things}>
        {(callback) => (
          <div className="stack">
            <Card>
              <Facts
                rows={[
                  ['Task', <Id key="task" id={callback.task} to={paths.task(callback.task)} />],
                  ['Version', callback.version],
                  ['User', callback.user],
                  ['URL', <code key="url">{callback.url}</code>],
                  ['Made', <Time key="made" at={callback.created_at} />],
                  [
                    'Next try',
                    callback.next_attempt_at ? <Countdown key="next" until={callback.next_attempt_at} /> : undefined,
                  ],
                  ['Last error', callback.last_error ?? undefined],
                ]}
              />
            </Card>
            <Card title="Attempts" isFlush>
              <Table
                caption="Attempts"
                columns={ATTEMPT_COLUMNS}
                rows={callback.attempt_log ?? []}
                rowKey={({ attempt }) => String(attempt)}
                empty={operatorTexts.callback.noAttempt}
              />
            </Card>
            <Json label="Body" value={parsed(callback.body)} />
          </div>
        )}
      </Load>
    </Page>
  );
};

const parsed = (body = ''): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
};

interface TestCallbackProps {
  readonly user: string;
  readonly task: string;
}

/** The receiver gets a signed event that it must not act on; the outcome is shown at once. */
export const TestCallback = ({ user, task }: TestCallbackProps) => (
  <Opener label={operatorTexts.callback.testTitle}>
    {(close) => (
      <FormDialog
        title={operatorTexts.callback.testTitle}
        explain={operatorTexts.callback.test}
        close={close}
        action={operatorTexts.callback.testAction}
        fields={[]}
        submit={async () => {
          const { host, delivered, status, error, duration_ms } = await admin.testCallback({ user, task });
          const outcome = String(status ?? error ?? '–');
          if (!delivered) throw new Error(operatorTexts.callback.testFailed(host, outcome));
          notify(operatorTexts.callback.testDone(host, outcome, durationText(duration_ms)));
        }}
      />
    )}
  </Opener>
);

interface RedeliverProps {
  readonly id: string;
  /** For its next attempt. */
  readonly isWaiting: boolean;
}

const Redeliver = ({ id, isWaiting }: RedeliverProps) => {
  const { label, title, explain } = operatorTexts.callback[isWaiting ? 'now' : 'again'];
  return (
    <Opener label={label} className="primary">
      {(close) => (
        <FormDialog
          title={title}
          explain={explain}
          close={close}
          action={title}
          fields={[REASON_FIELD]}
          submit={(values) => admin.redeliver(id, values)}
          refreshes={['callback']}
          done={texts.done.callbackSent}
        />
      )}
    </Opener>
  );
};
