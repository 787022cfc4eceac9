/** The configuration as one document, and what applying it does. Strict: unknown fields are rejected. */
import { z } from 'zod';
import { AccountEntry } from './account.ts';
import { CharacterEntry } from './character.ts';
import * as f from './field.ts';
import { GroupEntry } from './group.ts';
import { withGroup } from './group-list.ts';
import { KeyEntry } from './key.ts';
import { ModelEntry } from './model.ts';
import { UserEntry } from './user.ts';

export const SetupFile = f.named('Configuration', {
  groups: z.array(GroupEntry).default([]),
  accounts: z.array(withGroup(AccountEntry)).default([]),
  models: z.array(ModelEntry).default([]),
  users: z.array(UserEntry).default([]),
  keys: z.array(withGroup(KeyEntry)).default([]),
  characters: z.array(CharacterEntry).default([]),
});
export type SetupFile = z.infer<typeof SetupFile>;

/** A pattern of the catalog, and the rates that are charged for it now; `free`, or null when it has no price. */
const ResolvedPrice = z
  .strictObject({ line: f.text, prices: z.union([z.record(f.text, z.unknown()), z.literal('free'), z.null()]) })
  .meta({ id: 'ResolvedPrice' });
export type ResolvedPrice = z.infer<typeof ResolvedPrice>;

const NameEffect = z.strictObject({
  group: f.text,
  model: f.text,
  before: ResolvedPrice,
  after: ResolvedPrice.nullable().describe('null when the group has no such model any more'),
  named: f.flag.describe('the document names the model or its line'),
});
export type NameEffect = z.infer<typeof NameEffect>;

const CHANGES = ['created', 'changed', 'removed', 'revoked'] as const;

export const AppliedConfig = f.named('AppliedConfig', {
  object: z.literal('config'),
  dry_run: f.flag,
  changes: f.list(
    z.strictObject({ what: z.enum(CHANGES), object: f.text.describe('kind and name, such as `account oa1`') }),
  ),
  diff: f
    .list(
      z.strictObject({
        object: f.text,
        fields: f.list(z.strictObject({ field: f.text, before: f.someText, after: f.someText })),
      }),
    )
    .describe('fields that differ afterwards, as JSON; words in place of a secret, null for no value'),
  effects: f.list(NameEffect).describe('model names that resolve to another line or have another price afterwards'),
  unpriced: f.texts.describe('models without a price, which cannot be used'),
  rotated: f.texts.describe('keys of the file that were rotated since, and keep their newer value'),
  warnings: f.texts.describe('likely mistakes in the file, which were applied all the same'),
  keys: f
    .list(z.strictObject({ name: f.text, group: f.text, user: f.text, value: f.text }))
    .describe('created keys; their values are in this response only'),
});
export type AppliedConfig = z.infer<typeof AppliedConfig>;
