/** What the video operations share. Bound once by `createVideo`. */
import type { Key } from '../access/keys/index.ts';
import type { Account, Catalog } from '../catalog/index.ts';
import type { StoreServices } from '../platform/db/index.ts';
import type { PublicFetcher } from '../platform/outbound/index.ts';
import type { Threads } from '../platform/threads/index.ts';
import type { Pool } from '../providers/pool/index.ts';
import type { FileSource } from './input-files.ts';
import type { AssetProvider } from './upstream/asset-provider.ts';
import type { VideoProvider } from './upstream/client.ts';

/** Whose rows a query is about. */
export type VideoOwner = Pick<Key, 'userId'>;

export interface VideoServices extends StoreServices {
  /** Of the installation: the same on all replicas, after every start and in a restored backup. */
  readonly secret: Buffer;
  readonly catalog: () => Catalog;
  readonly pool: Pool;
  readonly provider: VideoProvider;
  readonly assetProvider: AssetProvider;
  readonly files: FileSource;
  /** Where a provider reads an uploaded file without a key; undefined when it cannot reach this installation. */
  readonly fileLinkFor: (account: Account, fileId: string, key: Key) => string | undefined;
  /** Fetches media for providers that take only bytes. */
  readonly media: Pick<PublicFetcher, 'fetch'>;
  readonly threads: Threads;
  /** Reads of tasks that an account without a number of its own gets. */
  readonly pollsPerSecond: number;
  /** Names this process in claims. */
  readonly replicaId: string;
  /** Base address of this installation, for links in responses. */
  readonly publicUrl: () => string;
  /** Origins that URLs in requests may have although they are not public. */
  readonly allowedOrigins: readonly string[];
  /** Where the provider may report a task; undefined when it cannot reach this installation. */
  readonly callbackUrlFor: (account: Account, secret: string) => string | undefined;
}
