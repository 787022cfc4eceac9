/** The sheet of a video model in the configuration file: what differs from the sheet that it extends. */
import { z } from 'zod';
import * as rules from '../rules/index.ts';
import { can } from './account-capabilities.ts';
import { count, fileField } from './field.ts';

/** Longer than any video that is made at once; bounds lists and holds. */
const MAX_SECONDS = 3_600;
const MAX_ENTRIES = 64;
const seconds = z.int().min(1).max(MAX_SECONDS);

const role = z.enum(rules.MEDIA_ROLES);
const RANGE_EXPECTED = '`min` and `max` in this order';
const rangeOf = (value: z.ZodInt) =>
  z.strictObject({ min: value, max: value }).refine(({ min, max }) => min <= max, RANGE_EXPECTED);

const SIZE_EXPECTED = 'a size such as 1366x768';
const size = z.string().regex(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, SIZE_EXPECTED);
const fixedRatio = z.enum(rules.RATIO_WORDS.filter((word) => word !== 'adaptive'));

const MEMBER_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const MEMBER_EXPECTED = `a member in lower case, other than ${rules.RESERVED_MEMBERS.join(', ')}`;
const word = z.string().min(1).max(64);
const value = z.union([z.string().max(64), z.int(), z.boolean()]);
const few = <V extends z.ZodType>(of: V) =>
  z
    .record(z.string(), of)
    .refine((object) => Object.keys(object).length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} entries`);

const Condition = z.strictObject({
  when: few(value),
  only: few(z.array(value).min(1).max(MAX_ENTRIES)).optional(),
  needs: role.optional(),
});

export const VIDEO_MEMBERS = {
  extends: fileField(
    z.enum(rules.SHEET_NAMES).optional(),
    'of a video model: the sheet that it has, apart from the following members',
    { example: 'seedance-2.5', fallback: 'by the name of the model, else that of the variant' },
  ),
  unit: fileField(z.enum(rules.PRICE_UNITS).optional(), 'of a video model: what its price is for', {
    example: 'seconds',
    fallback: '`tokens`',
  }),
  durations: fileField(
    z
      .union([rangeOf(seconds), z.array(seconds).min(1).max(MAX_ENTRIES)], { error: 'a range, or a list of lengths' })
      .optional(),
    'of a video model: lengths of a video, as a range or a list',
    { example: '{ min: 4, max: 30 }', unit: 'seconds' },
  ),
  automatic_duration: can('of a video model: `duration: -1` lets the model choose', 'true'),
  default_duration: fileField(seconds.optional(), 'of a video model: length of a video whose request gives none', {
    example: '5',
    unit: 'seconds',
  }),
  sizes: fileField(
    z
      .partialRecord(
        z.enum(rules.RESOLUTION_WORDS),
        z.partialRecord(fixedRatio, size).refine((row) => Object.keys(row).length > 0, 'at least one ratio'),
      )
      .optional(),
    'of a video model: pixels by resolution and ratio; a resolution replaces that of the sheet',
    { example: '{ 768p: { "16:9": 1366x768 } }' },
  ),
  resolutions: fileField(
    z.array(z.enum(rules.RESOLUTION_WORDS)).min(1).optional(),
    'of a video model: its resolutions',
    { example: '[480p, 720p]' },
  ),
  ratios: fileField(z.array(z.enum(rules.RATIO_WORDS)).min(1).optional(), 'of a video model: its ratios', {
    example: '["16:9", "9:16"]',
  }),
  frames_per_second: fileField(count.max(240).optional(), 'of a video model: frames of a second', { example: '30' }),
  references: fileField(
    z.partialRecord(role, z.int().min(0).max(MAX_ENTRIES)).optional(),
    'of a video model: the most items with a role; 0 for a role that it lacks',
    { example: '{ reference_image: 30, reference_video: 10 }' },
  ),
  exclusive_roles: fileField(
    z.array(z.array(role).min(1)).max(MAX_ENTRIES).optional(),
    'of a video model: sets of roles; those of different sets do not go together',
    { example: '[[first_frame, last_frame], [reference_image]]' },
  ),
  companion_roles: fileField(
    z.partialRecord(role, z.array(role).min(1)).optional(),
    'of a video model: roles that need an item with one of others',
    { example: '{ last_frame: [first_frame] }' },
  ),
  members: fileField(
    few(z.union([z.boolean(), z.array(word).min(1).max(MAX_ENTRIES), rangeOf(z.int())]))
      .superRefine((members, context) => {
        for (const name of Object.keys(members))
          if (!MEMBER_NAME.test(name) || rules.RESERVED_MEMBERS.includes(name))
            context.addIssue({ code: 'custom', path: [name], message: MEMBER_EXPECTED, input: members[name] });
      })
      .optional(),
    'of a video model: further members of a request: ' +
      'their words, the range of an integer, `true` for a boolean; `false` removes one',
    { example: '{ output_format: [mp4, mov], priority: { min: 0, max: 9 }, seed: false }' },
  ),
  conditions: fileField(
    z.array(Condition).max(MAX_ENTRIES).optional(),
    'of a video model: a request that has `when` gives `only` these values, or none, and `needs` an item with the role',
    { example: '[{ when: { resolution: 1080p }, only: { duration: [8] } }]' },
  ),
  input_video_seconds: fileField(
    seconds.optional(),
    'of a video model: the longest input of videos, which is held for a request with one',
    { example: '30', unit: 'seconds' },
  ),
  cancel_queued: can('of a video model: a task that has not started can be cancelled', 'false'),
  delete_tasks: can('of a video model: its tasks can be cancelled and deleted', 'true'),
} satisfies Record<keyof rules.SheetChanges, z.ZodType>;
