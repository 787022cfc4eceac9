/** What background responses need: the same in a server and in a worker. */
import type { Catalog } from '../../catalog/index.ts';
import type { Clock, Log } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import type { ResponseStore } from '../stored/store.ts';

export interface BackgroundServices {
  readonly db: Db;
  readonly catalog: () => Catalog;
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: ResponseStore;
}
