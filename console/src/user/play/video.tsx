/** A video task. The task page follows it to its result. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { OwnModel, TaskEstimate } from '../../../../src/schemas/index.ts';
import { countText } from '../../format/count.ts';
import { Choice } from '../../parts/choice.tsx';
import { Money } from '../../parts/values.tsx';
import { paths } from '../../paths.ts';
import { Attachments, PICTURES } from './attachments.tsx';
import { playJson, useCall } from './calls.ts';
import { type Attachment, dataUrl } from './conversation.ts';
import { PlayForm, type PlayProps, useModel } from './parts.tsx';
import { playTexts } from './texts.ts';

/**
 * What a person can choose, by the sheet of the model; the first value that they prefer, else the first of the sheet.
 */
const fieldsOf = (sheet: OwnModel['sheet'] | undefined): readonly Field[] => [
  { name: 'resolution', options: sheet?.resolutions ?? [], usual: '720p' },
  { name: 'ratio', options: sheet?.ratios ?? [], usual: '16:9' },
  { name: 'duration', options: sheet?.durations.map(String) ?? [], usual: String(sheet?.default_duration ?? 5) },
  ...Object.entries(sheet?.words ?? {}).map(([name, words]) => ({ name, options: ['', ...words], usual: '' })),
];
interface Field {
  readonly name: string;
  readonly options: readonly string[];
  readonly usual: string;
}

/** A value of another model counts only if this one has it. */
const chosenOf = ({ name, options, usual }: Field, values: Readonly<Record<string, string>>): string =>
  [values[name], usual, options[0]].find((value) => value !== undefined && options.includes(value)) ?? '';

const TASKS = '/api/v3/contents/generations/tasks';

/** By the order of the pictures. */
const FRAMES = ['first_frame', 'last_frame'] as const;
const frameItem = (picture: Attachment, n: number): object => ({
  type: 'image_url',
  image_url: { url: dataUrl(picture) },
  role: FRAMES[n],
});

export const PlayVideo = (props: PlayProps) => {
  const { keyId, prompt, setPrompt, isWaiting } = props;
  const navigate = useNavigate();
  const { model, modelField } = useModel(props, 'video');
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [pictures, setPictures] = useState<readonly Attachment[]>([]);
  const fields = fieldsOf(props.models.find(({ id }) => id === model)?.sheet);
  const content = [{ type: 'text', text: prompt }, ...pictures.map(frameItem)];
  const members = fields
    .map((field) => [field.name, chosenOf(field, values)] as const)
    .filter(([, value]) => value !== '');
  const task = {
    model,
    content,
    ...Object.fromEntries(members.map(([name, value]) => [name, name === 'duration' ? Number(value) : value])),
  };
  const call = useCall(async () => {
    const headers = { 'idempotency-key': `playground-${crypto.randomUUID()}` };
    const { body } = await playJson<{ readonly id: string }>(TASKS, { key: keyId, body: task, headers });
    await navigate({ to: paths.myTask(body.id) });
  });
  return (
    <PlayForm
      prompt={prompt}
      setPrompt={setPrompt}
      isWaiting={isWaiting}
      call={call}
      request={{ operation: 'tasks.create', path: TASKS, body: task }}
      fields={
        <>
          {modelField}
          <div className="field-row">
            {fields.map((field) => (
              <Choice
                key={field.name}
                label={field.name}
                value={chosenOf(field, values)}
                options={field.options}
                onChange={(value) => setValues({ ...values, [field.name]: value })}
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
        </>
      }
    >
      <Hold keyId={keyId} task={task} />
      <p className="muted">{playTexts.videoHold}</p>
    </PlayForm>
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
