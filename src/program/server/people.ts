/**
 * The APIs for people: the operator's under /admin/v1 and the one of the console, with database connections of their
 * own.
 */
import { FailedAttempts, readAdminToken } from '../../access/keys/index.ts';
import * as people from '../../access/people/index.ts';
import { adminAuth, createAdminHandlers } from '../../api/admin/index.ts';
import { ConsoleFiles, createConsoleHandlers } from '../../api/console/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import { poolSizes, shareOf, type WorkerShare } from '../../platform/cluster/index.ts';
import { settingsReport } from '../../platform/config.ts';
import { type Db, openDatabase } from '../../platform/db/index.ts';
import type { Handler } from '../../platform/web/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { type AdminOperation, type ConsoleOperation, PASSWORD_QUEUE } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import type { AppContext, Scope } from './context.ts';
import type { ClusterMember } from './ports.ts';
import type { Services } from './services.ts';
import { bodyLimit, consoleFolder } from './settings.ts';

/** Reports may take longer than the statements of calls and jobs. */
const REPORT_MS = 30_000;

export interface PeopleParts extends Pick<Services, 'health' | 'limiter' | 'upstream'> {
  readonly gateway: Gateway;
  readonly video: Video;
  readonly warnings: Warnings;
  readonly guard: people.SessionGuard;
  readonly share: WorkerShare;
  readonly member: ClusterMember | undefined;
  readonly failuresPerMinute: number;
  readonly publicUrl: () => string;
}

export function createPeopleHandlers(scope: Scope, parts: PeopleParts) {
  const { closers, database } = scope;
  const { url } = database;
  const sizes = poolSizes(parts.share);
  // Pools of their own: a long report or a slow download must never keep a charge waiting for a connection.
  const reports = openDatabase(url, sizes.reports, { statementMs: REPORT_MS });
  closers.push(() => reports.close());
  const ownReports = openDatabase(url, sizes.own);
  closers.push(() => ownReports.close());
  return {
    ...adminHandlers(scope, parts, reports.db),
    ...consoleHandlers(scope, parts, { db: reports.db, ownDb: ownReports.db }),
  };
}

function adminHandlers(context: AppContext, parts: PeopleParts, db: Db): Record<AdminOperation, Handler> {
  const { config, clock, sealer, secrets } = context;
  const { gateway, health, guard, failuresPerMinute } = parts;
  return createAdminHandlers({
    ...parts,
    auth: adminAuth({
      token: async () => config.ADMIN_TOKEN ?? readAdminToken(db, sealer),
      attempts: new FailedAttempts(clock, failuresPerMinute, 'admin token'),
      guard,
    }),
    db,
    clock,
    secrets,
    accounts: { test: gateway.testAccount, refresh: () => health.sync() },
    explain: gateway.explain,
    deleteAtProvider: gateway.deleteAtProvider,
    maxTextBytes: bodyLimit(config, 'text'),
    settings: settingsReport(config),
  });
}

function consoleHandlers(
  context: AppContext,
  parts: PeopleParts,
  { db, ownDb }: { readonly db: Db; readonly ownDb: Db },
): Record<ConsoleOperation, Handler> {
  const { config, clock, secrets } = context;
  const { share, member } = parts;
  const passwords = new people.Passwords(secrets.pepper, {
    running: shareOf(PASSWORD_QUEUE.running, share),
    waiting: shareOf(PASSWORD_QUEUE.waiting, share),
  });
  const counts = member ? people.primarySignInCounts(member.primary) : new people.LocalSignInCounts(clock);
  return createConsoleHandlers({
    ...context,
    ...parts,
    db,
    ownDb,
    passwords,
    signIn: new people.SignIn({ db, clock, passwords, pepper: secrets.pepper, counts }),
    linkGate: new people.SuspectGate(clock, parts.failuresPerMinute, 'link'),
    isFirstRun: people.firstRunCheck(db),
    oidc: createOidc(context, parts.upstream, parts.publicUrl),
    files: new ConsoleFiles(consoleFolder(config)),
  });
}

/** Undefined without an OpenID provider. */
export function createOidc({ config, sealer, clock }: AppContext, upstream: UpstreamClient, publicUrl: () => string) {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  const settings = { issuer, clientId, clientSecret, scope: config.OIDC_SCOPE };
  const client = new people.OidcClient({ settings, upstream, sealer, clock, publicUrl });
  return { client, operators: config.OIDC_OPERATORS };
}
