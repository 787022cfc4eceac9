/** What commands without a server need: the background jobs of `work`, and the checks of `doctor`. */
import { join } from 'node:path';
import { loadCatalog } from '../../catalog/index.ts';
import * as gateway from '../../gateway/index.ts';
import { balanceReport } from '../../ledger/index.ts';
import { Spool } from '../../platform/web/index.ts';
import { readSharedState } from '../../providers/pool/index.ts';
import { SPOOL_BYTES } from '../../rules/index.ts';
import { openAccounts } from './accounts.ts';
import { type AppContext, closeAll, type Scope } from './context.ts';
import { opaqueSecrets } from './opaque-secrets.ts';
import { createOidc } from './people.ts';
import { publicUrlOf } from './ports.ts';
import { openThreads, openUpstream, openVideo, openWarnings } from './services.ts';
import { bodyLimit } from './settings.ts';

const scopeOf = (context: AppContext): Scope => ({ ...context, closers: [] });

/** The catalog is read again when the configuration changes. */
export async function openWorkerServices(context: AppContext) {
  const scope = scopeOf(context);
  const { catalog, pool, watch } = await openAccounts(scope);
  const upstream = openUpstream(scope);
  const publicUrl = (): string => publicUrlOf(context.config, context.config.PORT);
  const video = openVideo(scope, { upstream, catalog, pool, threads: openThreads(scope) }, publicUrl);
  const { db } = context.database;
  const store = new gateway.ResponseStore({ ...context, db, days: context.config.STORED_RESPONSES_DAYS });
  const background = gateway.createBackground({ ...context, db, upstream, catalog, store });
  const warnings = openWarnings(context, publicUrl);
  return { video, background, warnings, watch, close: () => closeAll(scope.closers) };
}

/** Opens what a test of accounts needs. */
export async function openProbeServices(
  context: AppContext,
): Promise<gateway.ProbeServices & { close(): Promise<void> }> {
  const { clock, database, sealer, log } = context;
  const catalog = await loadCatalog(database.db, sealer, log);
  const scope = scopeOf(context);
  const upstream = openUpstream(scope);
  return { clock, upstream, catalog: () => catalog, close: () => closeAll(scope.closers) };
}

/**
 * Opens what an explanation needs: the configuration, and the state of accounts that the servers share. Spend limits
 * are known to servers only.
 */
export async function openExplainServices(
  context: AppContext,
): Promise<gateway.ExplainServices & { close(): Promise<void> }> {
  const { clock, config, database, log, secrets } = context;
  const { db } = database;
  const scope = scopeOf(context);
  const { catalog, pool } = await openAccounts(scope);
  pool.adopt(await readSharedState(db));
  return {
    catalog,
    clock,
    pool,
    threads: openThreads(scope),
    store: new gateway.ResponseStore({ ...context, db, days: config.STORED_RESPONSES_DAYS }),
    files: new gateway.FileStore({ ...context, db, days: config.FILE_DAYS }),
    objects: new gateway.ObjectStore({ db, log }),
    conversations: new gateway.ConversationStore({ ...context, db, days: config.STORED_RESPONSES_DAYS }),
    log,
    spool: new Spool({ folder: join(config.DATA_DIR, 'uploads'), maxBytes: SPOOL_BYTES, log }),
    bodyLimit: (limit) => bodyLimit(config, limit),
    ...opaqueSecrets(secrets.pepper),
    balance: (userId) => balanceReport(db, userId),
    checkSpend: () => {},
    close: () => closeAll(scope.closers),
  };
}

/** Asks the OpenID provider for its settings. Throws when sign-in with it cannot work; has no effect without one. */
export async function tryOidc(context: AppContext): Promise<void> {
  const { config } = context;
  const scope = scopeOf(context);
  const upstream = openUpstream(scope);
  try {
    await createOidc(context, upstream, () => publicUrlOf(config, config.PORT))?.client.start();
  } finally {
    await closeAll(scope.closers);
  }
}

export { explainCall } from '../../gateway/index.ts';
