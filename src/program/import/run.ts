/**
 * An import from another gateway: reads the source, plans, and applies the plan in one transaction, or rolls it back.
 */
import type { Actor, KeySecrets } from '../../access/keys/index.ts';
import { addPerson, type CreatedLink } from '../../access/people/index.ts';
import { type Applied, applySetup } from '../../catalog/setup/index.ts';
import { formatNanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { leftTables } from '../../rules/index.ts';
import { buildSetup, type ImportSetup } from './build.ts';
import { type Draft, jsonObjectOf, type ReportRow } from './draft.ts';
import { readLitellm } from './litellm.ts';
import { readOneApi } from './one-api.ts';
import { openSource, type SourceDb, SourceError, type SourceInput } from './source.ts';
import { readSub2api } from './sub2api.ts';

export interface ImportContext {
  readonly db: Db;
  readonly secrets: KeySecrets;
  readonly now: number;
  readonly by: Actor;
  readonly dryRun: boolean;
}

export interface ImportRun {
  readonly rows: readonly ReportRow[];
  readonly applied: Applied;
  /** People who did not exist, with their links, which are not stored. */
  readonly invited: readonly { readonly email: string; readonly link: CreatedLink }[];
}

export async function runImport(input: SourceInput, { db, now, ...context }: ImportContext): Promise<ImportRun> {
  const draft = await readDraft(input);
  const { label, balance } = input;
  const [keyGroups, strangers] = await Promise.all([readKeyGroups(db), readStrangers(db, label)]);
  const setup = await buildSetup(draft, { label, balance, now, keyGroups, strangers });
  const invited: ImportRun['invited'][number][] = [];
  const applied = await applySetup(db, setup.file, {
    ...context,
    openings: setup.openings,
    also: async (tx) => {
      for (const { email, name, user } of setup.people) {
        const added = await addPerson(tx, { email, name, user, role: 'user' }, { by: context.by, now });
        if (added) invited.push({ email, link: added.link });
      }
    },
  });
  return { rows: [...setup.rows, ...(await movedBalances(db, setup))], applied, invited };
}

async function readDraft(input: SourceInput): Promise<Draft> {
  const database = input.address === undefined ? undefined : await openSource(input.address);
  try {
    const draft = await readSource(input, database);
    for (const [table, note] of leftTables(input.source)) {
      const count = (await database?.count(table)) ?? 0;
      if (count > 0) draft.lose('other', table, `${count} ${note}`);
    }
    return draft;
  } finally {
    await database?.close();
  }
}

async function readSource(input: SourceInput, database: SourceDb | undefined): Promise<Draft> {
  const { source } = input;
  if (source === 'litellm') return readLitellm(database, input);
  if (!database) throw new SourceError('it has no database');
  return source === 'sub2api' ? readSub2api(database) : readOneApi(database, source, savedOptions(input.options));
}

/** The response has the rows of the table `options`, and those that only the program has. */
function savedOptions(text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined) return new Map();
  const { data } = jsonObjectOf(text);
  if (!Array.isArray(data))
    throw new SourceError('--options: expected what GET /api/option/ responds, with a list "data"');
  return new Map((data as { key?: unknown; value?: unknown }[]).map(({ key, value }) => [String(key), String(value)]));
}

async function readKeyGroups(db: Db): Promise<ReadonlyMap<string, string>> {
  const keys = await db.selectFrom('keys').select(['user_id', 'name', 'group_id']).execute();
  return new Map(keys.map(({ user_id, name, group_id }) => [`${user_id}/${name}`, group_id]));
}

async function readStrangers(db: Db, label: string): Promise<ReadonlySet<string>> {
  const query = db.selectFrom('entries').select(['debit', 'credit']).where('reference', 'like', `import:${label}:%`);
  const booked = new Set((await query.execute()).flatMap(({ debit, credit }) => [debit, credit]));
  const users = await db.selectFrom('users').select('id').execute();
  return new Set(users.map(({ id }) => id).filter((id) => !booked.has(id)));
}

/** Balances that have changed in the source since they were booked: they are booked once. */
async function movedBalances(db: Db, { file, openings }: ImportSetup): Promise<ReportRow[]> {
  const entries = await db
    .selectFrom('entries')
    .select(['reference', 'nanos', 'kind'])
    .where('reference', 'in', [...openings.values(), ''])
    .execute();
  const booked = new Map(entries.map(({ reference, nanos, kind }) => [reference, kind === 'charge' ? -nanos : nanos]));
  return file.users.flatMap(({ id, balance = '0' }): ReportRow[] => {
    const nanos = booked.get(openings.get(id) ?? '');
    if (nanos === undefined || formatNanos(nanos) === balance) return [];
    const note = `the source has ${balance} now; ${formatNanos(nanos)} were booked at an earlier import and stay`;
    return [{ kind: 'user', name: id, outcome: 'changes', note }];
  });
}
