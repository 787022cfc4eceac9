/** Assets that the provider no longer has. It is asked after it rejected a task that uses them. */
import type { VideoServices } from '../services.ts';
import { checkAsset } from './refresh.ts';
import { findRow } from './rows.ts';

/** The first of the user's assets that turns out to be gone, which is `invalid` from then on. */
export async function findGoneAsset(
  services: VideoServices,
  userId: string,
  ids: readonly string[],
): Promise<string | undefined> {
  const isGone = await Promise.all(
    ids.map(async (id) => {
      const asset = await findRow(services.db, 'assets', userId, id);
      // When the provider cannot be asked, its rejection stands as it is.
      const refreshed = asset && (await checkAsset(services, asset).catch(() => undefined));
      return refreshed?.status === 'invalid';
    }),
  );
  return ids.find((_, n) => isGone[n]);
}
