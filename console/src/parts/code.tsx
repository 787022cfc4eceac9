/** Code to copy, JSON to unfold, and the difference of two objects. */
import { texts } from '../texts.ts';
import { copyText } from './values.tsx';

export const Snippet = ({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) => (
  <div className="code has-copy">
    <pre>{text}</pre>
    <button type="button" className="copy" onClick={() => void copyText(text)}>
      {label}
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
    <summary>{label}</summary>
    <JsonText value={value} />
  </details>
);

interface DiffProps {
  readonly before: unknown;
  readonly after: unknown;
}

/** Only members that differ. A created or deleted object shows all of its members. */
export const Diff = ({ before, after }: DiffProps) => {
  const [left, right] = [membersOf(before), membersOf(after)];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (name) => left[name] !== right[name],
  );
  if (names.length === 0) return <p className="muted">{texts.noDifference}</p>;
  return (
    <div className="diff">
      {names.map((name) => (
        <div key={name}>
          {left[name] !== undefined && (
            <div className="removed">
              − {name}: {left[name]}
            </div>
          )}
          {right[name] !== undefined && (
            <div className="added">
              + {name}: {right[name]}
            </div>
          )}
        </div>
      ))}
    </div>
  );
};

const membersOf = (value: unknown): Record<string, string | undefined> =>
  typeof value !== 'object' || value === null
    ? {}
    : Object.fromEntries(
        Object.entries(value)
          .filter(([, member]) => member !== null && member !== undefined)
          .map(([name, member]) => [name, JSON.stringify(member)]),
      );
