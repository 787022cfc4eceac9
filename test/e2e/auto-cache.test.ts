/** Cache breakpoints that the gateway adds for clients whose dialect has none, and keys and clients that decide otherwise. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { groupsSetup } from '../support/conversion-harness.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const accounts = (count: number) => Array.from({ length: count }, () => ({}));
  const groups = [
    { id: 'on', upstream: 'messages' as const, accounts: accounts(1) },
    { id: 'off', upstream: 'messages' as const, accounts: accounts(1) },
    { id: 'many', upstream: 'messages' as const, accounts: accounts(4).map(() => ({ priority: 0 })) },
  ];
  const setup = groupsSetup(groups, sim.url) as { keys: { group: string }[] };
  const switched = setup.keys.map((one) => (one.group === 'off' ? { ...one, auto_cache: false } : one));
  keys = await gateway.apply({ ...setup, keys: switched });
});
beforeEach(() => sim.journal.clear());
after(async () => {
  await gateway.stop();
  await sim.close();
});

const SYSTEM = { role: 'system', content: 'Be brief.' } as const;
const ASKED = { role: 'user', content: 'What is the weather?' } as const;
const TURNS = [ASKED, { role: 'assistant', content: 'Where?' }, { role: 'user', content: 'In Rome.' }] as const;
const TOOL = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } } as const;

/** Paths of the blocks that have a breakpoint, in the request of the provider. */
function markedIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, one]) => markedIn(one, path === '' ? name : `${path}.${name}`));
  return 'cache_control' in value ? [path, ...inside] : inside;
}

async function marks(group: string, body: { messages: readonly object[]; tools?: readonly object[] }) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key(group)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-text', ...body }),
  });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-gateway-dropped'), null);
  return markedIn(JSON.parse(String(sim.journal.requests.at(-1)?.body)));
}

test('tools, system and the two newest turns of a conversation are cached', async () => {
  const conversation = { messages: [SYSTEM, ...TURNS], tools: [TOOL] };
  const all = ['system.0', 'tools.0', 'messages.0.content.0', 'messages.2.content.0'];
  assert.deepEqual(await marks('on', conversation), all);
  assert.deepEqual(
    await marks('on', { messages: [SYSTEM, ASKED] }),
    ['system.0'],
    'a single question is not read again',
  );
});

test('a responses client gets the same', async () => {
  await openai(gateway.url, key('on')).responses.create({
    model: 'demo-text',
    instructions: 'Be brief.',
    input: [...TURNS],
  });
  const body = JSON.parse(String(sim.journal.requests.at(-1)?.body));
  assert.deepEqual(markedIn(body), ['system.0', 'messages.0.content.0', 'messages.2.content.0']);
});

test('a key switches it off, and the marks of a client are left alone', async () => {
  assert.deepEqual(await marks('off', { messages: [SYSTEM, ...TURNS] }), []);
  const marked = {
    role: 'system',
    content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  };
  assert.deepEqual(await marks('on', { messages: [marked, ...TURNS] }), ['system.0']);
});

test('a conversation stays with the account that has its cache, though it has no name', async () => {
  for (let n = 0; n < 6; n += 1) await marks('many', { messages: [SYSTEM, ...TURNS] });
  assert.equal(new Set(sim.journal.requests.map(({ headers }) => headers['x-api-key'])).size, 1);
});
