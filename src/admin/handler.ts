/** What every admin operation is given. */
import type { Clock } from '../core/index.ts';
import { fail } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import type { Actor, KeySecrets } from '../identity/index.ts';
import type { Call } from '../web/index.ts';
import type { Query } from './query-params.ts';

export interface AdminServices {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: KeySecrets;
}

export interface AdminCall {
  readonly call: Call;
  readonly query: Query;
  readonly by: Actor;
}

export type AdminHandler = (given: AdminCall, parts: AdminServices) => Promise<void>;

export const notFound = (kind: string, id: string, param?: string) =>
  fail('object_not_found', `There is no ${kind} "${id.slice(0, 80)}".`, param === undefined ? {} : { param });
