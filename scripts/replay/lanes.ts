/**
 * Lanes of a replay: each has a group of every dialect and cloud with one account and one key, and makes one call at a time. A lane whose
 * account failed is replaced by a new one, so that the pool's view of that account does not reach the next call.
 */
import type { Style, UpstreamDialect } from '../../src/rules/index.ts';
import type { TestGateway } from '../../test/support/gateway.ts';
import type { ReplayedCloud } from './recording.ts';
import type { Upstream } from './upstream.ts';

/** The accounts of a lane: one for each dialect of providers, and one for each cloud that serves models by their own API. */
type LaneAccount = UpstreamDialect | ReplayedCloud;

export interface Lane {
  readonly name: string;
  readonly url: string;
  readonly keys: Readonly<Record<LaneAccount, string>>;
}

interface AccountForm {
  readonly style: Style;
  /** Requests may name files and containers of the recorded account. */
  readonly features: readonly string[];
  readonly cloud?: object;
}

const BEDROCK = { kind: 'bedrock', auth: 'api-key' };
const VERTEX = { kind: 'vertex', auth: 'api-key', project: 'replayed-project', location: 'global' };
const ACCOUNTS: Readonly<Record<LaneAccount, AccountForm>> = {
  messages: { style: 'messages', features: ['messages', 'count', 'objects'] },
  chat: { style: 'responses', features: ['chat', 'objects'] },
  responses: { style: 'responses', features: ['responses', 'objects'] },
  generate: { style: 'generate-content', features: ['generate', 'count'] },
  converse: { style: 'messages', features: ['converse'], cloud: BEDROCK },
  bedrock: { style: 'messages', features: ['messages', 'count', 'objects'], cloud: BEDROCK },
  vertex: { style: 'generate-content', features: ['generate', 'count'], cloud: VERTEX },
};

/** Models have the recorded names, so that the rules of their families apply. */
export async function openLane(gateway: TestGateway, upstream: Upstream, name: string): Promise<Lane> {
  const address = upstream.addressOf(name);
  const forms = Object.entries(ACCOUNTS).map(([id, form]) => ({ id, group: `${name}-${id}`, ...form }));
  const made = await gateway.apply({
    groups: forms.map(({ group, style }) => ({ id: group, style })),
    accounts: forms.map(({ group, style, features, cloud }) => ({
      id: group,
      group,
      base_url: style === 'responses' ? `${address}/v1` : address,
      api_key: 'sk-upstream-replay',
      features,
      ...(cloud && { cloud }),
    })),
    models: [{ id: '*', groups: forms.map(({ group }) => group), free: true }],
    users: [{ id: 'replay', balance: '100' }],
    keys: forms.map(({ group }) => ({ user: 'replay', group, name: 'replay' })),
  });
  const keys = Object.fromEntries(forms.map(({ id, group }) => [id, made[group] ?? '']));
  return { name, url: gateway.url, keys: keys as Lane['keys'] };
}
