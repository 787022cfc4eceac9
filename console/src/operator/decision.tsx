/** A button that opens the form of a decision. */
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { type FieldSpec, FormDialog, type FormValues, REASON_FIELD } from '../parts/form.tsx';
import { texts } from '../texts.ts';

export const REASON: FieldSpec = { ...REASON_FIELD, isRequired: true };

interface DecisionProps {
  readonly label: string;
  readonly explain: string;
  readonly subject: string;
  readonly fields: readonly FieldSpec[];
  readonly decide: (values: FormValues) => Promise<unknown>;
}

export const Decision = ({ label, explain, subject, fields, decide }: DecisionProps) => (
  <Opener label={label}>
    {(close) => (
      <FormDialog
        title={`${t(label)} ${subject}`}
        explain={explain}
        close={close}
        action={label}
        fields={fields}
        submit={decide}
        refreshes="all"
        done={texts.done.decided}
      />
    )}
  </Opener>
);
