/**
 * How an account does: the state of the pool, and what tests and calls have shown. An account is healthy only if
 * something proves it.
 */
import type { AccountStats, ShownAccount, AccountState as StateName } from '../../../src/schemas/index.ts';
import { State, type Tone } from '../parts/state.tsx';
import { Countdown } from '../parts/values.tsx';
import { operatorTexts } from './texts.ts';

export type Health = StateName | 'model_cooling' | 'untested' | 'tested' | 'test_failed' | 'refused_once';

const TONES: Readonly<Record<Health, Tone>> = {
  healthy: 'ok',
  tested: 'ok',
  untested: 'muted',
  cooling: 'warn',
  model_cooling: 'warn',
  full: 'warn',
  limited: 'warn',
  test_failed: 'bad',
  refused_once: 'bad',
  parked: 'muted',
  draining: 'held',
  refused_credential: 'bad',
};

/** Undefined statistics are those that are not loaded yet. */
export function healthOf(account: ShownAccount, stats: AccountStats | undefined): Health {
  const { state, last_test: test } = account;
  if (state !== 'healthy') return state;
  if (test && !test.ok) return test.reason === 'credential' ? 'refused_credential' : 'test_failed';
  if (isRefused(account, stats)) return 'refused_once';
  if (outModels(account).length > 0) return 'model_cooling';
  if (stats && stats.served_hour !== null) return 'healthy';
  return test ? 'tested' : 'untested';
}

/** Models that the account is not used for, while it serves others. */
const outModels = ({ cooldowns }: ShownAccount): string[] => [
  ...new Set(cooldowns.flatMap(({ model, state }) => (model !== null && state === 'out' ? [model] : []))),
];

/** The pool believes a second refusal of a credential; until then, or until a success, one is a doubt. */
function isRefused({ last_test: test }: ShownAccount, stats: AccountStats | undefined): boolean {
  const fault = stats?.last_fault;
  if (fault?.fault !== 'credential') return false;
  const later = [test?.at, stats?.served_hour].filter((at) => at && at > fault.at);
  return later.length === 0;
}

interface AccountHealthProps {
  readonly account: ShownAccount;
  readonly stats: AccountStats | undefined;
}

export const AccountHealth = ({ account, stats }: AccountHealthProps) => {
  const health = healthOf(account, stats);
  return (
    <State tone={TONES[health]}>
      {health === 'model_cooling' ? operatorTexts.account.modelsOut(outModels(account)) : operatorTexts.states[health]}{' '}
      {(health === 'cooling' || health === 'limited') && account.until !== null && <Countdown until={account.until} />}
    </State>
  );
};

/** Accounts of the demo, whose providers listen on this machine. */
export const isSimulated = ({ id, base_url }: ShownAccount): boolean =>
  id.startsWith('demo-') && base_url.startsWith('http://127.0.0.1:');

/** Why an account is not used or not proven, in the words of the provider if there are any. */
export function reasonOf(account: ShownAccount, stats: AccountStats | undefined): string | undefined {
  const { reason, message, provider_code, cooldowns, last_test: test } = account;
  const [worst] = cooldowns;
  switch (healthOf(account, stats)) {
    case 'healthy':
    case 'tested':
    case 'untested':
    case 'full':
      return undefined;
    case 'test_failed':
      return test?.message ?? test?.reason ?? undefined;
    case 'refused_once':
      return stats?.last_fault?.message ?? undefined;
    default:
      return (
        message ?? worst?.message ?? worst?.provider_code ?? provider_code ?? test?.message ?? reason ?? worst?.reason
      );
  }
}

/** Out of use, or in doubt. */
/** With what the account takes at most, as its operator has set it or as refusals of its provider have taught. */
export function inFlightText({ in_flight, max_concurrency, learned_concurrency }: ShownAccount): string {
  const most = max_concurrency ?? learned_concurrency;
  return most === null ? String(in_flight) : `${in_flight}/${most}`;
}

export const isBad = (health: Health): boolean => TONES[health] === 'bad';

const ORDER: readonly Health[] = [
  'refused_credential',
  'refused_once',
  'test_failed',
  'cooling',
  'model_cooling',
  'limited',
  'parked',
  'draining',
  'full',
  'untested',
  'tested',
  'healthy',
];
/** The worst is first. */
export const healthRank = (health: Health): number => ORDER.indexOf(health);
