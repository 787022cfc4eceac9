/** What users keep with the gateway: files, batches, conversations; and with providers: cached contents, containers. */
import { z } from 'zod';
import { KEPT_KINDS } from '../rules/index.ts';
import * as f from './field.ts';
import { pageOf } from './page.ts';

export const KeptObject = f.named('KeptObject', {
  id: f.text,
  kind: z.enum(KEPT_KINDS),
  name: f.someText.describe('of a file or cached content; the operation of a batch'),
  bytes: f.someInteger.describe(
    'null where other objects hold it, as files do of a batch that has ended, and for objects at providers',
  ),
  tokens: f.someInteger.describe('of a cached content'),
  ...f.members('state:text|null created_at:moment expires_at:moment'),
});
export type KeptObject = z.infer<typeof KeptObject>;

export const OperatorObject = KeptObject.extend({
  ...f.members('user:text key:text|null'),
  account: f.someText.describe('that holds it at its provider; null where the gateway does'),
}).meta({ id: 'OperatorObject' });
export type OperatorObject = z.infer<typeof OperatorObject>;

export const OwnObjects = pageOf(KeptObject, {
  room: z
    .strictObject(f.members('files:integer bytes:integer max_files:integer max_bytes:integer'))
    .describe('what the user keeps in files, and may keep'),
});
export type OwnObjects = z.infer<typeof OwnObjects>;

export const DeletedObject = z.strictObject({
  object: z.literal('kept_object'),
  id: f.text,
  kind: z.enum(KEPT_KINDS),
  deleted: z.literal(true),
});
