/** Real-person authorization sessions (V 2, V 3, V 4.10): statuses, fields of a create request, and times. */
import { ASSET_GROUP_FIELDS, type AssetField } from './assets.ts';

/** The `error` of a session that failed. Only the provider knows why, and does not say. */
export const SESSION_ERROR = {
  code: 'real_person_not_verified',
  message: 'The person was not verified. Create a new session.',
} as const;

export const SESSION_STATUSES = ['pending', 'verifying', 'completed', 'failed', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** Every field is optional. Name and description become those of the group of the person. */
export const SESSION_FIELDS = {
  name: { about: 'name of the asset group', chars: { min: 0, max: ASSET_GROUP_FIELDS.name.chars.max } },
  description: { about: 'description of the asset group', chars: ASSET_GROUP_FIELDS.description.chars },
  redirect_url: { about: 'public HTTPS URL to which the return page leads', form: 'public-url' },
  model: ASSET_GROUP_FIELDS.model,
} as const satisfies Record<string, AssetField>;

/** A session expires this long after its creation, as the provider's token does (V 3). */
export const SESSION_SECONDS = 1_800;

/** Failed and expired sessions are removed after this time. Completed ones stay. */
export const SESSION_KEPT_DAYS = 30;

/**
 * Time for one create request, in which no other replica removes the session. Longer than all timeouts of the request
 * together.
 */
export const SESSION_LEASE_MS = 45_000;

/**
 * When the provider is asked for the outcome. `verifyingSeconds`: until the next check by the number of checks since
 * the browser returned, then the last one. `lastSeconds`: a last check this long before the session expires.
 * `perSecond`: for one account; the provider allows three.
 */
export const SESSION_CHECKS = {
  pendingSeconds: 60,
  verifyingSeconds: [3, 3, 5, 5, 10, 10, 30],
  lastSeconds: 10,
  returnSeconds: 2,
  perSecond: 2,
} as const;
