/** Users: owners of a wallet and of keys. */
import { z } from 'zod';
import { STYLES, USER_ID } from '../rules/index.ts';
import * as f from './field.ts';
import { ShownGroup } from './group.ts';
import { limitFields, OF_USER, spentFields } from './limits.ts';

export const UserEntry = z.strictObject({
  id: f.fileField(
    z.string().regex(USER_ID, 'letters, digits, dot, dash and underscore, at most 64'),
    'name of the user, the owner of a wallet and of keys',
    { example: 'ana' },
  ),
  email: f.fileField(f.email.optional(), 'address, for operators', { example: 'ana@example.test' }),
  balance: f.fileField(
    f.signedMoney.optional(),
    'opening balance, booked once; later changes of the field do nothing. Negative for a user who owes you',
    { example: '"100"', fallback: '"0"', unit: f.DOLLARS },
  ),
  multiplier: f.fileField(f.factor.optional(), 'of every price for this user', { example: '"0.9"', fallback: '"1"' }),
  max_keys: f.fileField(
    z.number().int().min(0).max(1_000).optional(),
    'valid keys that people of the user may make in the console',
    { example: '10', fallback: '0', unit: 'keys' },
  ),
  key_groups: f.fileField(z.array(f.text).optional(), 'groups of these keys, video groups included', {
    example: '[openai]',
    fallback: 'all',
  }),
  video_creates: f.fileField(f.count.optional(), 'creates of each kind of video object per minute', {
    example: '600',
    fallback: '`VIDEO_CREATES_PER_MINUTE`',
    unit: 'requests',
  }),
  max_files: f.fileField(f.count.optional(), 'files that the user may keep', { example: '50000', fallback: '10,000' }),
  max_file_mib: f.fileField(f.count.optional(), 'what they may hold together', {
    example: '4096',
    fallback: '1,024',
    unit: 'MiB',
  }),
  end_users: f.fileField(
    z.boolean().optional(),
    'the user is another gateway that names its own users in `x-gateway-end-user`: ' +
      'limits of video operations apply to each',
    { example: 'true', fallback: 'false' },
  ),
  ...limitFields(OF_USER),
});

/** Without the balance: money is booked with a reason. */
export const NewUser = UserEntry.omit({ balance: true });
const { id: _, multiplier, max_keys, end_users, ...others } = NewUser.shape;
export const UserChange = z.strictObject({ ...f.removable(others), multiplier, max_keys, end_users });

export const ShownUser = NewUser.extend({
  ...f.kind('user'),
  email: f.someText,
  multiplier: f.factorText,
  max_keys: f.integer,
  video_creates: f.someInteger,
  end_users: f.flag,
  max_files: f.someInteger,
  max_file_mib: f.someInteger,
  key_groups: f.texts.nullable().describe('null: every group'),
  created_at: f.moment,
  erased_at: f.someMoment.describe('when the erasure of the user began; the user cannot be changed any more'),
}).meta({ id: 'User' });
export type ShownUser = z.infer<typeof ShownUser>;

export const ErasureRequest = z.strictObject({
  dry_run: z.boolean().default(true).describe('`false` erases; by default the response only counts'),
  confirm: z.string().max(64).describe('the id of the user, to erase').optional(),
});

const counts = z.record(f.text, f.integer);
export const ShownErasure = f.named('Erasure', {
  object: z.literal('erasure'),
  user: f.text,
  state: z.enum(['preview', 'running', 'finished']),
  erases: counts.describe('what there is to erase, or was, by kind; counted up to 100,000'),
  waits_for: counts.describe('what has to end, or to be deleted at its provider, before the erasure is finished'),
  left_at_providers: f.integer.describe('objects that could not be deleted at their provider'),
  balance: z.strictObject({ available: f.dollars, held: f.dollars }).describe('stays in the ledger'),
  requested_at: f.someMoment,
  finished_at: f.someMoment,
});
export type ShownErasure = z.infer<typeof ShownErasure>;

export const ExportedLine = z.looseObject({ object: f.text.describe('its kind') }).meta({ id: 'ExportedLine' });

/** The user of the signed-in person. */
export const Me = f.named('Me', {
  object: z.literal('me'),
  user: f.text,
  ...f.USD,
  balance: z.strictObject({ available: f.dollars, held: f.dollars }),
  limits: z.strictObject(spentFields(OF_USER)),
  max_keys: f.integer.describe('0: only operators make keys for this user'),
  own_keys: f.integer.describe('valid keys that count towards `max_keys`'),
  groups: f.list(ShownGroup.pick({ id: true, name: true }).extend({ style: z.enum(STYLES) })),
});
export type Me = z.infer<typeof Me>;
