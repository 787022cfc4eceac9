/** Fields with their values before and after: of a form before it is sent, and of a line of the audit log. */
import { texts } from '../texts.ts';

export interface Change {
  readonly label: string;
  /** Undefined for no value. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export const Changes = ({ changes }: { readonly changes: readonly Change[] }) => (
  <section className="changes" aria-label={texts.form.changes} aria-live="polite">
    {changes.length === 0 ? <p className="muted">{texts.form.noChanges}</p> : <ChangeList changes={changes} />}
  </section>
);

interface ChangeListProps {
  readonly changes: readonly Change[];
  /** Of an object that was created or deleted: one value of each field. */
  readonly isWhole?: boolean;
}

export const ChangeList = ({ changes, isWhole = false }: ChangeListProps) => (
  <dl className="change-list">
    {changes.map(({ label, before, after }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{isWhole ? (after ?? before) : <Both before={before} after={after} />}</dd>
      </div>
    ))}
  </dl>
);

const Both = ({ before = texts.form.nothing, after = texts.form.nothing }: Partial<Change>) => (
  <>
    <del>{before}</del> <span aria-hidden="true">→</span> <ins>{after}</ins>
  </>
);
