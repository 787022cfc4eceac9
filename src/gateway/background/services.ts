/** What background responses need: the same in a server and in a worker. */
import type { Catalog } from '../../catalog/index.ts';
import type { Clock, Log } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import type { UpstreamClient } from '../../upstream/index.ts';
import type { ResponseStore } from '../stored/store.ts';

export interface BackgroundServices {
  readonly db: Db;
  readonly catalog: () => Catalog;
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: ResponseStore;
}
