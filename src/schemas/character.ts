/** Public characters of video groups. */
import { z } from 'zod';
import { columnNames } from './columns.ts';
import * as f from './field.ts';

const FILTER = 'for callers to filter by';

export const CharacterEntry = z.strictObject({
  id: f.fileField(f.id, 'name of the character for operators', { example: 'presenter' }),
  group: f.fileField(f.text, 'its video group', { example: 'video-ep' }),
  models: f.fileField(z.array(f.text).min(1), 'models that can use it', { example: '["my-video"]' }),
  upstream_asset: f.fileField(z.string().min(1), 'id of the preset at the provider', {
    example: 'asset-20260101000000-prst1',
  }),
  name: f.fileField(z.string().min(1), 'name for callers', { example: '"Studio presenter"' }),
  tags: f.fileField(z.array(f.text).optional(), FILTER, { example: '[studio, news]', fallback: 'none' }),
  gender: f.fileField(f.text.optional(), FILTER, { example: 'female' }),
  age_group: f.fileField(f.text.optional(), FILTER, { example: 'adult' }),
  nationality: f.fileField(f.text.optional(), FILTER, { example: 'Norwegian' }),
  preview_url: f.fileField(z.union([z.literal(''), f.httpUrl]).optional(), 'address of a picture', {
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
  public_id: f.text.describe('as callers see it'),
  preview_url: f.text,
  preview_type: f.someText.describe('the media type of an uploaded picture'),
  published: f.flag,
  licence: f.text,
  position: f.integer,
  created_at: f.moment,
});
/** Every column but the picture itself. */
export const CHARACTER_COLUMNS = columnNames(StoredCharacter.keyof().options);

export const ShownCharacter = StoredCharacter.extend(f.kind('character')).meta({ id: 'ManagedCharacter' });
export type ShownCharacter = z.infer<typeof ShownCharacter>;

export const DeletedCharacter = z.strictObject({
  object: z.literal('character'),
  id: f.text,
  deleted: z.literal(true),
});
