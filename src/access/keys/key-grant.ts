/**
 * What a signed link grants: the rights of its key, at one place, until a time. Nothing once the key is revoked or its
 * user erased.
 */
import { openGrant, type SealLocation } from '../../core/index.ts';
import type { StoreServices } from '../../platform/db/index.ts';
import { findKeyOfUser, type Key } from './keys.ts';

type Grant = readonly [userId: string, keyId: string, expiresAt: number];

/** As the value of a query. */
export function sealKeyGrant(
  { sealer, clock }: StoreServices,
  location: SealLocation,
  { userId, id }: Pick<Key, 'userId' | 'id'>,
  seconds: number,
): string {
  const grant: Grant = [userId, id, clock.now() + seconds * 1_000];
  return encodeURIComponent(sealer.seal(JSON.stringify(grant), location));
}

export async function openKeyGrant(
  { db, sealer, clock }: StoreServices,
  location: SealLocation,
  token: string,
): Promise<Key | undefined> {
  const now = clock.now();
  const grant = openGrant<Grant>(sealer, location, token);
  return grant && now < grant[2] ? findKeyOfUser(db, grant[0], grant[1], now) : undefined;
}
