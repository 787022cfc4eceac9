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
  state: f.someText,
  created_at: f.moment,
  expires_at: f.moment,
});
export type KeptObject = z.infer<typeof KeptObject>;

export const OperatorObject = KeptObject.extend({
  user: f.text,
  key: f.someText,
  account: f.someText.describe('that holds it at its provider; null where the gateway does'),
}).meta({ id: 'OperatorObject' });
export type OperatorObject = z.infer<typeof OperatorObject>;

export const OwnObjects = pageOf(KeptObject, {
  room: z
    .strictObject({
      files: f.integer,
      bytes: f.integer,
      max_files: f.integer,
      max_bytes: f.integer,
    })
    .describe('what the user keeps in files, and may keep'),
});
export type OwnObjects = z.infer<typeof OwnObjects>;

export const DeletedObject = z.strictObject({
  object: z.literal('kept_object'),
  id: f.text,
  kind: z.enum(KEPT_KINDS),
  deleted: z.literal(true),
});
