/** What the video operations share. Bound once by `createVideo`. */
import type { Account, Catalog } from '../catalog/index.ts';
import type { StoreServices } from '../platform/db/index.ts';
import type { Threads } from '../platform/threads/index.ts';
import type { Pool } from '../providers/pool/index.ts';
import type { AssetProvider } from './upstream/asset-provider.ts';
import type { VideoProvider } from './upstream/client.ts';

export interface VideoServices extends StoreServices {
  /** Of the installation: the same on all replicas, after every start and in a restored backup. */
  readonly secret: Buffer;
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
