/** What the video operations share. Bound once by `createVideo`. */

import type { Transaction } from 'kysely';
import type { Account, Catalog } from '../catalog/index.ts';
import type { Clock, Log, Sealer } from '../core/index.ts';
import type { Db, Rows } from '../platform/db/index.ts';
import type { Threads } from '../platform/threads/index.ts';
import type { Pool } from '../providers/pool/index.ts';
import type { AssetProvider } from './upstream/asset-provider.ts';
import type { VideoProvider } from './upstream/client.ts';

/** A transaction, for what must change together. */
export type Tx = Transaction<Rows>;

export interface VideoServices {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: () => Catalog;
  readonly pool: Pool;
  readonly provider: VideoProvider;
  readonly assetProvider: AssetProvider;
  readonly threads: Threads;
  /** Names this process in claims. */
  readonly replicaId: string;
  /** Base address of this installation, for links in responses. */
  readonly publicUrl: () => string;
  /** Origins that URLs in requests may have although they are not public. */
  readonly allowedOrigins: readonly string[];
  /** Where the provider may report a task; undefined when it cannot reach this installation. */
  readonly callbackUrlFor: (account: Account, secret: string) => string | undefined;
}
