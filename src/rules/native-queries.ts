/**
 * Query parameters that providers define for all their methods, and what the native path does with them. Others are
 * forwarded.
 */

/**
 * `remove`: the caller's credential or project, checked in place of the account's. `refuse`: would make the response
 * unreadable. A list: values that pass.
 */
export type NativeQueryRule = 'remove' | 'refuse' | readonly string[];

/** Credentials, for every provider. */
const CREDENTIALS = { key: 'remove', access_token: 'remove', oauth_token: 'remove' } as const;

/** By name in lower case. */
const RULES: Readonly<Record<'generate' | 'other', ReadonlyMap<string, NativeQueryRule>>> = {
  /** System parameters of Google APIs (cloud.google.com/apis/docs/system-parameters). */
  generate: new Map<string, NativeQueryRule>(
    Object.entries({
      ...CREDENTIALS,
      quotauser: 'remove',
      userproject: 'remove',
      userip: 'remove',
      fields: 'refuse',
      callback: 'refuse',
      ct: 'refuse',
      headers: 'refuse',
      httpmethod: 'refuse',
      outputdefaults: 'refuse',
      req: 'refuse',
      unique: 'refuse',
      upload_protocol: 'refuse',
      uploadtype: 'refuse',
      alt: ['json', 'sse'],
    }),
  ),
  other: new Map(Object.entries(CREDENTIALS)),
};

/** The rule for a decoded parameter name. Providers also accept the names with a dollar sign in front. */
export const nativeQueryRule = (name: string, isGenerate: boolean): NativeQueryRule | undefined =>
  RULES[isGenerate ? 'generate' : 'other'].get(name.replace(/^\$\.?/, '').toLowerCase());
