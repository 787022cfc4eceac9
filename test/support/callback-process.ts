/**
 * A process that delivers callbacks until it is killed, with short waits. Load tests start it with a plan as its
 * argument.
 */
import { createSealer, silentLog, systemClock } from '../../src/core/index.ts';
import { openDatabase } from '../../src/platform/db/index.ts';
import { PublicFetcher } from '../../src/platform/outbound/index.ts';
import { CALLBACK_RULES, type CallbackRules } from '../../src/rules/index.ts';
import { Deliverer } from '../../src/video/callbacks/deliverer.ts';

export interface DeliveryPlan {
  readonly url: string;
  readonly masterKey: string;
  readonly origins: readonly string[];
}

const RULES: CallbackRules = {
  ...CALLBACK_RULES,
  retryMs: [50, 100, 200, 200, 200, 200, 200, 200, 200],
  headMs: 700,
  timeoutMs: 1_000,
  leaseMs: 1_500,
  circuit: { failures: 5, probeMs: 100, maxProbeMs: 400, maxWaitMs: 3_600_000 },
};

const plan = JSON.parse(process.argv[2] ?? '') as DeliveryPlan;
const { db } = openDatabase(plan.url);
const deliverer = new Deliverer(
  {
    db,
    sealer: createSealer([['k1', plan.masterKey]]),
    clock: systemClock,
    log: silentLog,
    fetcher: new PublicFetcher({ allow: plan.origins, clock: systemClock }),
  },
  RULES,
);
setInterval(() => void deliverer.run(), 100);
