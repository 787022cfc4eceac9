/**
 * A test of one account by the operator: a probe in spite of parks and cooldowns. A success ends the cooldowns of the account, and a fault
 * counts as in any attempt.
 */
import { faultRow } from '../rules/index.ts';
import { type ProbeResult, probeTarget, sendProbe, type Untestable } from './probe.ts';
import type { GatewayServices } from './services.ts';

type Services = Pick<GatewayServices, 'catalog' | 'pool' | 'upstream' | 'clock'>;

export async function testAccount(
  services: Services,
  accountId: string,
  modelName: string | undefined,
): Promise<ProbeResult | Untestable | 'unknown_account'> {
  const catalog = services.catalog();
  const account = catalog.allAccounts().find(({ id }) => id === accountId);
  const group = account && catalog.group(account.groupId);
  if (!account || !group) return 'unknown_account';
  const target = await probeTarget(services, group, account, modelName);
  if (typeof target === 'string') return target;
  const lease = services.pool.leaseForTest(account, { model: target.model.upstream, operation: 'reply' });
  const result = await sendProbe(services, target);
  const { fault } = result;
  lease.release(fault && (faultRow(fault.kind).showsMessage ? fault : { ...fault, message: undefined }));
  return result;
}
