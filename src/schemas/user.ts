/** Users: owners of a wallet and of keys. */
import { z } from 'zod';
import { STYLES, USER_ID } from '../rules/index.ts';
import * as f from './field.ts';
import { ShownGroup } from './group.ts';
import { limitFields, OF_USER, spentFields } from './limits.ts';

export const UserEntry = z.strictObject({
  ...f.fileFields(
    `
id: name of the user, the owner of a wallet and of keys | ana
email: address, for operators | ana@example.test
balance: opening balance, booked once; later changes of the field do nothing. Negative for a user who owes you | "100" | "0" | US dollars
multiplier: of every price for this user | "0.9" | "1"
max_keys: valid keys that people of the user may make in the console | 10 | 0 | keys
key_groups: groups of these keys, video groups included | [openai] | all
video_creates: creates of each kind of video object per minute | 600 | 'VIDEO_CREATES_PER_MINUTE' | requests
max_files: files that the user may keep | 50000 | 10,000
max_file_mib: what they may hold together | 4096 | 1,024 | MiB
end_users: the user is another gateway that names its own users in 'x-gateway-end-user': limits of video operations apply to each | true | false
`,
    {
      id: z.string().regex(USER_ID, 'letters, digits, dot, dash and underscore, at most 64'),
      email: f.email.optional(),
      balance: f.signedMoney.optional(),
      multiplier: f.factor.optional(),
      max_keys: z.number().int().min(0).max(1_000).optional(),
      key_groups: z.array(f.text).optional(),
      video_creates: f.count.optional(),
      max_files: f.count.optional(),
      max_file_mib: f.count.optional(),
      end_users: z.boolean().optional(),
    },
  ),
  ...limitFields(OF_USER),
});

/** Without the balance: money is booked with a reason. */
export const NewUser = UserEntry.omit({ balance: true });
const { id: _, multiplier, max_keys, end_users, ...others } = NewUser.shape;
export const UserChange = z.strictObject({ ...f.removable(others), multiplier, max_keys, end_users });

export const ShownUser = NewUser.extend({
  ...f.kind('user'),
  ...f.members('email:text|null multiplier:factor max_keys:integer video_creates:integer|null end_users:flag'),
  ...f.members('max_files:integer|null max_file_mib:integer|null'),
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
  balance: z.strictObject(f.members('available:dollars held:dollars')).describe('stays in the ledger'),
  ...f.members('requested_at:moment|null finished_at:moment|null'),
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
