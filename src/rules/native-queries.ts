/** Query parameters that providers define for all their methods, and what the native path does with them. Others are forwarded. */
import { words } from './notation.ts';

/** `remove`: the caller's credential or project, checked in place of the account's. `refuse`: would make the response unreadable. A list: values that pass. */
export type NativeQueryRule = 'remove' | 'refuse' | readonly string[];

/** Rules by name; parameters with the same rule in one text. */
const withRule = (rule: NativeQueryRule, ...names: string[]): readonly (readonly [string, NativeQueryRule])[] =>
  words(...names).map((name) => [name, rule] as const);

/** Credentials, for every provider. */
const CREDENTIALS = withRule('remove', 'key access_token oauth_token');

const RULES = {
  /** System parameters of Google APIs (cloud.google.com/apis/docs/system-parameters). */
  generate: new Map([
    ...CREDENTIALS,
    ...withRule('remove', 'quotauser userproject userip'),
    ...withRule('refuse', 'fields callback ct headers httpmethod outputdefaults req unique upload_protocol uploadtype'),
    ...withRule(['json', 'sse'], 'alt'),
  ]),
  other: new Map(CREDENTIALS),
} as const;

/** The rule for a decoded parameter name. Providers also accept the names with a dollar sign in front. */
export const nativeQueryRule = (name: string, isGenerate: boolean): NativeQueryRule | undefined =>
  RULES[isGenerate ? 'generate' : 'other'].get(name.replace(/^\$\.?/, '').toLowerCase());
