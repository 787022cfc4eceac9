/** The demo configuration: a group of each style on simulated providers, priced models, one user and a key per group. */
import type { Db } from '../db/index.ts';
import { SetupFile } from './schema.ts';

export const DEMO_USER = 'demo';
export const DEMO_GROUPS = { responses: 'responses', messages: 'messages', generate: 'generate' } as const;

/** Prefix of the demo accounts. An account with it means that the demo is installed. */
const ACCOUNT_PREFIX = 'demo-';

export function demoSetup(providersUrl: string): SetupFile {
  const { responses, messages, generate } = DEMO_GROUPS;
  return SetupFile.parse({
    groups: [
      { id: responses, style: 'responses', name: 'Responses (simulated)' },
      { id: messages, style: 'messages', name: 'Messages (simulated)' },
      { id: generate, style: 'generate-content', name: 'Native (simulated)' },
    ],
    accounts: [
      { id: `${ACCOUNT_PREFIX}responses`, group: responses, base_url: `${providersUrl}/v1`, api_key: 'sk-simulated' },
      { id: `${ACCOUNT_PREFIX}messages`, group: messages, base_url: providersUrl, api_key: 'sk-simulated' },
      { id: `${ACCOUNT_PREFIX}generate`, group: generate, base_url: providersUrl, api_key: 'sk-simulated' },
    ],
    models: [
      {
        id: 'demo-responses',
        groups: [responses],
        prices: { input: '1.25', cached_input: '0.125', output: '10' },
        cost: { input: '1', cached_input: '0.1', output: '8' },
      },
      { id: 'demo-image', groups: [responses], prices: { input: '5', image_input: '10', image_output: '40' } },
      { id: 'demo-embedding', groups: [responses], prices: { input: '0.02' } },
      {
        id: 'demo-messages',
        groups: [messages],
        prices: { input: '3', cached_input: '0.3', cache_write: '3.75', output: '15' },
        cost: { input: '2.4', cached_input: '0.24', cache_write: '3', output: '12' },
      },
      { id: 'demo-generate', groups: [generate], prices: { input: '0.3', cached_input: '0.03', output: '2.5' } },
    ],
    users: [{ id: DEMO_USER, email: 'demo@example.test', balance: '100' }],
    keys: [responses, messages, generate].map((group) => ({ user: DEMO_USER, group, name: 'demo' })),
  });
}

export async function hasDemo(db: Db): Promise<boolean> {
  const rows = await db
    .selectFrom('accounts')
    .select('id')
    .where('id', 'like', `${ACCOUNT_PREFIX}%`)
    .limit(1)
    .execute();
  return rows.length > 0;
}
