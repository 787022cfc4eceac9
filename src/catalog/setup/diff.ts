/** The fields that applying a configuration file changes, without secrets. */
import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { membersOf, type SetupFile } from '../../schemas/index.ts';
import { modelSubject } from './save-price.ts';

export interface ObjectDiff {
  /** Kind and name, as in the list of changes. */
  readonly object: string;
  readonly isNew: boolean;
  readonly subject: string;
  readonly fields: readonly FieldDiff[];
}

export interface FieldDiff {
  readonly field: string;
  /** JSON, or words for a secret. Undefined for a value that is not set. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Row = Readonly<Record<string, unknown>>;
export type Snapshot = ReadonlyMap<string, Row>;

export async function readObjects(tx: Tx, file: SetupFile): Promise<Snapshot> {
  const found = new Map<string, Row>();
  for (const query of queries(file))
    for (const { object, row } of (await query.execute(tx)).rows) found.set(object, row);
  return found;
}

/** Users and keys may be many, so only those of the file are read. */
function queries({
  groups,
  accounts,
  models,
  users,
  keys,
  characters,
}: SetupFile): RawBuilder<{ object: string; row: Row }>[] {
  const ids = (objects: readonly { readonly id: string }[]): string[] => objects.map(({ id }) => id);
  return [
    sql`select 'group ' || id as object, to_jsonb(t) as row from groups t where id = any(${ids(groups)})`,
    sql`select 'account ' || id as object, to_jsonb(t) as row from accounts t where id = any(${ids(accounts)})`,
    sql`select 'model ' || pattern || ' of ' || group_id as object, to_jsonb(t) || coalesce((
        select jsonb_build_object('prices', p.rates, 'cost', p.cost,
          'valid_from', case when p.valid_from > now() then p.valid_from end) from prices p
        where p.model_id = t.id order by p.id desc limit 1), '{}') as row
      from models t where pattern = any(${ids(models)}) and group_id = any(${models.flatMap(({ groups }) => groups)})`,
    sql`select 'user ' || id as object, to_jsonb(t) as row from users t where id = any(${ids(users)})`,
    sql`select 'key ' || name || ' of ' || user_id || ' in ' || group_id as object, to_jsonb(t) as row from keys t
      where (user_id, group_id, name) in (select * from unnest(
        ${keys.map(({ user }) => user)}::text[], ${keys.map(({ group }) => group)}::text[],
        ${keys.map(({ name = 'default' }) => name)}::text[]))`,
    sql`select 'character ' || id as object, to_jsonb(t) as row from characters t where id = any(${ids(characters)})`,
  ];
}

export const compareObjects = (before: Snapshot, after: Snapshot): ObjectDiff[] =>
  [...after].flatMap(([object, row]) => {
    const fields = compareRows(before.get(object) ?? {}, row);
    return fields.length === 0 ? [] : [{ object, isNew: !before.has(object), subject: subjectOf(object, row), fields }];
  });

const subjectOf = (object: string, { id, pattern, group_id }: Row): string =>
  pattern === undefined ? `${kindOf(object)}:${id}` : modelSubject({ group: String(group_id), model: String(pattern) });

type Kind = 'group' | 'account' | 'model' | 'user' | 'key' | 'character';
const kindOf = (object: string) => object.slice(0, object.indexOf(' ')) as Kind;

/** One line for each object that was changed, with both values of its fields. A price has a line of its own. */
export async function auditChanges(tx: Tx, by: Actor, diffs: readonly ObjectDiff[]): Promise<void> {
  for (const { object, isNew, subject, fields } of diffs) {
    const shown = fields.filter(({ field }) => !PRICE_FIELDS.has(field));
    if (isNew || shown.length === 0) continue;
    const before = Object.fromEntries(shown.map((one) => [one.field, auditValue(one.before)]));
    const after = Object.fromEntries(shown.map((one) => [one.field, auditValue(one.after)]));
    await writeAudit(tx, by, { action: `${kindOf(object)}.changed`, subject, before, after });
  }
}

const PRICE_FIELDS: ReadonlySet<string> = new Set(['prices', 'cost', 'valid_from']);

/** Words in place of a secret are not JSON. */
function auditValue(text: string | undefined): unknown {
  if (text === undefined) return null;
  if (text === SECRET) return 'set';
  return text === NEW_SECRET ? 'changed' : JSON.parse(text);
}

function compareRows(before: Row, after: Row): FieldDiff[] {
  const [was, is] = [membersOf(before), membersOf(after)] as [Row, Row];
  return Object.keys({ ...was, ...is })
    .filter((name) => !HIDDEN.has(name) && !isDeepStrictEqual(was[name] ?? null, is[name] ?? null))
    .map((name) => ({
      field: FILE_NAMES[name] ?? name,
      before: shown(name, was[name]),
      after: shown(name, is[name], was[name] === undefined ? SECRET : NEW_SECRET),
    }));
}

/** Made by the database, or by what else is shown. */
const HIDDEN: ReadonlySet<string> = new Set([
  'id',
  'created_at',
  'public_id',
  'hint',
  'callback_secret_sealed',
  'spend_id',
  'user_id',
]);

const FILE_NAMES: Readonly<Record<string, string>> = {
  credential_sealed: 'api_key',
  proxy_sealed: 'proxy address',
  assets_secret_sealed: 'assets.secret_key',
  allowed_models: 'models',
  allowed_addresses: 'addresses',
  hash: 'key',
};

const SECRET = '(secret)';
const NEW_SECRET = '(another secret)';

function shown(name: string, value: unknown, secret = SECRET): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (name === 'hash' || name.endsWith('_sealed')) return secret;
  return JSON.stringify(value, (member, inner: unknown) => {
    if (member === 'access_key') return SECRET;
    return typeof inner === 'string' ? withoutCredentials(inner) : inner;
  });
}

/** An address may have a password before its host, and a key in its query. */
const withoutCredentials = (text: string): string =>
  /^https?:\/\//.test(text) ? text.replace(/\/\/[^/@]*@/, '//(secret)@').replace(/\?.*$/, '?(secret)') : text;
