/** Query parameters that providers define for all their methods, and what the native path does with them. Others are forwarded. */

/**
 * `remove`: names the caller's credential or project, which the provider would check instead of the account's. `refuse`: changes the
 * form of the response, which the client and the charge then cannot read. A list: only these values are forwarded.
 */
export type NativeQueryRule = 'remove' | 'refuse' | readonly string[];

/** Credentials, for every provider. */
const CREDENTIALS = { key: 'remove', access_token: 'remove', oauth_token: 'remove' } as const;

/** System parameters of Google APIs (cloud.google.com/apis/docs/system-parameters). */
const GENERATE: Readonly<Record<string, NativeQueryRule>> = {
  ...CREDENTIALS,
  quotauser: 'remove',
  userproject: 'remove',
  userip: 'remove',
  alt: ['json', 'sse'],
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
};

const RULES = {
  generate: new Map<string, NativeQueryRule>(Object.entries(GENERATE)),
  other: new Map<string, NativeQueryRule>(Object.entries(CREDENTIALS)),
} as const;

/** The rule for a decoded parameter name. Providers also accept the names with a dollar sign in front. */
export const nativeQueryRule = (name: string, isGenerate: boolean): NativeQueryRule | undefined =>
  RULES[isGenerate ? 'generate' : 'other'].get(name.replace(/^\$\.?/, '').toLowerCase());
