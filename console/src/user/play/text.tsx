/** Text: a conversation with one model, or the same one with two. */
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { OwnKey } from '../../../../src/schemas/index.ts';
import { t } from '../../language.ts';
import { Choice } from '../../parts/choice.tsx';
import { Explain } from '../../parts/explain.tsx';
import { sessionQuery } from '../../shell/session.ts';
import { Attachments, FILES } from './attachments.tsx';
import { ofKind, useModels } from './calls.ts';
import { CodeButton } from './code-button.tsx';
import { type Attachment, callsIn, type PlayDialect, type PlaySettings, type UserTurn } from './conversation.ts';
import { type Conversation, isRunning, type PlaySide, requestOf, useConversation } from './conversations.ts';
import { dialectsFor, PLAY_DIALECTS } from './dialects.ts';
import { ExchangeView } from './exchange.tsx';
import { isRunKey, ModelField, type PlayProps } from './parts.tsx';
import { playTexts } from './texts.ts';
import { Tools, toolOf } from './tools.tsx';

/** What is typed. Numbers are text until they are sent. */
interface Draft {
  readonly system: string;
  readonly tools: readonly string[];
  readonly temperature: string;
  readonly effort: string;
  readonly maxTokens: string;
}

const DRAFT: Draft = { system: '', tools: [], temperature: '', effort: '', maxTokens: '4096' };
const DEFAULT_MAX_TOKENS = 4_096;

function settingsOf(draft: Draft, dialect: PlayDialect): PlaySettings {
  const tools = draft.tools.map(toolOf);
  const temperature = draft.temperature.trim() === '' ? Number.NaN : Number(draft.temperature);
  const { efforts } = PLAY_DIALECTS[dialect];
  return {
    system: draft.system,
    tools: tools.filter((tool) => typeof tool !== 'string'),
    temperature: Number.isFinite(temperature) ? temperature : undefined,
    effort: efforts.find((one) => one === draft.effort),
    maxTokens: Number.parseInt(draft.maxTokens, 10) || DEFAULT_MAX_TOKENS,
  };
}

export const PlayText = (props: PlayProps) => {
  const { prompt, setPrompt } = props;
  const first = useSide({ ...props, key: props.keys.find(({ id }) => id === props.keyId) });
  const [secondKey, setSecondKey] = useState(props.keyId);
  const second = useSide({ key: props.keys.find(({ id }) => id === secondKey), wanted: undefined, isSecond: true });
  const [isCompared, setCompared] = useState(false);
  const [draft, setDraft] = useState(DRAFT);
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const session = useQuery(sessionQuery).data;
  const isOperator = session?.isSignedIn === true && session.session.person.role === 'operator';

  const sides = isCompared ? [first, second] : [first];
  const isBusy = sides.some(({ talk }) => talk.exchanges.some(isRunning));
  const isWaiting = sides.some(({ talk }) => waitsForResults(talk));
  const turn: UserTurn = { role: 'user', text: prompt, files };
  const canSend = !isBusy && !isWaiting && prompt.trim() !== '';
  const send = (): void => {
    if (!canSend) return;
    for (const { talk, side } of sides) void talk.send(side, settingsOf(draft, side.dialect), turn);
    setPrompt('');
    setFiles([]);
  };
  const edit = (): void => {
    const [taken] = sides.map(({ talk }) => talk.takeBack());
    if (taken?.role !== 'user') return;
    setPrompt(taken.text);
    setFiles(taken.files);
  };
  const each = (act: (talk: Conversation) => void): void => {
    for (const { talk } of sides) act(talk);
  };
  const next = requestOf(first.side, settingsOf(draft, first.side.dialect), first.talk.exchanges, turn);
  const { keyId: key, dialect, model } = first.side;
  const explained = { key, dialect, model };
  const { operation, path } = PLAY_DIALECTS[dialect];
  return (
    <div className="play chat">
      <section className="card">
        <div className="body fields">
          <SideFields of={first} />
          {isCompared && (
            <div className="fields second">
              <Choice
                label="Second key"
                value={secondKey}
                options={props.keys.map(({ id, name, groups }) => [id, `${name} (${groups.join(', ')})`])}
                onChange={setSecondKey}
              />
              <SideFields of={second} label={playTexts.second} />
            </div>
          )}
          <div className="row">
            <button type="button" aria-pressed={isCompared} onClick={() => setCompared(!isCompared)}>
              {t('Compare two models')}
            </button>
          </div>
          <Settings draft={draft} dialect={first.side.dialect} onChange={setDraft} />
        </div>
      </section>
      <section className="card talk">
        <div className="sides" data-count={sides.length}>
          {sides.map(({ talk, side }, n) => (
            <section key={n === 0 ? 'first' : 'second'} className="side" aria-label={side.model || t('Conversation')}>
              {isCompared && <h2 className="break">{side.model}</h2>}
              {talk.exchanges.length === 0 ? (
                <p className="empty">{playTexts.empty}</p>
              ) : (
                <Talk
                  talk={talk}
                  edit={n === 0 && !isBusy ? edit : undefined}
                  answer={(results) => void talk.send(side, settingsOf(draft, side.dialect), results)}
                />
              )}
            </section>
          ))}
        </div>
        <form
          className="body fields composer"
          onKeyDown={(event) => isRunKey(event) && send()}
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <PromptField prompt={prompt} setPrompt={setPrompt} />
          <Attachments label="Attach" accept={FILES} files={files} onChange={setFiles} />
          <div className="row">
            {isBusy ? (
              <button type="button" onClick={() => each((talk) => talk.stop())}>
                {t('Stop')}
              </button>
            ) : (
              <button type="submit" className="primary" disabled={!canSend}>
                {t('Run')}
              </button>
            )}
            <button
              type="button"
              disabled={sides.every(({ talk }) => talk.exchanges.length === 0)}
              onClick={() => each((talk) => talk.clear())}
            >
              {t('Clear')}
            </button>
            <CodeButton request={{ operation, path: path(first.side.model), body: next }} />
            {isOperator && <Explain call={explained} body={next} />}
            <span className="muted small">{isWaiting ? playTexts.answerCalls : playTexts.hint}</span>
          </div>
        </form>
      </section>
    </div>
  );
};

const waitsForResults = ({ exchanges }: Conversation): boolean => {
  const last = exchanges.at(-1);
  return last?.reply !== undefined && !last.problem && !isRunning(last) && callsIn(last.reply).length > 0;
};

interface SideInput {
  readonly key: OwnKey | undefined;
  readonly wanted: string | undefined;
  readonly isSecond?: boolean;
}

/**
 * Key, dialect and model of one conversation. Another key may not take the dialect that was chosen for the last one.
 */
function useSide({ key, wanted: opened, isSecond = false }: SideInput) {
  const talk = useConversation();
  const models = ofKind(useModels(key?.id).data?.data, 'text');
  const dialects = dialectsFor(key?.style ?? 'responses');
  const [wanted, setDialect] = useState<PlayDialect>();
  const [chosen, setModel] = useState(opened);
  const dialect = dialects.find((name) => name === wanted) ?? dialects[0] ?? 'responses';
  const model = chosen ?? models[isSecond ? 1 : 0]?.id ?? models[0]?.id ?? '';
  const side: PlaySide = { keyId: key?.id ?? '', dialect, model };
  return { talk, side, models, dialects, setDialect, setModel };
}

interface SideFieldsProps {
  readonly of: ReturnType<typeof useSide>;
  readonly label?: string;
}

const SideFields = ({ of: { side, models, dialects, setDialect, setModel }, label = t('Model') }: SideFieldsProps) => (
  <>
    <div className="segments wrap-segments">
      {dialects.map((name) => (
        <button key={name} type="button" aria-pressed={name === side.dialect} onClick={() => setDialect(name)}>
          {PLAY_DIALECTS[name].label}
        </button>
      ))}
    </div>
    <ModelField label={label} value={side.model} models={models} onChange={setModel} />
  </>
);

interface SettingsProps {
  readonly draft: Draft;
  readonly dialect: PlayDialect;
  readonly onChange: (draft: Draft) => void;
}

/** Folded on a phone, where the conversation would be far below. */
const Settings = ({ draft, dialect, onChange }: SettingsProps) => (
  <details className="fold" open={matchMedia('(min-width: 861px)').matches}>
    <summary>{t('Settings')}</summary>
    <div className="fields">
      <label className="field">
        <span className="label">{t('Instructions')}</span>
        <textarea
          rows={2}
          value={draft.system}
          onChange={(event) => onChange({ ...draft, system: event.target.value })}
        />
      </label>
      <div className="field-row">
        <NumberField
          label="Temperature"
          value={draft.temperature}
          step="0.1"
          max="2"
          onChange={(temperature) => onChange({ ...draft, temperature })}
        />
        <Choice
          label="Effort"
          value={draft.effort}
          options={[['', t('default')], ...PLAY_DIALECTS[dialect].efforts.map((one) => [one, one] as const)]}
          onChange={(effort) => onChange({ ...draft, effort })}
        />
        <NumberField
          label="Max output"
          value={draft.maxTokens}
          step="1"
          onChange={(maxTokens) => onChange({ ...draft, maxTokens })}
        />
      </div>
      <Tools texts={draft.tools} onChange={(tools) => onChange({ ...draft, tools })} />
    </div>
  </details>
);

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly step: string;
  readonly max?: string;
  readonly onChange: (value: string) => void;
}

const NumberField = ({ label, value, step, max, onChange }: NumberFieldProps) => (
  <label className="field">
    <span className="label">{t(label)}</span>
    <input
      type="number"
      min="0"
      max={max}
      step={step}
      value={value}
      placeholder={t('default')}
      onChange={(event) => onChange(event.target.value)}
    />
  </label>
);

interface PromptFieldProps {
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
}

const PromptField = ({ prompt, setPrompt }: PromptFieldProps) => {
  const id = useId();
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {t('Prompt')}
      </label>
      <textarea id={id} rows={3} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
    </div>
  );
};

interface TalkProps {
  readonly talk: Conversation;
  readonly edit: (() => void) | undefined;
  readonly answer: Parameters<typeof ExchangeView>[0]['answer'];
}

const Talk = ({ talk: { exchanges }, edit, answer }: TalkProps) => {
  const lastPrompt = exchanges.findLastIndex(({ sent }) => sent.role === 'user');
  return (
    <ol className="exchanges">
      {exchanges.map((exchange, n) => (
        <ExchangeView
          key={exchange.id}
          exchange={exchange}
          isLast={n === exchanges.length - 1}
          edit={n === lastPrompt ? edit : undefined}
          answer={answer}
        />
      ))}
    </ol>
  );
};
