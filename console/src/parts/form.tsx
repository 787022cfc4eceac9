/**
 * Forms from a list of fields: the one way in which the console changes something. The server validates; its errors are
 * shown at their fields.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { during, Problem } from '../api/client.ts';
import { yesOrNo } from '../format/answer.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { type Change, Changes } from './changes.tsx';
import { Dialog } from './dialog.tsx';
import { fieldErrors } from './field-errors.ts';
import { type Finder, Picker } from './picker.tsx';
import { notify } from './toast.tsx';
import { Id } from './values.tsx';

export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** `list` is text separated by commas; `number` is a whole number. */
  readonly kind?: 'text' | 'password' | 'email' | 'number' | 'list' | 'choice' | 'check' | 'area' | 'time' | 'file';
  readonly options?: readonly (string | readonly [value: string, label: string])[];
  /** Finds the object whose id the field holds. */
  readonly finder?: Finder;
  readonly value?: string | number | boolean | readonly string[] | null | undefined;
  readonly isRequired?: boolean;
  readonly isReadOnly?: boolean;
  readonly placeholder?: string;
  readonly autoComplete?: string;
  /** Behind its label until it has a value or the person asks for it. */
  readonly isFolded?: boolean;
  /** Where the API has the field, if not at its name; its parts belong to the field too. */
  readonly path?: string;
}

/** For the audit log. */
export const REASON_FIELD: FieldSpec = { name: 'reason', label: 'Reason', hint: texts.form.reason };

export type FormValues = Readonly<Record<string, unknown>>;
export type FormFields = readonly (FieldSpec | readonly FieldSpec[])[];

interface FormProps {
  readonly fields: FormFields;
  readonly action: string;
  readonly isDanger?: boolean;
  /** Empty fields are absent from the values, or null when `clearsEmpty`. */
  readonly clearsEmpty?: boolean;
  /**
   * The object that is changed, as it was read. The form shows what differs and sends only that, and the server refuses
   * it when another person has changed the same since.
   */
  readonly original?: object | undefined;
  /** `submit` gets unchanged members too, and leaves them out itself. */
  readonly sendsAll?: boolean;
  /** There is nothing to send. */
  readonly isIdle?: boolean;
  readonly submit: (values: FormValues, original: object | undefined) => Promise<unknown>;
  /** First parts of the keys of queries that the change makes old. */
  readonly refreshes?: readonly string[] | 'all';
  /** What is said when it is done. */
  readonly done?: string;
  readonly cancel?: (() => void) | undefined;
  /** After everything else. */
  readonly finish?: () => void;
  readonly children?: ReactNode;
}

export const Form = (props: FormProps) => {
  const { fields, action, isDanger, clearsEmpty = false, isIdle = false, sendsAll = false } = props;
  const client = useQueryClient();
  const form = useRef<HTMLFormElement>(null);
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const latest = fields.flat() as readonly FieldSpec[];
  // What the person reads, whatever is loaded in the background meanwhile.
  const [read, setRead] = useState({ specs: latest, original: props.original });
  const isRead = props.original !== undefined;
  const specs = isRead ? read.specs : latest;
  const [hasConflict, setConflict] = useState(false);
  const isSending = useRef(false);
  const keys = useSubmissionKeys();
  const refresh = async (): Promise<void> => {
    const { refreshes = [] } = props;
    if (refreshes === 'all') await client.invalidateQueries();
    else for (const name of refreshes) await client.invalidateQueries({ queryKey: [name] });
  };
  const sending = useMutation({
    mutationFn: async ({ values, expected }: Sending) => {
      await during({ key: keys.of(values), expected }, () => props.submit(values, read.original));
      keys.end();
      await refresh();
      if (props.done !== undefined) notify(props.done);
      props.finish?.();
    },
    onError: async (error) => {
      if (!isRead || !(error instanceof Problem) || error.code !== 'conflict') return;
      setConflict(true);
      // The button waits for the other person's value: a click before would be refused for the same reason.
      await refresh();
    },
    onSettled: () => {
      isSending.current = false;
    },
  });
  // Both values are shown. The next submission replaces the other person's value, which has been seen then.
  useEffect(() => {
    if (!hasConflict || props.original === read.original) return;
    setConflict(false);
    setRead({ specs: latest, original: props.original });
    if (form.current) setChanges(changesIn(new FormData(form.current), latest));
  });
  const { error: problem, isPending } = sending;
  const { at, rest } = fieldErrors(problem, specs);
  useEffect(() => {
    if (problem) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [problem]);
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    // A second click or Enter comes before the button is disabled.
    if (isSending.current) return;
    isSending.current = true;
    const data = new FormData(event.currentTarget);
    const values = valuesOf(data, specs, clearsEmpty);
    sending.mutate(isRead ? changedOnly(values, { data, ...read, sendsAll }) : { values });
  };
  const onInput = (event: FormEvent<HTMLFormElement>): void => {
    if (isRead) setChanges(changesIn(new FormData(event.currentTarget), specs));
  };
  return (
    <form className="fields" ref={form} onSubmit={onSubmit} onInput={onInput}>
      {props.children}
      {fields.map((field) =>
        Array.isArray(field) ? (
          <div className="field-row" key={(field as readonly FieldSpec[])[0]?.name}>
            {(field as readonly FieldSpec[]).map((spec) => (
              <Field key={spec.name} spec={spec} error={at.get(spec.name)} />
            ))}
          </div>
        ) : (
          <Field key={(field as FieldSpec).name} spec={field as FieldSpec} error={at.get((field as FieldSpec).name)} />
        ),
      )}
      {isRead && <Changes changes={changes} />}
      {problem && rest !== undefined && <ProblemNotice problem={problem} text={rest} />}
      <div className="ends row">
        {props.cancel && (
          <button type="button" onClick={props.cancel}>
            {t('Cancel')}
          </button>
        )}
        <button
          type="submit"
          className={isDanger ? 'danger' : 'primary'}
          disabled={isPending || isIdle || (isRead && changes.length === 0)}
        >
          {t(action)}
        </button>
      </div>
    </form>
  );
};

interface Sending {
  readonly values: FormValues;
  readonly expected?: Readonly<Record<string, unknown>> | undefined;
}

interface ReadForm {
  readonly data: FormData;
  readonly specs: readonly FieldSpec[];
  readonly original: object | undefined;
  readonly sendsAll: boolean;
}

/** `prices.input` is a part of `prices`, which is sent whole. */
const memberOf = (name: string): string => name.split('.', 1)[0] ?? name;

function changedOnly(values: FormValues, { data, specs, original = {}, sendsAll }: ReadForm): Sending {
  const before = original as Readonly<Record<string, unknown>>;
  const changed = specs.filter((spec) => changesIn(data, [spec]).length > 0);
  const members = new Set(changed.map(({ name }) => memberOf(name)));
  // Secrets are not shown, and some fields are not members of the object.
  const known = changed.filter(
    ({ name, kind, value }) =>
      kind !== 'password' && (memberOf(name) in before || value === undefined || value === null),
  );
  return {
    values: Object.fromEntries(Object.entries(values).filter(([name]) => sendsAll || members.has(memberOf(name)))),
    expected: Object.fromEntries(known.map(({ name }) => [memberOf(name), before[memberOf(name)] ?? null])),
  };
}

/** The same values have the same key, until they were accepted: a retry after a lost answer changes nothing twice. */
function useSubmissionKeys() {
  const last = useRef<{ readonly text: string; readonly key: string }>(undefined);
  return {
    of: (values: FormValues): string => {
      const hasFile = Object.values(values).some((value) => value instanceof File);
      const text = JSON.stringify(values);
      if (hasFile || last.current?.text !== text) last.current = { text, key: randomKey() };
      return last.current.key;
    },
    end: (): void => {
      last.current = undefined;
    },
  };
}

/** `randomUUID` exists on HTTPS only. */
const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export const ProblemNotice = ({ problem, text }: { readonly problem: Error; readonly text?: string }) => (
  <div className="notice" data-tone="bad" role="alert">
    <span className="break">{text ?? problem.message}</span>
    {problem instanceof Problem && problem.requestId !== undefined && (
      <span className="muted small">
        <Id id={problem.requestId} isWhole />
      </span>
    )}
  </div>
);

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
          <label htmlFor={id}>{t(spec.label)}</label> {more}
        </div>
      </div>
    );
  const field = (
    <div className="field">
      <label className={spec.isFolded ? 'hidden-label' : 'label'} htmlFor={id}>
        {t(spec.label)}
      </label>
      {input}
      {(spec.hint || error) && more}
    </div>
  );
  if (!spec.isFolded) return field;
  return (
    <details className="folded-field" open={textOf(spec) !== '' || error !== undefined || undefined}>
      <summary>{t(spec.label)}</summary>
      {field}
    </details>
  );
};

interface InputProps {
  readonly spec: FieldSpec;
  readonly id: string;
  readonly notes: string;
  readonly isInvalid: boolean;
}

const Input = ({ spec, id, notes, isInvalid }: InputProps) => {
  const { name, kind = 'text', options = [], isRequired, placeholder } = spec;
  const shared = { id, name, 'aria-describedby': notes, 'aria-invalid': isInvalid, required: isRequired };
  const text = textOf(spec);
  if (kind === 'file') return <input {...shared} type="file" accept="image/png,image/jpeg,image/webp" />;
  if (kind === 'check')
    return <input {...shared} type="checkbox" defaultChecked={spec.value === true} required={false} />;
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
  if (spec.finder && !spec.isReadOnly)
    return (
      <Picker
        id={id}
        name={name}
        finder={spec.finder}
        value={text}
        isRequired={isRequired}
        placeholder={placeholder}
        describedBy={notes}
        isInvalid={isInvalid}
      />
    );
  return <TextInput spec={spec} shared={shared} />;
};

interface TextInputProps {
  readonly spec: FieldSpec;
  readonly shared: { readonly id: string; readonly name: string };
}

const INPUT_TYPES: Readonly<Partial<Record<NonNullable<FieldSpec['kind']>, string>>> = {
  password: 'password',
  email: 'email',
  time: 'datetime-local',
};

/** Another suggested value replaces the one before it, unless the person has typed. */
const TextInput = ({ spec, shared }: TextInputProps) => {
  const { kind = 'text', isReadOnly, placeholder } = spec;
  const text = textOf(spec);
  const input = useRef<HTMLInputElement>(null);
  const suggested = useRef(text);
  useEffect(() => {
    if (input.current?.value === suggested.current) input.current.value = text;
    suggested.current = text;
  }, [text]);
  return (
    <input
      {...shared}
      ref={input}
      type={INPUT_TYPES[kind] ?? 'text'}
      defaultValue={text}
      placeholder={placeholder}
      autoComplete={spec.autoComplete ?? 'off'}
      readOnly={isReadOnly}
      inputMode={kind === 'number' ? 'numeric' : undefined}
      spellCheck={false}
    />
  );
};

/** The value as the control shows it. */
function textOf({ value, kind }: FieldSpec): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join(', ');
  return kind === 'time' ? String(value).slice(0, 16) : String(value);
}

function changesIn(data: FormData, specs: readonly FieldSpec[]): Change[] {
  return specs.flatMap((spec) => {
    const raw = data.get(spec.name);
    const isEntered = raw instanceof File ? raw.size > 0 : raw !== null && raw !== '';
    // A secret is not shown, before or after.
    if (spec.kind === 'password' || spec.kind === 'file')
      return isEntered ? [{ label: t(spec.label), before: undefined, after: texts.form.changed }] : [];
    const before = spec.kind === 'check' ? yesOrNo(spec.value === true) : textOf(spec).trim();
    const entered = typeof raw === 'string' ? raw.trim() : '';
    const after = spec.kind === 'check' ? yesOrNo(raw === 'on') : entered;
    return before === after ? [] : [{ label: t(spec.label), before: before || undefined, after: after || undefined }];
  });
}

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

interface FormDialogProps extends Omit<FormProps, 'cancel' | 'finish' | 'children'> {
  readonly title: string;
  readonly explain?: ReactNode;
  readonly close: () => void;
}

/** Closes when the submission succeeds. */
export const FormDialog = ({ title, explain, close, ...form }: FormDialogProps) => (
  <Dialog title={t(title)} lead={explain} onClose={close}>
    <Form {...form} cancel={close} finish={close} />
  </Dialog>
);
