/**
 * Private assets and asset groups (V 2, V 3, V 4.8, V 4.9): statuses and the moves between them, types, limits and
 * times.
 */

export const ASSET_TYPES = ['Image', 'Video', 'Audio'] as const;
export type AssetType = (typeof ASSET_TYPES)[number];

/** Callers create only the first type; a group of the second comes from a real-person authorization (V 4.8 r1). */
export const ASSET_GROUP_TYPES = ['AIGC', 'LivenessFace'] as const;

const CREATED_STATUSES = [
  'active',
  'failed',
  'create_unknown',
  'invalid',
  'deleting',
  'deleted',
  'delete_failed',
] as const;
export const ASSET_GROUP_STATUSES = ['creating', ...CREATED_STATUSES] as const;
export type AssetGroupStatus = (typeof ASSET_GROUP_STATUSES)[number];

export const ASSET_STATUSES = ['creating', 'processing', ...CREATED_STATUSES] as const;
export type AssetStatus = (typeof ASSET_STATUSES)[number];

const MOVES = {
  active: ['invalid', 'deleting'],
  failed: ['deleting'],
  invalid: ['deleting'],
  deleting: ['deleted', 'delete_failed'],
  delete_failed: ['deleting'],
  deleted: [],
} as const;

/**
 * `deleting` is also reached before the outcome of a creation is known: the provider's object is then found by its
 * name.
 */
export const ASSET_GROUP_MOVES: Readonly<Record<AssetGroupStatus, readonly AssetGroupStatus[]>> = {
  creating: ['active', 'failed', 'create_unknown', 'deleting'],
  create_unknown: ['active', 'failed', 'deleting'],
  ...MOVES,
};

/** An invalid or failed asset never becomes usable again: the caller creates a new one (V 3). */
export const ASSET_MOVES: Readonly<Record<AssetStatus, readonly AssetStatus[]>> = {
  creating: ['processing', 'failed', 'create_unknown', 'deleting'],
  create_unknown: ['processing', 'failed', 'deleting'],
  processing: ['active', 'failed', 'deleting'],
  ...MOVES,
};

export const assetSourcesOf = (to: AssetStatus): readonly AssetStatus[] =>
  ASSET_STATUSES.filter((from) => ASSET_MOVES[from].includes(to));
export const assetGroupSourcesOf = (to: AssetGroupStatus): readonly AssetGroupStatus[] =>
  ASSET_GROUP_STATUSES.filter((from) => ASSET_GROUP_MOVES[from].includes(to));

/**
 * What a report of the provider makes of an asset; undefined when it changes nothing. `missing`: the provider has no
 * such asset.
 */
export function assetStatusAfter(
  current: AssetStatus,
  reported: 'processing' | 'active' | 'failed' | 'missing',
): AssetStatus | undefined {
  if (current === 'processing') {
    if (reported === 'active') return 'active';
    return reported === 'processing' ? undefined : 'failed';
  }
  return current === 'active' && (reported === 'failed' || reported === 'missing') ? 'invalid' : undefined;
}

/** Codes of the `error` of an asset that failed or became invalid, with the message where the provider gave none. */
export const ASSET_ERRORS = {
  asset_download_failed: 'The file could not be downloaded from its URL.',
  asset_media_rejected: 'The type, the format, the size or the duration of the file is not accepted.',
  asset_content_rejected: 'The file was rejected by the content review.',
  asset_face_mismatch: 'The face does not match the authorized person.',
  asset_gone: 'The asset no longer exists at the provider.',
  asset_failed: 'The asset could not be processed.',
} as const;
export type AssetErrorCode = keyof typeof ASSET_ERRORS;

/** A field of a create request. Texts are counted in characters (code points). */
export interface AssetField {
  readonly about: string;
  readonly isRequired?: true;
  readonly chars?: { readonly min: number; readonly max: number };
  readonly words?: readonly string[];
  /** `media`: a public URL, or the id of an uploaded file. */
  readonly form?: 'public-url' | 'media';
}

const MODEL: AssetField = {
  about: 'public name of a video model; selects the service group',
  chars: { min: 1, max: 200 },
};

/** POST /v1/asset-groups (V 4.8 r1). */
export const ASSET_GROUP_FIELDS = {
  name: { about: 'name of the group', isRequired: true, chars: { min: 1, max: 64 } },
  description: { about: 'description of the group', chars: { min: 0, max: 300 } },
  group_type: { about: 'type of the group', words: [ASSET_GROUP_TYPES[0]] },
  model: MODEL,
} as const satisfies Record<string, AssetField>;

/** POST /v1/assets (V 4.9 r1, r2). */
export const ASSET_FIELDS = {
  url: { about: 'public HTTPS URL of the file, or the id of an uploaded file', isRequired: true, form: 'media' },
  asset_type: { about: 'type of the file', isRequired: true, words: ASSET_TYPES },
  group_id: { about: 'id of an asset group; required for EP and A models, not for HC models' },
  name: { about: 'name of the asset', chars: { min: 0, max: 64 } },
  model: MODEL,
} as const satisfies Record<string, AssetField>;

/** A refresh within this time of the last one returns the saved state (V 4.9 r5). */
export const ASSET_REFRESH_MS = 2_000;
/** A provider may not know an asset yet that it has just accepted; until this age it counts as processing. */
export const ASSET_SETTLING_MS = 60_000;
/** Deleted assets and groups stay readable by id for this long (V 3). */
export const ASSET_DELETED_DAYS = 30;

/**
 * Creations without a clear response: time of a replica for one, seconds between checks (then the last), and the age at
 * which an object counts as failed.
 */
export const ASSET_RECONCILIATION = {
  leaseMs: 45_000,
  scheduleSeconds: [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600],
  giveUpSeconds: 3_600,
} as const;
