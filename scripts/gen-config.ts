/**
 * docs/config.md: the settings, and the fields of the configuration file with their types and notes from the schema.
 */
import { z } from 'zod';
import { type FieldNote, SetupFile } from '../src/schemas/index.ts';
import { page, table } from './markdown.ts';

interface Setting {
  readonly name: string;
  readonly about: string;
  readonly fallback: string;
}

export const renderConfig = (settings: readonly Setting[]): string =>
  page(
    'Settings and the configuration file',
    'Generated from `src/platform/config.ts` and `src/schemas/` by `npm run gen`.',
    '## Settings',
    'Variables of the environment. All are optional. Times are in milliseconds where the name ends in `_MS`, sizes in bytes where it ends in `_BYTES`. An empty variable counts as unset.',
    table(
      ['variable', 'default', 'meaning'],
      settings.map(({ name, about, fallback }) => [`\`${name}\``, fallback ? `\`${fallback}\`` : 'empty', about]),
    ),
    '## The configuration file',
    'YAML or JSON with the lists `groups`, `accounts`, `models`, `users`, `keys` and `characters`, all optional. `dragoman apply FILE` writes them to the database in one transaction, `serve --config FILE` does so at the start, `apply -` reads standard input, `apply --dry-run` shows which objects would change, and `apply --diff` which fields (exit code 2 if there are any). Errors and warnings name line and column. An object that the file does not name stays, unless `--prune` is given. A field that the file leaves out keeps its stored value; the defaults below are those of new objects. Unknown fields are errors. Amounts and factors are decimal text in quotes, so that no digit is lost.',
    ...Object.entries(fieldLists()).map(
      ([list, fields]) =>
        `### ${list}\n\n${table(['field', 'type', 'default', 'example', 'meaning'], fields.map(rowOf))}`,
    ),
  );

export interface SchemaField extends FieldNote {
  /** Inside an entry of the list, such as `prices.input`. */
  readonly path: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly about: string;
}

/** The fields of the schema by list. Members of `cost` are those of `prices`. */
export function fieldLists(): Record<string, SchemaField[]> {
  const { properties = {} } = z.toJSONSchema(z.strictObject(SetupFile.shape), { io: 'input', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(properties as Record<string, JsonSchema>).map(([list, { items }]) => [
      list,
      membersOf(items ?? {}, ''),
    ]),
  );
}

interface JsonSchema extends Partial<FieldNote> {
  readonly kind?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
}

const membersOf = ({ properties = {}, required = [] }: JsonSchema, above: string): SchemaField[] =>
  Object.entries(properties).flatMap(([name, schema]) => {
    const { description: about, example, fallback, unit } = schema;
    const path = above + name;
    if (about === undefined || example === undefined) throw new Error(`${path} has no note in src/schemas/`);
    const note = { about, example, ...(fallback && { fallback }), ...(unit && { unit }) };
    const field = { path, type: typeOf(schema), isRequired: required.includes(name), ...note };
    return [field, ...(name === 'cost' ? [] : membersOf(schema, `${above}${name}.`))];
  });

function typeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === 'object') return schema.properties ? 'object' : 'table';
  if (schema.anyOf) return schema.format === undefined ? [...new Set(schema.anyOf.map(typeOf))].join(' or ') : 'text';
  if (schema.type === 'boolean') return '`true` or `false`';
  if (schema.type === 'integer') return `whole number${rangeOf(schema)}`;
  if (schema.kind !== undefined) return schema.kind;
  return { uri: 'URL', email: 'e-mail address', 'date-time': 'time' }[schema.format ?? ''] ?? 'text';
}

/** The largest integer of a column is not worth mentioning as a limit. */
const LARGEST = 2 ** 31 - 1;

function rangeOf({ minimum, exclusiveMinimum, maximum = LARGEST }: JsonSchema): string {
  const min = minimum ?? (exclusiveMinimum ?? 0) + 1;
  return maximum === LARGEST ? ` from ${min}` : ` from ${min} to ${maximum}`;
}

function rowOf({ path, type, isRequired, about, example, fallback = '', unit }: SchemaField): string[] {
  const shownType = unit === undefined ? type : `${type}, ${unit}`;
  return [`\`${path}\``, shownType, isRequired ? 'required' : fallback, `\`${example}\``, about];
}
