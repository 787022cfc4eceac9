/** The state of an account as the pool reports it. */
import type { ShownAccount, AccountState as StateName } from '../../../src/objects/index.ts';
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

export const AccountStateText = ({ account }: { readonly account: ShownAccount }) => {
  const { state, until } = account;
  return (
    <State tone={TONES[state]}>
      {texts.states[state]} {state === 'cooling' && until !== null && <Countdown until={until} />}
    </State>
  );
};

/** Accounts of the demo, whose providers listen on this machine. */
export const isSimulated = ({ id, base_url }: ShownAccount): boolean =>
  id.startsWith('demo-') && base_url.startsWith('http://127.0.0.1:');

/** Why an account is not used, in one line. */
export const reasonOf = ({ reason, cooldowns }: ShownAccount): string | undefined => reason ?? cooldowns[0]?.reason;

export const wordsOf = ({ message, cooldowns: [worst] }: ShownAccount): string | undefined =>
  message ?? worst?.message ?? worst?.provider_code ?? undefined;
