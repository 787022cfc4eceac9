/**
 * Lanes of a replay: each has a group of every dialect with one account and one key, and makes one call at a time. A lane whose account
 * failed is replaced by a new one, so that the pool's view of that account does not reach the next call.
 */
import { DIALECTS, type Dialect, type Style } from '../../src/rules/index.ts';
import type { TestGateway } from '../../test/support/gateway.ts';
import type { Upstream } from './upstream.ts';

export interface Lane {
  readonly name: string;
  readonly url: string;
  readonly keys: Readonly<Record<Dialect, string>>;
}

const STYLES: Readonly<Record<Dialect, Style>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};
/** Requests may name files and containers of the recorded account. */
const FEATURES: Readonly<Record<Dialect, readonly string[]>> = {
  messages: ['messages', 'count', 'objects'],
  chat: ['chat', 'objects'],
  responses: ['responses', 'objects'],
  generate: ['generate', 'count'],
};

/** Models have the recorded names, so that the rules of their families apply. */
export async function openLane(gateway: TestGateway, upstream: Upstream, name: string): Promise<Lane> {
  const address = upstream.addressOf(name);
  const groupOf = (dialect: Dialect): string => `${name}-${dialect}`;
  const made = await gateway.apply({
    groups: DIALECTS.map((dialect) => ({ id: groupOf(dialect), style: STYLES[dialect] })),
    accounts: DIALECTS.map((dialect) => ({
      id: groupOf(dialect),
      group: groupOf(dialect),
      base_url: STYLES[dialect] === 'responses' ? `${address}/v1` : address,
      api_key: 'sk-upstream-replay',
      features: FEATURES[dialect],
    })),
    models: [{ id: '*', groups: DIALECTS.map(groupOf), free: true }],
    users: [{ id: 'replay', balance: '100' }],
    keys: DIALECTS.map((dialect) => ({ user: 'replay', group: groupOf(dialect), name: 'replay' })),
  });
  const keyOf = (dialect: Dialect): string => made[groupOf(dialect)] ?? '';
  return {
    name,
    url: gateway.url,
    keys: {
      messages: keyOf('messages'),
      chat: keyOf('chat'),
      responses: keyOf('responses'),
      generate: keyOf('generate'),
    },
  };
}
