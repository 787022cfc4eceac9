/**
 * Public characters: create, change, publish, unpublish, delete, and the preview picture. The list is in catalog.ts.
 */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import { type AuditAction, writeAudit } from '../../access/keys/index.ts';
import { characterRow, insertRow, saveRow } from '../../catalog/setup/index.ts';
import { failAt, hasSignature, notFound } from '../../core/index.ts';
import { type Db, firstRow, type Tx } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { CharacterChange, membersOf, NewCharacter } from '../../schemas/index.ts';
import { CHARACTERS, type ManagedRow } from './catalog.ts';
import { type Operator, operation } from './handler.ts';
import { expectChange, readJson, rejection } from './request-body.ts';

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

function publicationOf(published: boolean) {
  const action = published ? 'character.published' : 'character.unpublished';
  return operation({
    body: z.strictObject({}),
    handle: ({ call, by }, { db }) =>
      change(db, { call, by, action }, async (tx, id) => {
        await tx.updateTable('characters').set({ published }).where('id', '=', id).execute();
      }),
  });
}

interface Change extends Operator {
  readonly call: Call;
  readonly action: AuditAction;
  /** For the audit line, beside the character. */
  readonly noted?: object;
}

/** One change of the character that the path names, with its audit line. Returns the public object. */
const change = (db: Db, { call, by, action, noted }: Change, apply: (tx: Tx, id: string) => Promise<void>) =>
  db.transaction().execute(async (tx) => {
    const before = await lockCharacter(tx, call.params.character ?? '');
    await apply(tx, before.id);
    const after = await lockCharacter(tx, before.id);
    await writeAudit(tx, by, {
      action,
      subject: `character:${before.id}`,
      before,
      after: { ...after, ...noted },
    });
    return { object: 'character', ...after };
  });

async function lockCharacter(tx: Db, id: string) {
  const row = await firstRow(tx)<ManagedRow>`${CHARACTERS} where id = ${id} for update`;
  if (!row) throw notFound('character', id);
  return membersOf(row);
}

async function checkGroup(tx: Db, id: string): Promise<void> {
  const group = await tx.selectFrom('groups').select('style').where('id', '=', id).executeTakeFirst();
  if (!group) throw notFound('group', id, 'group');
  if (group.style !== 'video') throw rejection([`group: "${id}" is not a video group`]);
}

export const CHARACTERS_OPERATIONS = {
  'admin.createCharacter': operation({
    body: NewCharacter,
    status: 201,
    async handle({ by, body }, { db }) {
      const created = await db.transaction().execute(async (tx) => {
        await checkGroup(tx, body.group);
        const { next } = await tx
          .selectFrom('characters')
          .select(sql<number>`coalesce(max(position), -1) + 1`.as('next'))
          .executeTakeFirstOrThrow();
        if (!(await insertRow(tx, characterRow(body, next))))
          throw failAt('conflict', 'id', `a character "${body.id}" already exists; use another id.`);
        const after = await lockCharacter(tx, body.id);
        await writeAudit(tx, by, { action: 'character.created', subject: `character:${body.id}`, after });
        return after;
      });
      return { object: 'character', ...created };
    },
  }),
  'admin.changeCharacter': operation({
    body: CharacterChange,
    handle({ call, by, body }, { db }) {
      expectChange(body);
      return change(db, { call, by, action: 'character.changed' }, async (tx, id) => {
        if (body.group !== undefined) await checkGroup(tx, body.group);
        await saveRow(tx, characterRow({ ...body, id }));
      });
    },
  }),
  'admin.publishCharacter': publicationOf(true),
  'admin.unpublishCharacter': publicationOf(false),
  'admin.uploadPreview': operation({
    body: PictureBody,
    readBody: (call) => readJson(call, PictureBody, MAX_BASE64_CHARS + MIB),
    handle({ call, by, body: { data } }, { db }) {
      const bytes = Buffer.from(data, 'base64');
      const type = PICTURE_TYPES.find((one) => hasSignature(one, bytes));
      if (!type || bytes.length > MAX_PICTURE_BYTES) throw rejection([`data: expected ${PICTURE_EXPECTED}`]);
      const picture = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
      return change(db, { call, by, action: 'character.preview_changed', noted: { picture } }, async (tx, id) => {
        await tx.updateTable('characters').set({ preview: bytes, preview_type: type }).where('id', '=', id).execute();
      });
    },
  }),
  'admin.deletePreview': operation({
    handle: ({ call, by }, { db }) =>
      change(db, { call, by, action: 'character.preview_changed' }, async (tx, id) => {
        await tx.updateTable('characters').set({ preview: null, preview_type: null }).where('id', '=', id).execute();
      }),
  }),
  /** Tasks that use the character keep their results. */
  'admin.deleteCharacter': operation({
    async handle({ id, by }, { db }) {
      await db.transaction().execute(async (tx) => {
        const before = await lockCharacter(tx, id);
        await tx.deleteFrom('characters').where('id', '=', before.id).execute();
        await writeAudit(tx, by, { action: 'character.deleted', subject: `character:${before.id}`, before });
      });
      return { object: 'character', id, deleted: true };
    },
  }),
};
