/** A video task. The task page follows it to its result. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { TaskEstimate } from '../../../../src/schemas/index.ts';
import { countText } from '../../format/count.ts';
import { Choice } from '../../parts/choice.tsx';
import { ProblemNotice } from '../../parts/form.tsx';
import { Money } from '../../parts/values.tsx';
import { paths } from '../../paths.ts';
import { Attachments, PICTURES } from './attachments.tsx';
import { ofKind, playJson, useCall } from './calls.ts';
import { CodeButton } from './code-button.tsx';
import { type Attachment, dataUrl } from './conversation.ts';
import { ModelField, PlayForm, type PlayProps } from './parts.tsx';
import { playTexts } from './texts.ts';

const FIELDS = {
  resolution: ['480p', '720p', '1080p'],
  ratio: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'],
  duration: ['5', '10'],
} as const;
type FieldName = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as FieldName[];
const TASKS = '/api/v3/contents/generations/tasks';

/** By the order of the pictures. */
const FRAMES = ['first_frame', 'last_frame'] as const;
const frameItem = (picture: Attachment, n: number): object => ({
  type: 'image_url',
  image_url: { url: dataUrl(picture) },
  role: FRAMES[n],
});

export const PlayVideo = ({ keyId, models, wanted, prompt, setPrompt }: PlayProps) => {
  const navigate = useNavigate();
  const [chosen, setModel] = useState(wanted);
  const [values, setValues] = useState<Record<FieldName, string>>({ resolution: '720p', ratio: '16:9', duration: '5' });
  const [pictures, setPictures] = useState<readonly Attachment[]>([]);
  const own = ofKind(models, 'video');
  const model = chosen ?? own[0]?.id ?? '';
  const accepts = own.find(({ id }) => id === model)?.accepts;
  const { resolution, ratio, duration } = values;
  const content = [{ type: 'text', text: prompt }, ...pictures.map(frameItem)];
  const task = { model, content, resolution, ratio, duration: Number(duration) };
  const { error, isPending, run } = useCall(async () => {
    const headers = { 'idempotency-key': `playground-${crypto.randomUUID()}` };
    const { body } = await playJson<{ readonly id: string }>(TASKS, { key: keyId, body: task, headers });
    await navigate({ to: paths.myTask(body.id) });
  });
  return (
    <div className="play">
      <PlayForm
        prompt={prompt}
        setPrompt={setPrompt}
        isRunning={isPending}
        run={run}
        action={<CodeButton request={{ operation: 'tasks.create', path: TASKS, body: task }} />}
      >
        <ModelField value={model} models={own} onChange={setModel} />
        <div className="field-row">
          {NAMES.map((name) => (
            <Choice
              key={name}
              label={name}
              value={values[name]}
              options={FIELDS[name].filter((value) => name === 'duration' || !accepts || accepts.includes(value))}
              onChange={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </div>
        <Attachments
          label="Pictures"
          hint={playTexts.frames}
          accept={PICTURES}
          max={FRAMES.length}
          files={pictures}
          onChange={setPictures}
        />
      </PlayForm>
      <section className="card">
        <div className="body fields">
          {error && <ProblemNotice problem={error} />}
          <Hold keyId={keyId} task={task} />
          <p className="muted">{playTexts.videoHold}</p>
        </div>
      </section>
    </div>
  );
};

const TYPING_MS = 400;

interface HoldProps {
  readonly keyId: string;
  readonly task: { readonly model: string; readonly [member: string]: unknown };
}

/** The server checks and prices the task as its creation would, and creates nothing. */
const Hold = ({ keyId, task }: HoldProps) => {
  const estimate = useQuery({
    queryKey: ['task-estimate', keyId, task],
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
      signal.throwIfAborted();
      return (await playJson<TaskEstimate>(`${TASKS}/estimate`, { key: keyId, body: task, signal })).body;
    },
    enabled: task.model !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <div aria-live="polite" aria-busy={estimate.isFetching}>
      {estimate.isError && !estimate.isFetching && <p className="muted break">{estimate.error.message}</p>}
      {estimate.data && !estimate.isError && (
        <p>
          {playTexts.atMost} <Money amount={estimate.data.max_cost} />
          <span className="muted">
            {' '}
            {playTexts.arithmetic(countText(estimate.data.tokens), estimate.data.price, factorOf(estimate.data))}
          </span>
        </p>
      )}
    </div>
  );
};

/** The multipliers that change the price. */
const factorOf = ({ multipliers }: TaskEstimate): string => multipliers.filter((factor) => factor !== '1').join(' × ');
