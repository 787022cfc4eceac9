/** All manners, and those that a kind of response may have. */
import type { Chance } from '../chance.ts';
import { CHAT_MANNERS } from './chat.ts';
import { GENERATE_MANNERS } from './generate.ts';
import type { Dialect, Manner, Manners, Mode } from './manner.ts';
import { MESSAGES_MANNERS } from './messages.ts';
import { RESPONSES_MANNERS } from './responses.ts';
import { WIRE_MANNERS } from './wire.ts';

export const MANNERS: Manners = {
  ...CHAT_MANNERS,
  ...MESSAGES_MANNERS,
  ...RESPONSES_MANNERS,
  ...GENERATE_MANNERS,
  ...WIRE_MANNERS,
};

/** Those that change a response of this kind, by name. */
export function mannersOf(dialect: Dialect, mode: Mode): string[] {
  return Object.keys(MANNERS).filter((name) => {
    const manner = MANNERS[name];
    return manner?.dialects.includes(dialect) === true && applies(manner, mode);
  });
}

function applies({ events, reply, spelling, message, encoding, pieces, swapsForm }: Manner, mode: Mode): boolean {
  if (mode === 'socket') return events !== undefined;
  const isAny = message !== undefined || encoding !== undefined || pieces !== undefined || swapsForm === true;
  return isAny || (mode === 'unary' ? reply !== undefined : events !== undefined || spelling !== undefined);
}

/** At most this many at once, so that a failure has few causes. */
const MOST = 5;

/** Some harmless manners, the same for the same chance. Estimates of usage are not the same as reports. */
export function chooseHarmless(dialect: Dialect, mode: Mode, chance: Chance): string[] {
  const isChosen = ({ effect, hidesUsage }: Manner): boolean => effect === 'harmless' && hidesUsage !== true;
  const names = mannersOf(dialect, mode).filter((name) => MANNERS[name] && isChosen(MANNERS[name]));
  const count = chance.number('count', MOST + 1);
  const order = names.toSorted((a, b) => chance.number(a, ORDER) - chance.number(b, ORDER));
  return order.slice(0, count);
}
const ORDER = 2 ** 32;
