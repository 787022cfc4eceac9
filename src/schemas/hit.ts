/** What a search found: objects by their kind and id. */
import { z } from 'zod';
import * as f from './field.ts';

/** What can be searched for. A user finds their own keys, requests and tasks. */
export const HIT_KINDS = ['user', 'key', 'account', 'group', 'model', 'request', 'task', 'person'] as const;
export type HitKind = (typeof HIT_KINDS)[number];
export const OWN_HIT_KINDS = ['key', 'request', 'task'] as const;

export const Hit = f.named('Hit', {
  kind: z.enum(HIT_KINDS),
  id: f.text,
  title: f.text,
  detail: f.someText.describe('what tells it from others of the same title'),
  group: f.someText.describe('of a model or an account'),
});
export type Hit = z.infer<typeof Hit>;
