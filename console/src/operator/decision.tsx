/** A button that opens the form of a decision. */
import { useQueryClient } from '@tanstack/react-query';
import { Opener } from '../parts/dialog.tsx';
import { type FieldSpec, FormDialog, type FormValues, REASON_FIELD } from '../parts/form.tsx';
import { notify } from '../parts/toast.tsx';
import { texts } from '../texts.ts';

export const REASON: FieldSpec = { ...REASON_FIELD, isRequired: true };

interface DecisionProps {
  readonly label: string;
  readonly explain: string;
  readonly subject: string;
  readonly fields: readonly FieldSpec[];
  readonly decide: (values: FormValues) => Promise<unknown>;
}

export const Decision = ({ label, explain, subject, fields, decide }: DecisionProps) => {
  const client = useQueryClient();
  return (
    <Opener label={label}>
      {(close) => (
        <FormDialog
          title={`${label} ${subject}`}
          explain={explain}
          close={close}
          action={label}
          fields={fields}
          submit={async (values) => {
            await decide(values);
            await client.invalidateQueries();
            notify(texts.done.decided);
          }}
        />
      )}
    </Opener>
  );
};
