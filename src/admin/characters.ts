/** Public characters: create, change, publish, unpublish, delete, and the preview picture. The list is in catalog.ts. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import { fail, hasSignature, newId } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { type AuditAction, writeAudit } from '../identity/index.ts';
import { SetupFile } from '../setup/index.ts';
import { sendJson } from '../web/index.ts';
import { type AdminCall, notFound, operation } from './handler.ts';
import { readJson, rejection } from './request-body.ts';
import { NOTHING_TO_UPDATE } from './users.ts';

const Entry = SetupFile.shape.characters.unwrap().element;
const shared = {
  licence: z.string().max(2_000).describe('terms of use of the character, for operators').optional(),
};
/** The fields of a configuration file. A new character is not published until its operator says so. */
const NewCharacter = Entry.extend({
  ...shared,
  published: z.boolean().default(false).describe('whether callers see the character; false by default'),
});
const CharacterChange = Entry.omit({ id: true }).partial().extend(shared);

const MIB = 2 ** 20;
const MAX_PICTURE_BYTES = 2 * MIB;
/** Base64 has four characters for three bytes. */
const MAX_BASE64_CHARS = Math.ceil(MAX_PICTURE_BYTES / 3) * 4;
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const;
const PICTURE_EXPECTED = `a PNG, JPEG or WebP picture of at most ${MAX_PICTURE_BYTES / MIB} MB in Base64`;
const PictureBody = z.strictObject({
  data: z
    .string()
    .refine((text) => text.length <= MAX_BASE64_CHARS && isBase64(text), PICTURE_EXPECTED)
    .describe(PICTURE_EXPECTED),
});
/** `Buffer.from` skips characters that are not Base64. */
const isBase64 = (text: string): boolean =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);

interface CharacterRow {
  readonly id: string;
  readonly group_id: string;
  readonly created_at: Date;
  readonly [column: string]: unknown;
}
const COLUMNS = sql.raw(`id, public_id, group_id, models, upstream_asset, name, tags, gender, age_group, nationality,
  preview_url, preview_type, published, licence, position, created_at`);
const viewOf = ({ group_id, ...row }: CharacterRow) => ({ ...row, group: group_id });

export const createCharacter = operation({
  body: NewCharacter,
  async handle({ call, by, body: { group, ...columns } }, { db }) {
    const created = await db.transaction().execute(async (tx) => {
      await checkGroup(tx, group);
      const { rows } = await sql<CharacterRow>`
        insert into characters (public_id, group_id, position, ${columnNames(columns)})
        values (${newId('char')}, ${group}, (select coalesce(max(position), -1) + 1 from characters), ${columnValues(columns)})
        on conflict do nothing returning ${COLUMNS}`.execute(tx);
      const [row] = rows;
      if (!row)
        throw fail('conflict', `id: a character "${columns.id}" already exists; use another id.`, { param: 'id' });
      await writeAudit(tx, by, { action: 'character.created', subject: `character:${row.id}`, after: viewOf(row) });
      return row;
    });
    sendJson(call, 201, { object: 'character', ...viewOf(created) });
  },
});

export const changeCharacter = operation({
  body: CharacterChange,
  async handle({ call, by, body: { group, ...columns } }, { db }) {
    const changes = { ...columns, ...(group !== undefined && { group_id: group }) };
    if (entriesOf(changes).length === 0) throw fail('invalid_request', NOTHING_TO_UPDATE);
    const changed = await change(db, { call, by, action: 'character.changed' }, async (tx, id) => {
      if (group !== undefined) await checkGroup(tx, group);
      const assignments = entriesOf(changes).map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
      await sql`update characters set ${sql.join(assignments)} where id = ${id}`.execute(tx);
    });
    sendJson(call, 200, changed);
  },
});

export const publishCharacter = publicationOf(true);
export const unpublishCharacter = publicationOf(false);

function publicationOf(published: boolean) {
  const action = published ? 'character.published' : 'character.unpublished';
  return operation({
    body: z.strictObject({}),
    async handle({ call, by }, { db }) {
      const changed = await change(db, { call, by, action }, async (tx, id) => {
        await tx.updateTable('characters').set({ published }).where('id', '=', id).execute();
      });
      sendJson(call, 200, changed);
    },
  });
}

export const uploadPreview = operation({
  body: PictureBody,
  readBody: (call) => readJson(call, PictureBody, MAX_BASE64_CHARS + MIB),
  async handle({ call, by, body: { data } }, { db }) {
    const bytes = Buffer.from(data, 'base64');
    const type = PICTURE_TYPES.find((one) => hasSignature(one, bytes));
    if (!type || bytes.length > MAX_PICTURE_BYTES) throw rejection([`data: expected ${PICTURE_EXPECTED}`]);
    const picture = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    const changed = await change(
      db,
      { call, by, action: 'character.preview_changed', noted: { picture } },
      async (tx, id) => {
        await tx.updateTable('characters').set({ preview: bytes, preview_type: type }).where('id', '=', id).execute();
      },
    );
    sendJson(call, 200, changed);
  },
});

export const deletePreview = operation({
  async handle({ call, by }, { db }) {
    const changed = await change(db, { call, by, action: 'character.preview_changed' }, async (tx, id) => {
      await tx.updateTable('characters').set({ preview: null, preview_type: null }).where('id', '=', id).execute();
    });
    sendJson(call, 200, changed);
  },
});

/** Tasks that use the character keep their results. */
export const deleteCharacter = operation({
  async handle({ call, by }, { db }) {
    const id = await db.transaction().execute(async (tx) => {
      const before = await lockCharacter(tx, call.params.character ?? '');
      await tx.deleteFrom('characters').where('id', '=', before.id).execute();
      await writeAudit(tx, by, {
        action: 'character.deleted',
        subject: `character:${before.id}`,
        before: viewOf(before),
      });
      return before.id;
    });
    sendJson(call, 200, { object: 'character', id, deleted: true });
  },
});

interface Change extends Pick<AdminCall, 'call' | 'by'> {
  readonly action: AuditAction;
  /** For the audit line, beside the character. */
  readonly noted?: object;
}

/** One change of the character that the path names, with its audit line. Returns the public object. */
const change = (
  db: Db,
  { call, by, action, noted }: Change,
  apply: (tx: Db, id: string) => Promise<void>,
): Promise<object> =>
  db.transaction().execute(async (tx) => {
    const before = await lockCharacter(tx, call.params.character ?? '');
    await apply(tx, before.id);
    const after = await lockCharacter(tx, before.id);
    await writeAudit(tx, by, {
      action,
      subject: `character:${before.id}`,
      before: viewOf(before),
      after: { ...viewOf(after), ...noted },
    });
    return { object: 'character', ...viewOf(after) };
  });

async function lockCharacter(tx: Db, id: string): Promise<CharacterRow> {
  const { rows } = await sql<CharacterRow>`select ${COLUMNS} from characters where id = ${id} for update`.execute(tx);
  if (!rows[0]) throw notFound('character', id);
  return rows[0];
}

async function checkGroup(tx: Db, id: string): Promise<void> {
  const group = await tx.selectFrom('groups').select('style').where('id', '=', id).executeTakeFirst();
  if (!group) throw notFound('group', id, 'group');
  if (group.style !== 'video') throw rejection([`group: "${id}" is not a video group`]);
}

const entriesOf = (columns: object): [string, unknown][] =>
  Object.entries(columns).filter(([, value]) => value !== undefined);
const columnNames = (columns: object) => sql.join(entriesOf(columns).map(([name]) => sql.ref(name)));
const columnValues = (columns: object) => sql.join(entriesOf(columns).map(([, value]) => value));
