/**
 * Errors of the API at the fields of a form, in words of the console: no paths, and no value that the field shows
 * already.
 */
import { Problem } from '../api/client.ts';
import { texts } from '../texts.ts';

interface FieldPath {
  readonly name: string;
  readonly path?: string;
}

interface FieldErrors {
  /** By the name of the field. */
  readonly at: ReadonlyMap<string, string>;
  /** What no field is about. */
  readonly rest: string | undefined;
}

/** The API joins its lines by semicolons; each begins with a path such as `accounts[0].base_url`. */
const NEXT_LINE = /; (?=[a-z_][\w.[\]]*: )/;
const LINE = /^([a-z_][\w.[\]]*): (.*)$/s;

export function fieldErrors(problem: Error | null, fields: readonly FieldPath[]): FieldErrors {
  const at = new Map<string, string>();
  if (!problem) return { at, rest: undefined };
  if (!(problem instanceof Problem)) return { at, rest: problem.message };
  const rest: string[] = [];
  for (const line of problem.message.split(NEXT_LINE)) {
    const [, path = problem.param, text = line] = LINE.exec(line) ?? [];
    const name = path && fieldAt(path, fields)?.name;
    if (name) at.set(name, [at.get(name), sentenceOf(text)].filter(Boolean).join(' '));
    else rest.push(path === undefined ? line : `${labelOf(path)}: ${sentenceOf(text)}`);
  }
  return { at, rest: rest.length === 0 ? undefined : rest.join(' ') };
}

/** The field of this path; otherwise the one that has the path as a part. */
const fieldAt = (path: string, fields: readonly FieldPath[]): FieldPath | undefined =>
  fields.find((field) => (field.path === undefined ? isNamed(path, field.name) : path === field.path)) ??
  fields.find(
    (field) => path.startsWith(`${field.path ?? field.name}.`) || path.startsWith(`${field.path ?? field.name}[`),
  );

const isNamed = (path: string, name: string): boolean => path === name || path.endsWith(`.${name}`);

function sentenceOf(line: string): string {
  const text = line.replace(/\.$/, '');
  if (text.startsWith('missing, expected ')) return texts.form.missing;
  const [, expected] = /^found .*?, expected (.*)$/s.exec(text) ?? [];
  // A form has text only, which needs no quotes.
  const shown =
    expected === undefined ? text : texts.form.expected(expected.replace(/ in quotes|; put it in quotes/g, ''));
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}${shown.endsWith('.') ? '' : '.'}`;
}

/** The last name of a path, as a word. */
const labelOf = (path: string): string => {
  const name = (path.split('.').at(-1) ?? path).replace(/\[\d+\]$/, '').replaceAll('_', ' ');
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
};
