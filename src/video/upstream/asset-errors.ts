/** Error codes of the asset library, as data: what each family means. */
import { ASSET_ERRORS, type AssetErrorCode } from '../../rules/index.ts';

/**
 * `missing`: the object does not exist. `account`: credential, subscription or project of our account. `throttled`: too
 * many requests; nothing was done. `server`: the provider failed. `request`: the same request would be rejected again.
 */
export type AssetErrorKind = 'missing' | 'account' | 'throttled' | 'server' | 'request';

/** The first match decides. The status stands for errors that the provider sends with status 200. */
const FAMILIES: readonly { readonly matches: RegExp; readonly kind: AssetErrorKind }[] = [
  { matches: /^NotFound\.ProjectName/, kind: 'account' },
  { matches: /^(?:Signature|Invalid(?:AccessKey|Authorization|Credential|Timestamp))/, kind: 'account' },
  { matches: /^(?:MissingAuthenti|Unauthorized|AccessDenied|OperationDenied)/, kind: 'account' },
  { matches: /^(?:SubscriptionRequired|AccountOverdue)/, kind: 'account' },
  // Codes of another Dragoman about its own configuration.
  { matches: /^(?:asset_route_group_|model_not_|real_person_auth_not_supported)/, kind: 'account' },
  { matches: /^NotFound\b/, kind: 'missing' },
  { matches: /Throttl|LimitExceeded|RateLimit|FlowLimit|QuotaExceeded|ServerOverloaded/, kind: 'throttled' },
  { matches: /^(?:Internal|Service\w*(?:Unavailable|Error|Timeout))/, kind: 'server' },
];

const BY_STATUS: Readonly<Record<number, AssetErrorKind>> = {
  401: 'account',
  402: 'account',
  403: 'account',
  404: 'missing',
  429: 'throttled',
};

export function assetErrorKindOf(status: number, code: string): AssetErrorKind {
  const family = FAMILIES.find(({ matches }) => matches.test(code));
  if (family) return family.kind;
  if (status >= 500) return 'server';
  // A bare 404 may come from anything between us and the provider; only the provider's own code counts as missing.
  const kind = BY_STATUS[status] ?? 'request';
  return kind === 'missing' && code === '' ? 'server' : kind;
}

/** Why an asset failed, by the provider's code; the first match decides. A Dragoman reports our own codes. */
const FAILURES: readonly { readonly matches: RegExp; readonly code: AssetErrorCode }[] = [
  { matches: /^DownloadFailed/, code: 'asset_download_failed' },
  { matches: /^FaceMismatch/, code: 'asset_face_mismatch' },
  { matches: /SensitiveContentDetected|RiskDetection|^ContentRestricted/, code: 'asset_content_rejected' },
  {
    matches: /^(?:Type|Format|Duration|Width|Height|AspectRatio|FileSize|PixelCount|Fps|AudioTrack|Transcoding)[A-Z]/,
    code: 'asset_media_rejected',
  },
];

export interface AssetError {
  readonly code: AssetErrorCode;
  readonly message: string;
}

/** `failure` is the provider's code and message, as `ReportedAsset` has them. */
export function assetErrorOf(failure: string): AssetError {
  const [, named = '', message = ''] = /^([\w.]+): ?(.*)$/s.exec(failure) ?? [];
  const known = Object.hasOwn(ASSET_ERRORS, named) ? (named as AssetErrorCode) : undefined;
  const code = known ?? FAILURES.find(({ matches }) => matches.test(named))?.code ?? 'asset_failed';
  return { code, message: message || ASSET_ERRORS[code] };
}

/** The status of an error that came with status 200. */
export const ASSET_ERROR_STATUS: Readonly<Record<AssetErrorKind, number>> = {
  missing: 404,
  account: 403,
  throttled: 429,
  server: 502,
  request: 400,
};
