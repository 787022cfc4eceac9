/** Code to copy, and JSON to unfold. */
import { t } from '../language.ts';
import { codeParts } from './inline.ts';
import { copyText } from './values.tsx';

/** A sentence in which code stands between backticks. */
export const Sentence = ({ text }: { readonly text: string }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay
  codeParts(text).map((part, n) => (n % 2 === 1 ? <code key={n}>{part}</code> : part));

interface SnippetProps {
  readonly text: string;
  /** What is seen, where what is copied is too long to read. */
  readonly shown?: string;
  readonly label?: string;
  /** After the text is in the clipboard. */
  readonly copied?: () => void;
}

export const Snippet = ({ text, shown = text, label = 'Copy', copied }: SnippetProps) => (
  <div className="code has-copy">
    <pre>{shown}</pre>
    <button
      type="button"
      className="copy"
      onClick={() => void copyText(text).then((isCopied) => isCopied && copied?.())}
    >
      {t(label)}
    </button>
  </div>
);

/** Larger values are cut, because a browser lays out every character. */
const MAX_CHARS = 200_000;

export const JsonText = ({ value }: { readonly value: unknown }) => {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
    <section className="code tall" tabIndex={0} aria-label="JSON">
      <pre>{text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n…` : text}</pre>
    </section>
  );
};

export const Json = ({ label, value }: { readonly label: string; readonly value: unknown }) => (
  <details>
    <summary>{t(label)}</summary>
    <JsonText value={value} />
  </details>
);
