/**
 * Lanes of a replay: each has a provider of its own, a group of every dialect and cloud with one account and one key,
 * and makes one call at a time. A lane whose account failed is replaced by a new one, so that the pool's view of that
 * account does not reach the next call.
 */
import type { Style, UpstreamDialect } from '../../src/rules/index.ts';
import { type ReceivedRequest, startCanned } from '../../test/support/canned.ts';
import type { TestGateway } from '../../test/support/gateway.ts';
import { isList } from './events.ts';
import { isFramed } from './frames.ts';
import type { ReplayedCloud } from './recording.ts';

/**
 * The accounts of a lane: one for each dialect of providers, and one for each cloud that serves models by their own
 * API.
 */
type LaneAccount = UpstreamDialect | ReplayedCloud;

/** What the provider sends. */
export interface Reply {
  readonly status: number;
  readonly isStream: boolean;
  readonly body: Buffer;
}

export interface Lane {
  readonly url: string;
  readonly keys: Readonly<Record<LaneAccount, string>>;
  /**
   * Sets what the provider sends until the next call of this, and returns the list of requests that it will have got.
   */
  play(script: (received: ReceivedRequest) => Reply): readonly ReceivedRequest[];
  close(): Promise<void>;
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
export async function openLane(gateway: TestGateway, name: string): Promise<Lane> {
  const provider = await startCanned();
  const forms = Object.entries(ACCOUNTS).map(([id, form]) => ({ id, group: `${name}-${id}`, ...form }));
  const made = await gateway.apply({
    groups: forms.map(({ group, style }) => ({ id: group, style })),
    accounts: forms.map(({ group, style, features, cloud }) => ({
      id: group,
      group,
      base_url: style === 'responses' ? `${provider.url}/v1` : provider.url,
      api_key: 'sk-upstream-replay',
      features,
      ...(cloud && { cloud }),
    })),
    models: [{ id: '*', groups: forms.map(({ group }) => group), free: true }],
    users: [{ id: 'replay', balance: '100' }],
    keys: forms.map(({ group }) => ({ user: 'replay', group, name: 'replay' })),
  });
  const keys = Object.fromEntries(forms.map(({ id, group }) => [id, made[group] ?? '']));
  return {
    url: gateway.url,
    keys: keys as Lane['keys'],
    play(script) {
      const received: ReceivedRequest[] = [];
      provider.respondWith((response, request) => {
        received.push(request);
        const { status, isStream, body } = script(request);
        response.writeHead(status, headersOf(isStream && !isList(body), body)).end(body);
      });
      return received;
    },
    close: () => provider.close(),
  };
}

function headersOf(isEvents: boolean, body: Buffer): Record<string, string> {
  if (isFramed(body)) return { 'content-type': 'application/vnd.amazon.eventstream' };
  if (isEvents) return { 'content-type': 'text/event-stream; charset=utf-8' };
  return { 'content-type': 'application/json', 'content-length': String(body.length) };
}
