/** Newest features and agents on every style: what the pages say of each is what a client gets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { AGENTS, outcomeOf, PROBED_PROVIDERS, PROBES, type Probe, SMALLEST } from '../laws/probes.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

const GROUPS = { messages: 'claude', responses: 'openai', generate: 'gemini' } as const;
const PATHS = {
  messages: '/v1/messages',
  responses: '/v1/responses',
  chat: '/v1/chat/completions',
  generate: '/v1beta/models/demo-generate:generateContent',
} as const;

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

async function send({ client, more }: Probe, provider: (typeof PROBED_PROVIDERS)[number]) {
  const response = await fetch(`${gateway.url}${PATHS[client]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[GROUPS[provider]]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...(client !== 'generate' && { model: `demo-${provider}` }), ...SMALLEST[client], ...more }),
  });
  const dropped = response.headers.get('x-gateway-dropped')?.split(',').map(decodeURIComponent) ?? [];
  return {
    status: response.status,
    text: await response.text(),
    dropped: dropped.filter((name) => !/^reply\./.test(name)),
  };
}

for (const probe of [...PROBES, ...AGENTS])
  test(`${'agent' in probe ? probe.agent : probe.client}: ${probe.feature} on every style`, async () => {
    for (const provider of PROBED_PROVIDERS) {
      const outcome = outcomeOf(probe, provider);
      const before = sim.journal.requests.length;
      const { status, text, dropped } = await send(probe, provider);
      const about = `${provider}: ${text.slice(0, 400)}`;
      const sent = sim.journal.requests.length - before;
      if (outcome.kind === 'passes') {
        assert.equal(sent, 1, about);
        assert.deepEqual(dropped, []);
        const body = sim.journal.requests.at(-1)?.body?.toString() ?? '';
        for (const name of Object.keys(probe.more)) assert.ok(body.includes(`"${name}"`), `${name}: ${about}`);
      } else if (outcome.kind === 'served') {
        assert.deepEqual([status, sent], [200, 1], about);
        assert.deepEqual(dropped.toSorted(), outcome.dropped, provider);
      } else {
        assert.deepEqual([status, sent], [outcome.kind === 'refused' ? 400 : 404, 0], about);
        if (outcome.kind === 'refused') assert.ok(text.includes(outcome.param), about);
      }
    }
  });
