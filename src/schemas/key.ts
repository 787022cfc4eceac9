/** API keys: in the configuration file, as they are created and changed, and as they are shown. */
import { z } from 'zod';
import { isKeyFormat } from '../core/index.ts';
import { CAPTURE, GROUP_ORDERS, KEY_CHARS, STYLES } from '../rules/index.ts';
import * as f from './field.ts';
import { groupList } from './group-list.ts';
import { keyLimitFields } from './limits.ts';

const KEY_EXPECTED = `${KEY_CHARS.min} to ${KEY_CHARS.max} visible ASCII characters; the prefix dg- is reserved for generated keys`;

export const KeyEntry = z.strictObject({
  user: f.fileField(f.text, 'owner: a user of the file or of the database', { example: 'ana' }),
  group: f.fileField(f.text.optional(), 'group that requests of the key go to', {
    example: 'openai',
    fallback: 'the first of `groups`',
  }),
  groups: f.fileField(
    groupList.optional(),
    'groups of the key in order: the first that has the model of a request serves it ' +
      '([several groups](guides/groups.md))',
    { example: '[openai, anthropic]', fallback: '`group` alone' },
  ),
  prefer: f.fileField(
    z.enum(GROUP_ORDERS).optional(),
    'with several `groups`: `native` chooses the first that has the model and speaks the dialect of the client',
    { example: 'native', fallback: 'order' },
  ),
  name: f.fileField(
    z.string().min(1).max(100).optional(),
    'with the user and the group, what identifies the key in later files',
    { example: 'laptop', fallback: 'default' },
  ),
  key: f.fileField(
    z.string().refine(isKeyFormat, KEY_EXPECTED).optional(),
    'the value. Without it a key is generated and printed once',
    { example: '"my-own-key-of-20-characters"', fallback: 'generated' },
  ),
  key_sha256: f.fileField(
    z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'the SHA-256 of the value, as 64 hexadecimal digits')
      .optional(),
    'in place of `key`: the SHA-256 of a value that another gateway has issued and does not store ' +
      '([switching](switching/README.md))',
    { example: '"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"' },
  ),
  video_groups: f.fileField(z.array(f.text).optional(), 'video groups in order of preference', {
    example: '[video-a]',
    fallback: 'all',
  }),
  expires_at: f.fileField(f.time.optional(), 'time from which the key is refused', {
    example: '2030-01-31T00:00:00Z',
    fallback: 'never',
  }),
  models: f.fileField(z.array(f.text).optional(), 'models that the key may use, with `*` for any characters', {
    example: '["gpt-*"]',
    fallback: 'all of its groups',
  }),
  addresses: f.fileField(z.array(f.range).optional(), 'addresses and networks that the key may be used from', {
    example: '["10.0.0.0/8"]',
    fallback: 'all',
  }),
  store: f.fileField(z.boolean().optional(), 'whether responses are stored for later reference', {
    example: 'false',
    fallback: 'true',
  }),
  auto_cache: f.fileField(
    z.boolean().optional(),
    'whether converted calls get cache breakpoints of Anthropic, ' +
      'where the client sets none ([caching](guides/billing.md#prompt-caching))',
    { example: 'false', fallback: 'true' },
  ),
  ...keyLimitFields,
});

export type KeyEntry = z.infer<typeof KeyEntry>;

/** Without the value, which is always generated. */
export const NewKey = KeyEntry.omit({ key: true, key_sha256: true });
const { user: _, group: __, name: ___, prefer, store, auto_cache, ...restrictions } = NewKey.shape;
export const KeyChange = z.strictObject({ ...f.removable(restrictions), prefer, store, auto_cache });

export const ShownKey = NewKey.extend({
  ...f.kind('key'),
  id: f.text,
  name: f.text,
  hint: f.text.describe('the first and last characters of its value'),
  state: z.enum(['valid', 'expired', 'revoked']),
  group: f.text.describe('with the user and the name, what identifies the key'),
  groups: f.texts.describe('that requests of the key go to, in order'),
  prefer: z.enum(GROUP_ORDERS),
  video_groups: f.texts.nullable().describe('null: every group'),
  models: f.texts.nullable().describe('patterns of models; null: every model'),
  addresses: f.texts.nullable().describe('networks of clients; null: every address'),
  store: f.flag.describe('whether responses are stored'),
  auto_cache: f.flag.describe('whether converted calls get cache breakpoints'),
  capture_until: f.someMoment.describe('until when the bodies of its calls are kept; null: they are not'),
  own: f.flag.describe('made in the console by a person of the user'),
  expires_at: f.someMoment,
  revoked_at: f.someMoment,
  created_at: f.moment,
}).meta({ id: 'Key' });
export type ShownKey = z.infer<typeof ShownKey>;

export const KeyWithValue = ShownKey.extend({
  object: z.literal('key'),
  value: f.text.describe('the key itself; it is in this response only'),
  replaces: ShownKey.optional(),
}).meta({ id: 'NewKey' });
export type KeyWithValue = z.infer<typeof KeyWithValue>;

export const KeyCapture = z.strictObject({
  hours: z.int().min(0).max(CAPTURE.maxHours).describe('for so long the bodies of its calls are kept; 0 ends it'),
});

/** In the console, with what examples of calls depend on. */
export const OwnKey = ShownKey.extend({
  style: z.enum(STYLES).nullable(),
  value: f.text.optional(),
  replaces: ShownKey.optional(),
}).meta({ id: 'OwnKey' });
export type OwnKey = z.infer<typeof OwnKey>;
