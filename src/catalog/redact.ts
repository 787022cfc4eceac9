/**
 * Removal of our secrets, in any spelling, from what a provider wrote and a caller reads. Changes nothing else: clients
 * match on the wording.
 */
import { UnescapedText } from '../core/index.ts';
import { CLOUD_SETTING_NAMES, type CloudSettingName } from '../rules/index.ts';
import type { Account } from './catalog.ts';

export type AccountSecrets = Pick<Account, 'credential' | 'baseUrl'> & Partial<Account>;

/** What must not be read: the secrets of the account, and those of the call, task, asset or session. */
export interface Secrets {
  readonly account: AccountSecrets;
  /** The caller's name of the model, and the catalog's; the account may have a third. The caller reads its own name. */
  readonly model?: { readonly name: string; readonly upstream: string } | undefined;
  /**
   * Values that only the provider and we know: the callback path, the anonymous name of the user, ids of objects at the
   * provider.
   */
  readonly values?: readonly (string | null | undefined)[];
}

const REDACTED = '[redacted]';
/** Local servers accept any key; redacting every "x" would only garble the message. */
const MIN_SECRET_CHARS = 6;
/** The beginning of a longer key gives it away as well. */
const PIECE = { chars: 12, ofAtLeast: 16 } as const;

/** Secrets by their form; all text is in lower case here. */
const FORMS: readonly RegExp[] = [
  // Provider keys by their prefix; an error may quote a key that is not the account's own.
  /\b(?:(?:sk|dg|xai|gsk)-|aiza|ak(?:lt|tp|ia))[a-z0-9_-]{16,}/g,
  // Access tokens of clouds: JSON web tokens, and those of Google.
  /\beyj[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?/g,
  /\bya29\.[\w.-]{16,}/g,
  // Ids of the operator's organisation, project and account at a provider.
  /\b(?:org-|proj_|acct_)[a-z0-9]{16,}/g,
  /(?<=\bprojects\/)\d{6,}/g,
  /(?<=\barn:aws[\w-]{0,10}:[\w-]{0,30}:[\w-]{0,30}:)\d{12}/g,
  /(?=\d)(?<=\baccount(?:[ _-]?id)?["'\s:=[(#]{1,4})\d{6,}/g,
  // The parts of our own addresses that only the provider knows.
  /\/(?:upstream\/callbacks|return\/real-person)\/[\w-]{8,}/g,
];
/** A key that the provider masked in its middle. */
const MASKED = /(?<![\w+/=-])([\w+/=-]{0,64})(?:\*{3,}|\xe2\x80\xa6|\.{3})([\w+/=-]{0,64})/g;

type Hit = readonly [start: number, end: number, by: string];

export function redact(text: string, { account, model, values = [] }: Secrets): string {
  const read = new UnescapedText(text);
  const keys = keysOf(account);
  const hits = [
    ...[...keys, ...addressesOf(account), ...values].flatMap((value) => hitsOf(read.text, value)),
    ...keys.flatMap((key) => piecesOf(read.text, key)),
    ...[account.id, account.assets?.project, ...cloudNames(account)].flatMap((name) => namesOf(read.text, name)),
    ...[...FORMS, ...hostForms(account)].flatMap((form) => matchesOf(read.text, form)),
    ...maskedOf(read.text, keys),
    ...(model ? modelsOf(read.text, model, account) : []),
  ];
  return hits.length === 0 ? text : replaceAll(read, hits);
}

/** Ids of video objects and endpoints at a provider, and of another Dragoman. */
const OBJECT_IDS =
  /\b(?:ep|cgt|asset|group|proj|acc)-[\w-]{6,}|\b(?:task|asset|assetgrp|authsess|char)_[A-Za-z0-9]{12,}/g;
/**
 * Addresses and models of the video provider, which texts about limits and permissions name. Bounded, so that a long
 * word takes no longer than a text.
 */
const PROVIDER_NAMES =
  /(?:https?:\/\/)?(?<![\w-])(?:[\w-]{1,63}\.){1,8}(?:volcengine|volcengineapi|volces|byteplus|byteplusapi|bytepluses)\.com[\w./?=&%#-]*|\b(?:doubao|dreamina|seedance)-[\w.-]*\w/gi;
const REQUEST_ID = /Request id:.*$/is;
const MAX_READ_CHARS = 16_000;
const MAX_PUBLIC_CHARS = 500;

/**
 * A message of the video or asset service: its wording is not matched on, so ids of any of its objects are removed,
 * too.
 */
export const publicMessage = (message: string, secrets: Secrets): string =>
  redact(message.slice(0, MAX_READ_CHARS), secrets)
    .replace(REQUEST_ID, '')
    .replaceAll(PROVIDER_NAMES, (name) => (name === secrets.model?.name ? name : REDACTED))
    .replaceAll(OBJECT_IDS, '[id]')
    .slice(0, MAX_PUBLIC_CHARS)
    .toWellFormed()
    .trim();

/** Pieces that overlap become one, in the order of the text. */
function replaceAll(read: UnescapedText, hits: readonly Hit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const [start, end, by] of [...hits].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (start >= at) parts.push(read.original(at, start), by);
    at = Math.max(at, end);
  }
  return parts.join('') + read.original(at);
}

function keysOf({ credential, assets, proxy }: AccountSecrets): string[] {
  const { username = '', password = '' } = URL.parse(proxy ?? '') ?? {};
  return [credential, assets?.accessKey ?? '', assets?.secretKey ?? '', username, password];
}

/** Ids of the operator at a cloud: tenant, application, project, role. */
const cloudNames = ({ cloud }: AccountSecrets): (string | undefined)[] =>
  cloud ? CLOUD_SETTING_NAMES.filter((name) => !PUBLIC_SETTINGS.has(name)).map((name) => cloud[name]) : [];
const PUBLIC_SETTINGS: ReadonlySet<CloudSettingName> = new Set([
  ...(['api', 'api_version', 'scope', 'authority', 'location', 'region'] as const),
]);

/**
 * Each URL of the account, its origin and its host. A single word such as "api" is not recognisable as a host, so it
 * stays.
 */
const addressesOf = ({ baseUrl, assets, proxy, resultHosts = [] }: AccountSecrets): string[] =>
  [baseUrl, assets?.baseUrl, proxy]
    .flatMap((url = '') => {
      const { origin, host, hostname } = URL.parse(url) ?? { origin: '', host: '', hostname: '' };
      return [url, origin, host, hostname];
    })
    .concat(resultHosts.filter((host) => !host.includes('*')))
    .filter((name) => /[.:]/.test(name));

const hostForms = ({ resultHosts = [] }: AccountSecrets): RegExp[] =>
  resultHosts
    .filter((host) => host.includes('*'))
    .map((host) => new RegExp(`(?<![\\w.-])${host.split('*').map(RegExp.escape).join('[\\w.-]{0,100}')}`, 'g'));

/** Where a value occurs; nowhere when it is too short to be recognised. */
function hitsOf(text: string, value: string | null | undefined, by = REDACTED): Hit[] {
  if (value === null || value === undefined || value.length < MIN_SECRET_CHARS) return [];
  return placesOf(text, value).map(([start, end]) => [start, end, by]);
}

function placesOf(text: string, value: string): [start: number, end: number][] {
  const sought = new UnescapedText(value).text;
  const places: [number, number][] = [];
  for (let at = text.indexOf(sought); at >= 0 && sought !== ''; at = text.indexOf(sought, at + sought.length))
    places.push([at, at + sought.length]);
  return places;
}

/** The beginning of a key, with the rest of the token that it begins. */
const piecesOf = (text: string, key: string): Hit[] =>
  key.length < PIECE.ofAtLeast
    ? []
    : placesOf(text, key.slice(0, PIECE.chars)).map(([start, end]) => {
        KEY_CHARS.lastIndex = end;
        return [start, end + (KEY_CHARS.exec(text)?.[0].length ?? 0), REDACTED];
      });
const KEY_CHARS = /[\w+/=-]*/y;

/** A name, unless it is a word of the language or a part of a longer name. */
const namesOf = (text: string, name = ''): Hit[] =>
  /[^A-Za-z]/.test(name)
    ? hitsOf(text, name).filter(
        ([start, end]) => !/[\w-]/.test(text.charAt(start - 1)) && !/^(?:[\w-]|\.\w)/.test(text.slice(end, end + 2)),
      )
    : [];

const matchesOf = (text: string, form: RegExp): Hit[] =>
  [...text.matchAll(form)].map(({ 0: found, index }) => [index, index + found.length, REDACTED]);

function maskedOf(text: string, keys: readonly string[]): Hit[] {
  const sought = keys.filter(({ length }) => length >= MIN_SECRET_CHARS).map((key) => new UnescapedText(key).text);
  return [...text.matchAll(MASKED)].flatMap(({ 0: found, 1: start = '', 2: end = '', index }) =>
    (start.length >= 2 || end.length >= 2) && sought.some((key) => key.startsWith(start) && key.endsWith(end))
      ? [[index, index + found.length, REDACTED] as const]
      : [],
  );
}

/**
 * The provider's names of the model become the caller's; the caller's own name and longer names that contain one of
 * them stay.
 */
function modelsOf(text: string, { name, upstream }: NonNullable<Secrets['model']>, account: AccountSecrets): Hit[] {
  const own = new UnescapedText(name).text;
  const shown = JSON.stringify(name).slice(1, -1);
  return [upstream, account.models?.get(upstream) ?? '']
    .filter((other) => other !== name && /[^A-Za-z]/.test(other))
    .flatMap((other) => {
      const inner = own.indexOf(new UnescapedText(other).text);
      const isOwn = (start: number): boolean => inner >= 0 && text.startsWith(own, start - inner);
      return placesOf(text, other).filter(
        ([start, end]) => !/[\w-]/.test(text.charAt(start - 1)) && !/[a-z0-9]/.test(text.charAt(end)) && !isOwn(start),
      );
    })
    .map(([start, end]) => [start, end, shown]);
}
