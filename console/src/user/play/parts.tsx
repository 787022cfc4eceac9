/** What the forms of the playground share: prompt, model, headers, and the run button. */
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import type { ModelKind, OwnKey, OwnModel } from '../../../../src/schemas/index.ts';
import { t } from '../../language.ts';
import { ProblemNotice } from '../../parts/form.tsx';
import { ratesText } from '../../parts/rates.ts';
import { Money } from '../../parts/values.tsx';
import { texts } from '../../texts.ts';
import { ofKind, useCharge } from './calls.ts';
import { CodeButton, type PlayedRequest } from './code-button.tsx';
import { playTexts } from './texts.ts';

export interface PlayProps {
  readonly keyId: string;
  readonly models: readonly OwnModel[];
  /** For the models of the key. */
  readonly isWaiting: boolean;
  /** All valid keys: a second model may need another one. */
  readonly keys: readonly OwnKey[];
  /** The model that the page was opened for. */
  readonly wanted: string | undefined;
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
}

/** The model of a form: what was typed, the one that the page was opened for, or the first of its kind. */
export function useModel({ models, wanted }: PlayProps, kind: ModelKind) {
  const [chosen, setModel] = useState(wanted);
  const own = ofKind(models, kind);
  const model = chosen ?? own[0]?.id ?? '';
  return {
    model,
    accepts: own.find(({ id }) => id === model)?.accepts,
    modelField: <ModelField value={model} models={own} onChange={setModel} />,
  };
}

interface PlayFormProps extends Pick<PlayProps, 'prompt' | 'setPrompt' | 'isWaiting'> {
  readonly call: { readonly isPending: boolean; readonly error: Error | null; readonly run: () => void };
  readonly request: PlayedRequest;
  readonly fields: ReactNode;
  /** The result. */
  readonly children: ReactNode;
}

/** ⌘↵ or Ctrl+Enter. */
export function isRunKey(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return false;
  event.preventDefault();
  return true;
}

/** A call that gives one result, which is shown beside its fields. */
export const PlayForm = ({ prompt, setPrompt, isWaiting, call, request, fields, children }: PlayFormProps) => {
  const id = useId();
  const { isPending, error, run } = call;
  return (
    <div className="play">
      <form
        className="card"
        onKeyDown={(event) => isRunKey(event) && run()}
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <div className="body fields">
          {fields}
          <div className="field">
            <label className="label" htmlFor={id}>
              {t('Prompt')}
            </label>
            <textarea id={id} rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
          </div>
          <div className="row">
            <button type="submit" className="primary" disabled={isPending || isWaiting || prompt.trim() === ''}>
              {isPending ? t('Running') : t('Run')}
            </button>
            <CodeButton request={request} />
            <span className="muted small">{playTexts.hint}</span>
          </div>
        </div>
      </form>
      <section className="card">
        <div className="body fields" aria-live="polite" aria-busy={isPending}>
          {error && <ProblemNotice problem={error} />}
          {children}
        </div>
      </section>
    </div>
  );
};

interface ModelFieldProps {
  readonly label?: string;
  readonly value: string;
  readonly models: readonly OwnModel[];
  readonly onChange: (model: string) => void;
}

/** With its price. Any name can be typed: a pattern of the catalog matches more than the list shows. */
export const ModelField = ({ label = t('Model'), value, models, onChange }: ModelFieldProps) => {
  const id = useId();
  const known = models.find((model) => model.id === value);
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        list={`${id}-names`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        required
        spellCheck={false}
        autoComplete="off"
      />
      <datalist id={`${id}-names`}>
        {models.map((model) => (
          <option key={model.id} value={model.id} />
        ))}
      </datalist>
      {known && (
        <span className="muted small">
          {playTexts.price} {known.prices === null ? texts.model.free : ratesText(known.prices)}
        </span>
      )}
    </div>
  );
};

interface ChargeProps {
  readonly keyId: string;
  readonly headers: Headers;
}

/** What the call was charged, once it is known. */
export const Charge = ({ keyId, headers }: ChargeProps) => {
  const { data } = useCharge(keyId, headers.get('x-request-id'));
  return data?.charge ? (
    <span>
      · {playTexts.charged} <Money amount={data.charge} isEstimated={data.estimated} />
    </span>
  ) : null;
};

/** What the gateway says about a call in its headers. */
export function conversionOf(headers: Headers): string {
  const [converted, dropped] = [headers.get('x-gateway-converted'), headers.get('x-gateway-dropped')];
  return [converted && playTexts.converted(converted), dropped && playTexts.dropped(dropped)]
    .filter(Boolean)
    .join(' · ');
}

/** Below a result: what the gateway did, and the charge. */
export const PlayFooter = ({ keyId, headers }: ChargeProps) => (
  <p className="muted small break">
    {[headers.get('x-request-id'), conversionOf(headers)].filter(Boolean).join(' · ')}{' '}
    <Charge keyId={keyId} headers={headers} />
  </p>
);
