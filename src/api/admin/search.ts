/**
 * Search for objects by a part of their id or name. Requests and tasks are found by their whole id only, which has an
 * index.
 */
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { findRequest } from '../../observe/request-log/index.ts';
import { allRows, type Db, likePattern, snapshot } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { HIT_KINDS, type Hit, type HitKind } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { wholeList } from './pagination.ts';
import { listOf, param } from './query-params.ts';

const MAX_HITS = 50;

export const searchParams = <K extends HitKind>(kinds: readonly K[]) => ({
  text: param.text,
  kinds: listOf(kinds)
    .describe(`some of ${kinds.join(', ')}, separated by commas; all by default`)
    .optional(),
  limit: z.coerce.number().int().min(1).max(MAX_HITS).default(8).describe(`hits of each kind, 1 to ${MAX_HITS}`),
});

const SearchQuery = z.strictObject(searchParams(HIT_KINDS));

interface Wanted {
  readonly text: string;
  readonly kinds: readonly HitKind[];
  readonly limit: number;
  /** Only objects of this user. */
  readonly owner?: string;
}

type Found = Omit<Hit, 'kind'>;
type Finder = (db: Db, wanted: Wanted) => Promise<readonly Found[]>;

export async function sendHits(call: Call, db: Db, wanted: Wanted): Promise<void> {
  const data = await snapshot(db, async (tx) => {
    const hits: Hit[] = [];
    for (const kind of wanted.kinds)
      hits.push(...(await FINDERS[kind](tx, wanted)).map((found) => ({ kind, ...found })));
    return hits;
  });
  sendJson(call, 200, wholeList(data));
}

interface Table {
  /** With the columns `id`, `title`, `detail`, `"group"`, and `user_id` where rows have an owner. */
  readonly rows: RawBuilder<unknown>;
  /** Columns that people name; the id by default. */
  readonly names?: readonly string[];
  /** Columns of random characters, where a short text would be found by chance. */
  readonly random?: readonly string[];
}

/** The id itself first, then ids and names that begin with the text. */
const byPart =
  ({ rows, names = ['id'], random = [] }: Table): Finder =>
  async (db, { text, limit, owner }) => {
    const columns = (text.length < MIN_RANDOM_CHARS ? names : [...names, ...random]).map((name) => sql.ref(name));
    const matches = (pattern: string) =>
      sql.join(
        columns.map((column) => sql`${column} ilike ${likePattern(pattern)}`),
        sql` or `,
      );
    return allRows(db)<Found>`
      select id, title, detail, "group" from (${rows}) own
      where (${matches(`*${text}*`)}) ${owner === undefined ? sql`` : sql`and user_id = ${owner}`}
      order by id = ${text} desc, (${matches(`${text}*`)}) desc, title, id limit ${limit}`;
  };

const MIN_RANDOM_CHARS = 4;

const FINDERS: Readonly<Record<HitKind, Finder>> = {
  user: byPart({
    rows: sql`select id, id as title, email as detail, null as "group", email from users`,
    names: ['id', 'email'],
  }),
  key: byPart({
    rows: sql`select id, name as title, user_id || ' · ' || group_id as detail, group_id as "group", user_id, hint from keys`,
    names: ['title'],
    random: ['id', 'hint'],
  }),
  account: byPart({ rows: sql`select id, id as title, group_id as detail, group_id as "group" from accounts` }),
  group: byPart({ rows: sql`select id, id as title, style as detail, null as "group" from groups` }),
  model: byPart({
    rows: sql`select pattern as id, pattern as title, group_id as detail, group_id as "group" from models`,
  }),
  person: byPart({
    rows: sql`select id, name as title, email as detail, null as "group", email from people`,
    names: ['title', 'email'],
    random: ['id'],
  }),
  request: async (db, { text, owner }) => {
    const row = text.length < MIN_ID_CHARS ? undefined : await findRequest(db, text, owner);
    return row
      ? [{ id: row.id, title: row.id, detail: `${row.status} ${row.model ?? row.operation}`, group: null }]
      : [];
  },
  task: async (db, { text, owner }) => {
    let find = db.selectFrom('video_tasks').select(['id', 'status', 'model']).where('id', '=', text);
    if (owner !== undefined) find = find.where('user_id', '=', owner);
    const row = await find.where('deleted_at', 'is', null).limit(1).executeTakeFirst();
    return row ? [{ id: row.id, title: row.id, detail: `${row.status} ${row.model}`, group: null }] : [];
  },
};

/** Shorter text is no id of a request, of ours or of a provider. */
const MIN_ID_CHARS = 8;

export const SEARCH_OPERATIONS = {
  'admin.search': operation({
    query: SearchQuery,
    handle: ({ call, query: { text = '', kinds = HIT_KINDS, limit } }, { db }) =>
      sendHits(call, db, { text, kinds, limit }),
  }),
};
