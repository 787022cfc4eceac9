/** What background responses need: the same in a server and in a worker. */
import type { Db } from '../../platform/db/index.ts';
import type { GatewayServices } from '../services.ts';

export interface BackgroundServices extends Pick<GatewayServices, 'catalog' | 'upstream' | 'clock' | 'log' | 'store'> {
  readonly db: Db;
}
