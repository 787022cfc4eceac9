/** What commands without a server need: the background jobs of `work`, and the checks of `doctor`. */
import { loadCatalog } from '../../catalog/index.ts';
import { type Background, createBackground, type ProbeServices, ResponseStore } from '../../gateway/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import type { RevisionWatch } from '../../platform/db/index.ts';
import type { Video } from '../../video/index.ts';
import { openAccounts } from './accounts.ts';
import { type AppContext, type Closer, closeAll } from './context.ts';
import { createOidc } from './people.ts';
import { publicUrlOf } from './ports.ts';
import { openThreads, openUpstream, openVideo, openWarnings } from './services.ts';

export interface WorkerServices {
  readonly background: Background;
  readonly video: Video;
  readonly warnings: Warnings;
  readonly watch: RevisionWatch;
  close(): Promise<void>;
}

/** The catalog is read again when the configuration changes. */
export async function openWorkerServices(context: AppContext): Promise<WorkerServices> {
  const closers: Closer[] = [];
  const { catalog, pool, watch } = await openAccounts(context, closers);
  const upstream = openUpstream(context, closers);
  const publicUrl = (): string => publicUrlOf(context.config, context.config.PORT);
  const video = openVideo(
    context,
    { upstream, catalog, pool, threads: openThreads(context, closers) },
    { publicUrl, closers },
  );
  const { db } = context.database;
  const store = new ResponseStore({ ...context, db, days: context.config.STORED_RESPONSES_DAYS });
  const background = createBackground({ ...context, db, upstream, catalog, store });
  const warnings = openWarnings(context, publicUrl);
  return { video, background, warnings, watch, close: () => closeAll(closers) };
}

/** Opens what a test of accounts needs. */
export async function openProbeServices(context: AppContext): Promise<ProbeServices & { close(): Promise<void> }> {
  const { clock, database, sealer, log } = context;
  const catalog = await loadCatalog(database.db, sealer, log);
  const closers: Closer[] = [];
  const upstream = openUpstream(context, closers);
  return { clock, upstream, catalog: () => catalog, close: () => closeAll(closers) };
}

/** Asks the OpenID provider for its settings. Throws when sign-in with it cannot work; has no effect without one. */
export async function tryOidc(context: AppContext): Promise<void> {
  const { config } = context;
  const closers: Closer[] = [];
  const upstream = openUpstream(context, closers);
  try {
    await createOidc(context, upstream, () => publicUrlOf(config, config.PORT))?.client.start();
  } finally {
    await closeAll(closers);
  }
}
