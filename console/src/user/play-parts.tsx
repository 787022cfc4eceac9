/** What the forms of the playground share: prompt, model, headers, and the run button. */

import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useId } from 'react';
import type { GroupStyle, OwnModel } from '../../../src/schemas/index.ts';
import { mine } from '../api/user.ts';
import { t } from '../language.ts';
import { ratesText } from '../parts/rates.ts';
import { Money } from '../parts/values.tsx';
import { texts } from '../texts.ts';

export interface PlayProps {
  readonly keyId: string;
  /** Of the key's group. */
  readonly style: Exclude<GroupStyle, 'video'>;
  readonly models: readonly OwnModel[];
  /** The model that the page was opened for. */
  readonly wanted: string | undefined;
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
}

interface PlayFormProps {
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
  readonly isRunning: boolean;
  readonly run: () => void;
  readonly stop?: () => void;
  /** Beside the run button. */
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

export const PlayForm = ({ prompt, setPrompt, isRunning, run, stop, action, children }: PlayFormProps) => {
  const id = useId();
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    if (!isRunning) run();
  };
  return (
    <form
      className="card"
      onKeyDown={onKey}
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <div className="body fields">
        {children}
        <div className="field">
          <label className="label" htmlFor={id}>
            {t('Prompt')}
          </label>
          <textarea id={id} rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        </div>
        <div className="row">
          {isRunning && stop ? (
            <button type="button" onClick={stop}>
              {t('Stop')}
            </button>
          ) : (
            <button type="submit" className="primary" disabled={isRunning || prompt.trim() === ''}>
              {isRunning ? t('Running') : t('Run')}
            </button>
          )}
          {action}
          <span className="muted small">{texts.playground.hint}</span>
        </div>
      </div>
    </form>
  );
};

interface ModelFieldProps {
  readonly value: string;
  readonly models: readonly OwnModel[];
  readonly onChange: (model: string) => void;
}

/** With its price. Any name can be typed: a pattern of the catalog matches more than the list shows. */
export const ModelField = ({ value, models, onChange }: ModelFieldProps) => {
  const id = useId();
  const known = models.find((model) => model.id === value);
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {t('Model')}
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
          {texts.playground.price} {known.prices === null ? texts.model.free : ratesText(known.prices)}
        </span>
      )}
    </div>
  );
};

/** The log has a call a moment after its end. */
const LOG_TRIES = 8;

/** What the call was charged, once the log has it. */
export const Charge = ({ headers }: { readonly headers: Headers }) => {
  const id = headers.get('x-request-id') ?? '';
  const { data } = useQuery({
    queryKey: ['my-requests', 'charge', id],
    queryFn: () => mine.request(id),
    enabled: id !== '',
    retry: LOG_TRIES,
    retryDelay: 500,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data ? (
    <span>
      · {texts.playground.charged} <Money amount={data.charge} />
    </span>
  ) : null;
};

/** What the gateway says about a call in its headers. */
export function footerOf(headers: Headers): string {
  const parts = [
    headers.get('x-request-id'),
    headers.get('x-gateway-converted') && texts.playground.converted(headers.get('x-gateway-converted') ?? ''),
    headers.get('x-gateway-dropped') && texts.playground.dropped(headers.get('x-gateway-dropped') ?? ''),
  ];
  return parts.filter(Boolean).join(' · ');
}
