/** Forms from a list of fields. The server validates; its error is shown at the field that it names. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { Problem } from '../api/client.ts';
import { texts } from '../texts.ts';
import { Dialog } from './dialog.tsx';
import { Id } from './values.tsx';

export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** `list` is text separated by commas; `number` is a whole number. */
  readonly kind?: 'text' | 'password' | 'email' | 'number' | 'list' | 'choice' | 'check' | 'area' | 'time' | 'file';
  readonly options?: readonly (string | readonly [value: string, label: string])[];
  readonly value?: string | number | boolean | readonly string[] | null | undefined;
  readonly isRequired?: boolean;
  readonly isReadOnly?: boolean;
  readonly placeholder?: string;
  readonly autoComplete?: string;
}

/** For the audit log. */
export const REASON_FIELD: FieldSpec = { name: 'reason', label: 'Reason', hint: texts.form.reason };

export type FormValues = Readonly<Record<string, unknown>>;

interface FormProps {
  readonly fields: readonly (FieldSpec | readonly FieldSpec[])[];
  readonly action: string;
  readonly isDanger?: boolean;
  /** Empty fields are absent from the values, or null when `clearsEmpty`. */
  readonly clearsEmpty?: boolean;
  readonly submit: (values: FormValues) => Promise<unknown>;
  readonly cancel?: () => void;
  readonly children?: ReactNode;
}

export const Form = ({ fields, action, isDanger, clearsEmpty, submit, cancel, children }: FormProps) => {
  const [problem, setProblem] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const specs = fields.flat() as readonly FieldSpec[];
  const onSubmit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setProblem(undefined);
    setBusy(true);
    try {
      await submit(valuesOf(new FormData(event.currentTarget), specs, clearsEmpty === true));
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(false);
    }
  };
  const at = problem instanceof Problem ? specs.find(({ name }) => isAbout(problem.param, name)) : undefined;
  return (
    <form className="fields" onSubmit={(event) => void onSubmit(event)}>
      {children}
      {fields.map((field) =>
        Array.isArray(field) ? (
          <div className="field-row" key={(field as readonly FieldSpec[])[0]?.name}>
            {(field as readonly FieldSpec[]).map((spec) => (
              <Field key={spec.name} spec={spec} error={at === spec ? problem?.message : undefined} />
            ))}
          </div>
        ) : (
          <Field
            key={(field as FieldSpec).name}
            spec={field as FieldSpec}
            error={at === field ? problem?.message : undefined}
          />
        ),
      )}
      {problem && !at && <ProblemNotice problem={problem} />}
      <div className="ends row">
        {cancel && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" className={isDanger ? 'danger' : 'primary'} disabled={isBusy}>
          {action}
        </button>
      </div>
    </form>
  );
};

export const ProblemNotice = ({ problem }: { readonly problem: Error }) => (
  <div className="notice" data-tone="bad" role="alert">
    <span className="break">{problem.message}</span>
    {problem instanceof Problem && problem.requestId !== undefined && (
      <span className="muted small">
        <Id id={problem.requestId} isWhole />
      </span>
    )}
  </div>
);

/** The API names a member of a document as `accounts[0].base_url`. */
const isAbout = (param: string | undefined, name: string): boolean =>
  param !== undefined && (param === name || param.endsWith(`.${name}`));

const Field = ({ spec, error }: { readonly spec: FieldSpec; readonly error: string | undefined }) => {
  const id = useId();
  const notes = `${id}-notes`;
  const input = <Input spec={spec} id={id} notes={notes} isInvalid={error !== undefined} />;
  const more = (
    <span id={notes} className="small">
      {spec.hint && <span className="muted">{spec.hint}</span>}
      {error && <span className="error"> {error}</span>}
    </span>
  );
  if (spec.kind === 'check')
    return (
      <div className="field check">
        {input}
        <div>
          <label htmlFor={id}>{spec.label}</label> {more}
        </div>
      </div>
    );
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {spec.label}
      </label>
      {input}
      {(spec.hint || error) && more}
    </div>
  );
};

interface InputProps {
  readonly spec: FieldSpec;
  readonly id: string;
  readonly notes: string;
  readonly isInvalid: boolean;
}

const Input = ({ spec, id, notes, isInvalid }: InputProps) => {
  const { name, kind = 'text', options = [], value, isRequired, isReadOnly, placeholder, autoComplete = 'off' } = spec;
  const shared = { id, name, 'aria-describedby': notes, 'aria-invalid': isInvalid, required: isRequired };
  if (kind === 'file') return <input {...shared} type="file" accept="image/png,image/jpeg,image/webp" />;
  if (kind === 'check') return <input {...shared} type="checkbox" defaultChecked={value === true} required={false} />;
  const text = Array.isArray(value) ? value.join(', ') : value === null || value === undefined ? '' : String(value);
  if (kind === 'choice')
    return (
      <select {...shared} defaultValue={text}>
        {options.map((option) => {
          const [own, label] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={own} value={own}>
              {label}
            </option>
          );
        })}
      </select>
    );
  if (kind === 'area') return <textarea {...shared} defaultValue={text} placeholder={placeholder} spellCheck={false} />;
  const type = kind === 'password' || kind === 'email' ? kind : kind === 'time' ? 'datetime-local' : 'text';
  return (
    <input
      {...shared}
      type={type}
      defaultValue={kind === 'time' ? text.slice(0, 16) : text}
      placeholder={placeholder}
      autoComplete={autoComplete}
      readOnly={isReadOnly}
      inputMode={kind === 'number' ? 'numeric' : undefined}
      spellCheck={false}
    />
  );
};

function valuesOf(data: FormData, specs: readonly FieldSpec[], clearsEmpty: boolean): FormValues {
  return Object.fromEntries(
    specs.flatMap((spec) => {
      const value = fieldValue(data.get(spec.name), spec);
      if (value === undefined) return clearsEmpty && !spec.isRequired ? [[spec.name, null]] : [];
      return [[spec.name, value]];
    }),
  );
}

function fieldValue(raw: FormDataEntryValue | null, { kind }: FieldSpec): unknown {
  if (kind === 'check') return raw === 'on';
  if (kind === 'file') return raw instanceof File && raw.size > 0 ? raw : undefined;
  const text = typeof raw === 'string' ? raw.trim() : '';
  if (text === '') return undefined;
  if (kind === 'number') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (kind === 'list')
    return text
      .split(/[,\n]/)
      .map((item) => item.trim())
      .filter((item) => item !== '');
  // The field has no zone; times of the console are UTC.
  if (kind === 'time') return `${text.length === 16 ? `${text}:00` : text}Z`;
  return text;
}

interface FormDialogProps extends Omit<FormProps, 'cancel' | 'children'> {
  readonly title: string;
  readonly explain?: ReactNode;
  readonly close: () => void;
}

/** Closes when the submission succeeds. */
export const FormDialog = ({ title, explain, close, submit, ...form }: FormDialogProps) => (
  <Dialog title={title} onClose={close}>
    <h2>{title}</h2>
    {explain && <p className="muted">{explain}</p>}
    <Form
      {...form}
      cancel={close}
      submit={async (values) => {
        await submit(values);
        close();
      }}
    />
  </Dialog>
);
