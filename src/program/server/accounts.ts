/** The accounts of a process: their configuration, read again when it changes, and their health in the log. */
import { type Catalog, loadCatalog } from '../../catalog/index.ts';
import { hmac, type Log } from '../../core/index.ts';
import { type RevisionName, RevisionWatch } from '../../platform/db/index.ts';
import { AccountShares, type HealthEvent, Pool } from '../../providers/pool/index.ts';
import type { AppContext, Scope } from './context.ts';
import type { ClusterMember } from './ports.ts';

export interface Accounts {
  readonly catalog: () => Catalog;
  readonly pool: Pool;
  readonly watch: RevisionWatch;
}

interface AccountOptions {
  readonly member?: ClusterMember | undefined;
  readonly onKeyChange?: () => void;
  /** The health of accounts changed elsewhere, or says nothing about an account that has changed. */
  readonly onPoolChange?: () => void;
}

export async function openAccounts(
  scope: Scope,
  { member, onKeyChange = () => {}, onPoolChange = () => {} }: AccountOptions = {},
): Promise<Accounts> {
  const { database, sealer, log, clock, closers } = scope;
  const pool = createPool(scope);
  const shares = member && new AccountShares({ ...member, share: member, clock, pool });
  let catalog: Catalog;
  const load = async (): Promise<void> => {
    catalog = await loadCatalog(database.db, sealer, log, shares && ((account) => shares.divided(account)));
    pool.reload(catalog.allAccounts());
  };
  await load();
  const onChange = async (name: RevisionName): Promise<void> => {
    if (name === 'identity') return onKeyChange();
    if (name !== 'pool') await load();
    return onPoolChange();
  };
  const watch = await RevisionWatch.start({ database, clock, log, onChange });
  closers.push(() => watch.stop());
  return { catalog: () => catalog, pool, watch };
}

const createPool = ({ clock, log, config, secrets: { pepper } }: AppContext): Pool =>
  new Pool(clock, {
    burstPercent: config.RATE_LIMIT_BURST,
    onHealthEvent: (event) => logHealthEvent(log, event),
    fingerprint: (identity) => hmac(pepper, `account identity:${identity}`).toString('base64url').slice(0, 22),
  });

function logHealthEvent(log: Log, event: HealthEvent): void {
  const { account } = event;
  if (event.type === 'parked' || event.type === 'resumed') {
    const { state, cause, providerCode } = event.park;
    if (event.type === 'resumed') return log.info('account.resumed', { account, cause, because: event.because });
    const about = { account, state, cause, code: providerCode };
    return cause === 'credential' ? log.error('account.parked', about) : log.warn('account.parked', about);
  }
  const { use, kind, providerCode, since, until, faults, isKept } = event.cooldown;
  const about = { account, model: use?.model, operation: use?.operation, reason: kind, code: providerCode };
  if (event.type === 'recovered')
    return log.info('account.recovered', {
      ...about,
      because: event.because,
      faults,
      since: new Date(since).toISOString(),
    });
  log.warn('account.cooling', { ...about, until: new Date(until).toISOString(), in_use: isKept || undefined });
}
