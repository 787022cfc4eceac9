/** Public characters of video groups. */
import { z } from 'zod';
import { columnNames } from './columns.ts';
import { fileField, flag, httpUrl, id, integer, kind, moment, someText, text } from './field.ts';

const FILTER = 'for callers to filter by';

export const CharacterEntry = z.strictObject({
  id: fileField(id, 'name of the character for operators', { example: 'presenter' }),
  group: fileField(text, 'its video group', { example: 'video-ep' }),
  models: fileField(z.array(text).min(1), 'models that can use it', { example: '["my-video"]' }),
  upstream_asset: fileField(z.string().min(1), 'id of the preset at the provider', {
    example: 'asset-20260101000000-prst1',
  }),
  name: fileField(z.string().min(1), 'name for callers', { example: '"Studio presenter"' }),
  tags: fileField(z.array(text).optional(), FILTER, { example: '[studio, news]', fallback: 'none' }),
  gender: fileField(text.optional(), FILTER, { example: 'female' }),
  age_group: fileField(text.optional(), FILTER, { example: 'adult' }),
  nationality: fileField(text.optional(), FILTER, { example: 'Norwegian' }),
  preview_url: fileField(z.union([z.literal(''), httpUrl]).optional(), 'address of a picture', {
    example: '"https://example.com/presenter.png"',
    fallback: 'none',
  }),
});

const licence = z.string().max(2_000).describe('terms of use of the character, for operators');

/** A new character is not published until its operator says so. */
export const NewCharacter = CharacterEntry.extend({
  licence: licence.optional(),
  published: z.boolean().default(false).describe('whether callers see the character; false by default'),
});
export const CharacterChange = CharacterEntry.omit({ id: true }).partial().extend({ licence: licence.optional() });

const StoredCharacter = CharacterEntry.required().extend({
  public_id: text.describe('as callers see it'),
  preview_url: text,
  preview_type: someText.describe('the media type of an uploaded picture'),
  published: flag,
  licence: text,
  position: integer,
  created_at: moment,
});
/** Every column but the picture itself. */
export const CHARACTER_COLUMNS = columnNames(StoredCharacter.keyof().options);

export const ShownCharacter = StoredCharacter.extend(kind('character')).meta({ id: 'ManagedCharacter' });
export type ShownCharacter = z.infer<typeof ShownCharacter>;

export const DeletedCharacter = z.strictObject({
  object: z.literal('character'),
  id: text,
  deleted: z.literal(true),
});
