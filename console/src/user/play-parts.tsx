/** What the forms of the playground share: prompt, model, headers, and the run button. */
import { type KeyboardEvent, type ReactNode, useId } from 'react';
import type { GroupStyle } from '../../../src/objects/index.ts';
import { texts } from '../texts.ts';
import type { PlayModel } from './play-models.ts';

export interface PlayProps {
  readonly keyId: string;
  /** Of the key's group. */
  readonly style: Exclude<GroupStyle, 'video'>;
  readonly models: readonly PlayModel[];
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
}

interface PlayFormProps {
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
  readonly isRunning: boolean;
  readonly run: () => void;
  readonly stop?: () => void;
  readonly children: ReactNode;
}

export const PlayForm = ({ prompt, setPrompt, isRunning, run, stop, children }: PlayFormProps) => {
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
            Prompt
          </label>
          <textarea id={id} rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        </div>
        <div className="row">
          {isRunning && stop ? (
            <button type="button" onClick={stop}>
              Stop
            </button>
          ) : (
            <button type="submit" className="primary" disabled={isRunning || prompt.trim() === ''}>
              {isRunning ? 'Running' : 'Run'}
            </button>
          )}
          <span className="muted small">{texts.playground.hint}</span>
        </div>
      </div>
    </form>
  );
};

interface ModelFieldProps {
  readonly value: string;
  readonly names: readonly string[];
  readonly onChange: (model: string) => void;
}

/** Any name can be typed: a pattern of the catalog matches more than the list shows. */
export const ModelField = ({ value, names, onChange }: ModelFieldProps) => {
  const id = useId();
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        Model
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
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
};

/** What the gateway says about a call in its headers. */
export function footerOf(headers: Headers): string {
  const parts = [
    headers.get('x-request-id'),
    headers.get('x-gateway-converted') && `converted ${headers.get('x-gateway-converted')}`,
    headers.get('x-gateway-dropped') && `dropped ${headers.get('x-gateway-dropped')}`,
  ];
  return parts.filter(Boolean).join(' · ');
}
