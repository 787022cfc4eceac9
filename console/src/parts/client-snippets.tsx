/** Tabs with a command for each client of a key. */
import { useState } from 'react';
import type { GroupStyle } from '../../../src/schemas/index.ts';
import { texts } from '../texts.ts';
import { Snippet } from './code.tsx';
import { snippetsFor } from './snippets.ts';

interface ClientSnippetsProps {
  readonly style: GroupStyle;
  readonly model: string;
  /** The value, in the dialog that shows it once; a variable everywhere else. */
  readonly value?: string;
}

export const ClientSnippets = ({ style, model, value = texts.key.placeholder }: ClientSnippetsProps) => {
  const [chosen, setChosen] = useState('curl');
  if (style === 'video') return null;
  const snippets = snippetsFor({ origin: location.origin, style, model, key: value });
  const shown = snippets.find(({ name }) => name === chosen);
  return (
    <div className="fields">
      <div className="segments wrap-segments">
        {snippets.map(({ name, text }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === chosen}
            data-off={text === undefined}
            onClick={() => setChosen(name)}
          >
            {name}
            {text === undefined ? ' ✕' : ''}
          </button>
        ))}
      </div>
      {shown?.text === undefined ? (
        <p className="muted">{texts.key.needs(shown?.styles.join(texts.or) ?? '')}</p>
      ) : (
        <Snippet text={shown.text} />
      )}
    </div>
  );
};
