/** What the handlers of the console need, and the kinds of them. */
import { z } from 'zod';
import type { Actor, KeySecrets } from '../../access/keys/index.ts';
import type * as people from '../../access/people/index.ts';
import type { Clock, Log } from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { Limiter } from '../../providers/pool/index.ts';
import type { Video } from '../../video/index.ts';
import { type OperationHandler, operationsOf, param } from '../admin/index.ts';
import type { ConsoleFiles } from './files.ts';

export interface ConsoleServices {
  readonly db: Db;
  /** Other connections for the data of users: their reports must not keep operators waiting. */
  readonly ownDb: Db;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: KeySecrets;
  readonly video: Video;
  readonly warnings: Warnings;
  readonly gateway: Pick<Gateway, 'catalog' | 'deleteAtProvider' | 'listModels'>;
  readonly guard: people.SessionGuard;
  readonly passwords: people.Passwords;
  readonly signIn: people.SignIn;
  readonly linkGate: people.SuspectGate;
  readonly isFirstRun: () => Promise<boolean>;
  /** Undefined without OIDC_ISSUER. */
  readonly oidc: { readonly client: people.OidcClient; readonly operators: readonly people.OperatorRule[] } | undefined;
  readonly files: ConsoleFiles;
}

export type OpenHandler = (services: ConsoleServices, call: Call) => Promise<void>;
export type SessionHandler = (services: ConsoleServices, call: Call, session: people.Session) => Promise<void>;

/** Whose data a request is about. */
export interface Owner {
  readonly userId: string;
  readonly session: people.Session;
}
interface OwnCaller extends Owner {
  /** The signed-in person. */
  readonly by: Actor;
}
export type OwnHandler = OperationHandler<OwnCaller, ConsoleServices>;
export const ownOperation = operationsOf<OwnCaller, ConsoleServices>();

/** The query of an operation that only names the user. */
export const ONLY_USER = z.strictObject({ user: param.user });
