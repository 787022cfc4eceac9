/** Cases of impolite providers: who asks whom for what, and the manners of the provider. */
import { DIALECTS, type Effect } from '../../../sim/manners/manner.ts';
import { MANNERS, mannersOf } from '../../../sim/manners/table.ts';
import type { Dialect } from '../../../src/rules/index.ts';
import { Choices } from '../generate.ts';

export type CaseMode = 'unary' | 'stream' | 'websocket';
export const ASKS = ['text', 'tool', 'tools', 'thinking', 'refusal', 'cut'] as const;
export type Ask = (typeof ASKS)[number];

export interface ProviderCase {
  readonly client: Dialect;
  readonly provider: Dialect;
  readonly mode: CaseMode;
  readonly ask: Ask;
  /** In the order in which they apply. */
  readonly manners: readonly string[];
  /** Of the choices that manners make. */
  readonly seed: number;
}

const MODES: readonly CaseMode[] = ['unary', 'stream', 'stream', 'websocket'];
const MAX_MANNERS = 4;

/** Clients of generate-content are not converted, and only those of responses have a WebSocket. */
export function isPossible({ client, provider, mode }: Pick<ProviderCase, 'client' | 'provider' | 'mode'>): boolean {
  return (client !== 'generate' || provider === 'generate') && (mode !== 'websocket' || client === 'responses');
}

/** The case with number `n`; depends on nothing else. */
export function caseOf(seed: number, n: number): ProviderCase {
  const choices = new Choices(seed, n);
  for (;;) {
    const lane = { client: choices.of(DIALECTS), provider: choices.of(DIALECTS), mode: choices.of(MODES) };
    if (!isPossible(lane)) continue;
    const count = 1 + choices.below(MAX_MANNERS);
    const known = mannersOf(lane.provider, upstreamMode(lane));
    const manners = new Set(Array.from({ length: count }, () => choices.of(known)));
    return { ...lane, ask: choices.of(ASKS), manners: [...manners], seed: choices.below(1_000) };
  }
}

/** How the gateway asks the provider. */
export const upstreamMode = ({
  provider,
  mode,
}: Pick<ProviderCase, 'provider' | 'mode'>): 'unary' | 'stream' | 'socket' => {
  if (mode !== 'websocket') return mode;
  return provider === 'responses' ? 'socket' : 'stream';
};

export const isNative = ({ client, provider }: ProviderCase): boolean => client === provider;

/** What the client must get with these manners. */
export function effectOf({ manners }: Pick<ProviderCase, 'manners'>): Effect {
  const effects = manners.map((name) => MANNERS[name]?.effect);
  if (effects.includes('fault')) return 'fault';
  return effects.includes('shown') ? 'shown' : 'harmless';
}

export const hidesUsage = ({ manners }: ProviderCase): boolean =>
  manners.some((name) => MANNERS[name]?.hidesUsage === true);

/** Shorter cases, the shortest first: without one of the manners, or with a simpler reply. */
export function* shorter(one: ProviderCase): Generator<ProviderCase> {
  if (one.manners.length > 1)
    for (const name of one.manners) yield { ...one, manners: one.manners.filter((other) => other !== name) };
  if (one.ask !== 'text') yield { ...one, ask: 'text' };
  if (one.ask === 'tools') yield { ...one, ask: 'tool' };
  if (one.mode === 'websocket') yield { ...one, mode: 'stream' };
  if (one.seed !== 1) yield { ...one, seed: 1 };
}
