/** Long sessions of agents: the upstream gets a valid history with every opaque value in it, and never a changed beginning. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { mint } from '../../sim/opaque.ts';
import { type Agent, type Answered, PIXEL, startAgent, type ToolCall, type ToolResult } from '../support/agent.ts';
import type { Spoken } from '../support/conversion-harness.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

type Json = Record<string, unknown>;
type Upstream = 'messages' | 'chat' | 'responses' | 'generate';

let sim: Sim;
let gateway: TestGateway;
const keys: Record<string, string> = {};
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  Object.assign(keys, await gateway.apply(basicSetup(sim.url)));
  // Responses only: chat has to be converted.
  const plain = { id: 'plain-1', group: 'plain', base_url: `${sim.url}/v1`, api_key: 'sk-x', features: ['responses'] };
  await gateway.apply({
    groups: [{ id: 'plain', style: 'responses' }],
    accounts: [plain],
    models: [{ id: 'demo-*', groups: ['plain'] }],
  });
  Object.assign(keys, await gateway.apply({ keys: [{ user: 'ana', group: 'plain' }] }));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

// ---------------------------------------------------------------- what was sent

interface Sent {
  readonly upstream: Upstream;
  readonly history: readonly Json[];
  readonly text: string;
}

const HISTORY: Readonly<Record<Upstream, string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};

const upstreamOf = (path: string): Upstream => {
  if (path.endsWith('/messages')) return 'messages';
  if (path.endsWith('/chat/completions')) return 'chat';
  return path.endsWith('/responses') ? 'responses' : 'generate';
};

/** The one request that the upstream got since the last look. */
function takeSent(): Sent {
  const { requests } = sim.journal;
  assert.equal(requests.length, 1, 'one request, no second try');
  const [entry] = requests;
  assert.equal(entry?.status, 200);
  const text = entry?.body?.toString() ?? assert.fail('the body was not kept');
  sim.journal.clear();
  const upstream = upstreamOf(entry?.path ?? '');
  return { upstream, history: listOf(JSON.parse(text)[HISTORY[upstream]]), text };
}

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

/** The only part that moves by design: where the prompt cache should end. */
const unmarked = (json: string): string => json.replaceAll(',"cache_control":{"type":"ephemeral"}', '');

/** A longer history begins with all elements of a shorter one, byte by byte. */
function assertGrown(shorter: string, longer: string): void {
  // Without the bracket that ends it: what follows is a comma and more elements.
  if (longer.startsWith(`${shorter.slice(0, -1)},`)) return;
  const elements = (JSON.parse(longer) as unknown[]).map((element) => JSON.stringify(element));
  for (const [n, element] of (JSON.parse(shorter) as unknown[]).entries())
    assert.equal(elements[n], JSON.stringify(element), `element ${n} changed`);
  assert.fail('nothing was added');
}

// ---------------------------------------------------------------- what must be in it

const THOUGHT = 'A short simulated answer will do';

/** Every answer was thought about; what the provider signed must stand where it stood. A chat client can only keep what led to calls. */
const CHECK: Readonly<Record<Upstream, (history: readonly Json[], client: Spoken) => void>> = {
  messages(history, client) {
    for (const { role, content } of history) {
      if (role !== 'assistant') continue;
      const [first, ...rest] = listOf(content);
      const isCalling = rest.some((block) => block.type === 'tool_use');
      if (client !== 'chat' || isCalling)
        assert.match(String(first?.type), /^(redacted_)?thinking$/, JSON.stringify(content));
      assert.doesNotMatch(JSON.stringify(rest), new RegExp(THOUGHT));
    }
  },
  responses(history, client) {
    let isFresh = true;
    for (const [n, item] of history.entries()) {
      const isOwn = item.type === 'function_call' || item.role === 'assistant';
      if (isOwn && isFresh) {
        const own = history.slice(n).findIndex(({ type, role }) => type === 'function_call_output' || role === 'user');
        const isCalling = history.slice(n, own < 0 ? undefined : n + own).some(({ type }) => type === 'function_call');
        if (client !== 'chat' || isCalling) assert.equal(history[n - 1]?.type, 'reasoning', JSON.stringify(item));
        isFresh = false;
      }
      if (item.role === 'user' || item.type === 'function_call_output') isFresh = true;
      if (item.type !== 'reasoning') assert.doesNotMatch(JSON.stringify(item), new RegExp(THOUGHT));
      else assert.equal(item.encrypted_content, mint('reasoning', String(item.id)));
    }
  },
  generate(history, client) {
    for (const { role, parts } of history) {
      if (role !== 'model') continue;
      const calls = listOf(parts).filter((part) => part.functionCall);
      const texts = listOf(parts).filter((part) => typeof part.text === 'string');
      const [call] = calls.map(({ functionCall }) => functionCall as { name: string; args: unknown });
      if (call) assert.equal(calls[0]?.thoughtSignature, mint('thought', call.name + JSON.stringify(call.args)));
      for (const other of calls.slice(1)) assert.equal(other.thoughtSignature, undefined);
      if (!call && client !== 'chat') assert.equal(texts[0]?.thoughtSignature, mint('thought', String(texts[0]?.text)));
      assert.doesNotMatch(JSON.stringify(parts), new RegExp(THOUGHT));
    }
  },
  /** Nothing is carried there, and bytes pass as they came. */
  chat: () => {},
};

// ---------------------------------------------------------------- the session

interface Step {
  readonly say: (n: number) => string;
  /** Names of the tools that each answer calls, up to the one that calls none. */
  readonly calls: readonly (readonly string[])[];
}

const STEPS: readonly Step[] = [
  { say: (n) => `Use read_file for "src/lamp-${n}.ts".`, calls: [['read_file']] },
  { say: (n) => `Explain, and use edit_file for "src/lamp-${n}.ts".`, calls: [['edit_file']] },
  { say: (n) => `Use read_file and run_tests for "lamp-${n}".`, calls: [['read_file', 'run_tests']] },
  {
    say: (n) => `Use read_file, then edit_file, then run_tests for "lamp-${n}".`,
    calls: [['read_file'], ['edit_file'], ['run_tests']],
  },
  { say: (n) => `Use take_photo for "window-${n}".`, calls: [['take_photo']] },
  { say: (n) => `Thank you for number ${n}, which was redacted.`, calls: [] },
];

const RESULTS: Readonly<Record<string, (call: ToolCall) => ToolResult>> = {
  read_file: (call) => ({ call, text: `1\texport const lamp = "on"; // ${JSON.stringify(call.args)}\n2\t\n` }),
  edit_file: (call) => ({ call, text: 'done' }),
  run_tests: (call) => ({ call, text: 'exit code 1: 2 tests failed', isError: true }),
  take_photo: (call) => ({ call, text: 'a picture', image: PIXEL }),
};

/** Works through the steps until so many requests were sent; answers the last history. */
async function work(agent: Agent, client: Spoken, requests: number): Promise<string> {
  let asked = 0;
  let known: string | undefined;
  const ask = async (): Promise<Answered> => {
    const answer = await agent.ask();
    asked += 1;
    const sent = takeSent();
    const history = unmarked(JSON.stringify(sent.history));
    if (known !== undefined) assertGrown(known, history);
    known = history;
    // All of it is looked at now and then; the beginning cannot have changed in between.
    if (asked % 10 === 0 || asked === requests) {
      CHECK[sent.upstream](sent.history, client);
      assert.doesNotMatch(sent.text, /gw1\.|skip_thought_signature_validator/);
    }
    return answer;
  };
  for (let n = 0; asked < requests; n += 1) {
    const step = STEPS[n % STEPS.length] ?? assert.fail();
    agent.say(step.say(n));
    for (const names of step.calls) {
      const { calls } = await ask();
      assert.deepEqual(
        calls.map(({ name }) => name),
        names,
      );
      agent.give(calls.map((call) => RESULTS[call.name]?.(call) ?? assert.fail(call.name)));
    }
    const { calls, text } = await ask();
    assert.equal(calls.length, 0);
    assert.match(text, /simulated/);
  }
  return known ?? '';
}

const GROUPS: Readonly<Record<Spoken, readonly string[]>> = {
  messages: ['openai', 'claude', 'gemini'],
  chat: ['openai', 'plain', 'claude', 'gemini'],
  responses: ['openai', 'claude', 'gemini'],
};
/** One conversion of each dialect is followed for much longer. */
const LONG: Readonly<Record<Spoken, string>> = { messages: 'openai', chat: 'claude', responses: 'gemini' };

for (const client of ['messages', 'chat', 'responses'] as const) {
  describe(`an agent that speaks ${client}`, () => {
    for (const group of GROUPS[client]) {
      const requests = LONG[client] === group ? 300 : 30;
      test(`[N9] works through ${requests} requests on the ${group} group`, async () => {
        sim.journal.clear();
        const options = { url: gateway.url, key: key(group), model: 'demo-agent@strict' };
        const agent = startAgent(client, { ...options, stream: requests > 30 ? 7 : 2 });
        const history = await work(agent, client, requests);
        assert.ok(history.includes(PIXEL), 'the picture arrived');
        assert.match(history, /exit code 1/);
      });
    }
  });
}

/** Sends every request to another group than the last; answers what each of them got in the end. */
async function wander(agent: Agent, groups: readonly string[], steps: number): Promise<Map<string, Sent>> {
  const known = new Map<string, Sent>();
  let asked = 0;
  const ask = async (): Promise<Answered> => {
    const group = groups[asked % groups.length] ?? assert.fail();
    agent.key = key(group);
    const answer = await agent.ask();
    asked += 1;
    const sent = takeSent();
    const before = known.get(group);
    if (before && sent.upstream !== 'chat')
      assertGrown(unmarked(JSON.stringify(before.history)), unmarked(JSON.stringify(sent.history)));
    assert.doesNotMatch(sent.text, /gw1\./, 'no provider sees what is not its own');
    known.set(group, sent);
    return answer;
  };
  for (let n = 0; n < steps; n += 1) {
    const step = STEPS[n % STEPS.length] ?? assert.fail();
    agent.say(step.say(n));
    for (const names of step.calls) {
      const { calls } = await ask();
      assert.deepEqual(
        calls.map(({ name }) => name),
        names,
      );
      agent.give(calls.map((call) => RESULTS[call.name]?.(call) ?? assert.fail(call.name)));
    }
    assert.equal((await ask()).calls.length, 0);
  }
  return known;
}

/** How many thoughts of its own a provider finds in the history. */
const OWN_THOUGHTS: Readonly<Record<Upstream, RegExp>> = {
  messages: /"type":"(?:redacted_)?thinking"/g,
  responses: /"type":"reasoning"/g,
  generate: /"thoughtSignature":"(?!skip_)/g,
  chat: /never/g,
};

for (const client of ['messages', 'chat', 'responses'] as const) {
  test(`[L7] an agent that speaks ${client} changes its group with every request, also between a call and its result`, async () => {
    sim.journal.clear();
    const groups = GROUPS[client].filter((group) => !(client === 'chat' && group === 'openai'));
    const agent = startAgent(client, { url: gateway.url, key: '', model: 'demo-agent@strict', stream: 2 });
    const known = await wander(agent, groups, 3 * STEPS.length);
    for (const [group, { upstream, text }] of known) {
      const thoughts = text.match(OWN_THOUGHTS[upstream])?.length ?? 0;
      assert.ok(thoughts >= 3, `${group} got ${thoughts} of its own thoughts back`);
      assert.ok(text.includes(PIXEL), 'the picture arrived');
      assert.match(text, /exit code 1/);
    }
  });
}
