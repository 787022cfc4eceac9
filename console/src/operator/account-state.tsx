/** The state of an account: what the pool reports, or what its cooldowns say. */
import type { Account, AccountState as StateName } from '../api/types.ts';
import { State, type Tone } from '../parts/state.tsx';
import { Countdown } from '../parts/values.tsx';
import { texts } from '../texts.ts';

const TONES: Readonly<Record<StateName, Tone>> = {
  healthy: 'ok',
  cooling: 'warn',
  full: 'warn',
  parked: 'muted',
  draining: 'held',
  refused_credential: 'bad',
};

export function stateOf({ state, cooldowns }: Account): StateName {
  if (state !== undefined) return state;
  return cooldowns.some(({ model, operation }) => model === null && operation === null) ? 'cooling' : 'healthy';
}

/** The end of the cooldown that holds longest. */
export const coolingUntil = ({ until, cooldowns }: Account): string | undefined =>
  until ??
  cooldowns
    .map((cooldown) => cooldown.until)
    .toSorted()
    .at(-1);

export const AccountStateText = ({ account }: { readonly account: Account }) => {
  const state = stateOf(account);
  const until = coolingUntil(account);
  return (
    <State tone={TONES[state]}>
      {texts.states[state]} {state === 'cooling' && until !== undefined && <Countdown until={until} />}
    </State>
  );
};

/** Accounts of the demo, whose providers listen on this machine. */
export const isSimulated = ({ id, base_url }: Account): boolean =>
  id.startsWith('demo-') && base_url.startsWith('http://127.0.0.1:');

/** Why an account is not used, in one line. */
export function reasonOf(account: Account): string | undefined {
  const worst = account.cooldowns[0];
  return account.reason ?? worst?.reason;
}

export function wordsOf(account: Account): string | undefined {
  const worst = account.cooldowns[0];
  return account.message ?? worst?.message ?? worst?.provider_code ?? undefined;
}
