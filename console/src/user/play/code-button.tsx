/** A request as a program to copy. */
import { useState } from 'react';
import { t } from '../../language.ts';
import { Snippet } from '../../parts/code.tsx';
import { Dialog, Opener } from '../../parts/dialog.tsx';
import { type ApiRequest, type CodeLanguage, codeOf } from '../../parts/request-code.ts';
import { playTexts } from './texts.ts';

/** Without the address, which is that of this page. */
export type PlayedRequest = Omit<ApiRequest, 'origin' | 'method'>;

export const CodeButton = ({ request }: { readonly request: PlayedRequest }) => (
  <Opener label="Code">
    {(close) => (
      <Dialog title={t('Code')} lead={playTexts.codeLead} className="wide" isRead onClose={close}>
        <Code request={request} />
      </Dialog>
    )}
  </Opener>
);

const LANGUAGES: readonly CodeLanguage[] = ['curl', 'Python', 'JavaScript'];

/** Attached files are shortened where they are shown, and whole where they are copied. */
const LONG = /[A-Za-z0-9+/]{400,}/g;

const Code = ({ request }: { readonly request: PlayedRequest }) => {
  const [language, setLanguage] = useState<CodeLanguage>('curl');
  const text = codeOf({ origin: location.origin, method: 'POST', ...request })[language];
  return (
    <div className="fields">
      <div className="segments">
        {LANGUAGES.map((name) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => setLanguage(name)}>
            {name}
          </button>
        ))}
      </div>
      <Snippet text={text} shown={text.replaceAll(LONG, (all) => `${all.slice(0, 60)}…`)} />
    </div>
  );
};
