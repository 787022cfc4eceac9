// set: load; sessions of agents under load
/** Long agent sessions: the provider gets a valid history with every opaque value, and the history only grows at its end. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { mint } from '../../sim/opaque.ts';
import { type Agent, type AgentReply, PIXEL, startAgent, type ToolCall, type ToolResult } from '../support/agent.ts';
import type { ClientDialect } from '../support/conversion-harness.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';

type Json = Record<string, unknown>;
type Upstream = 'messages' | 'chat' | 'responses' | 'generate';

let sim: Sim;
let gateway: TestGateway;
const keys: Record<string, string> = {};
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  Object.assign(keys, await gateway.apply(setupWithChatOnly(sim.url)));
  // No chat feature, so chat requests are converted.
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

// ---------------------------------------------------------------- requests at the provider

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

/** The only request that the provider received since the last call. */
function takeSent(): Sent {
  const { requests } = sim.journal;
  assert.equal(requests.length, 1, 'one request, no retry');
  const [entry] = requests;
  assert.equal(entry?.status, 200);
  const text = entry?.body?.toString() ?? assert.fail('the body was not kept');
  sim.journal.clear();
  const upstream = upstreamOf(entry?.path ?? '');
  return { upstream, history: listOf(JSON.parse(text)[HISTORY[upstream]]), text };
}

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

/** Removes cache breakpoints, the only part of a history that moves. */
const withoutBreakpoints = (json: string): string => json.replaceAll(',"cache_control":{"type":"ephemeral"}', '');

/** Asserts that a history starts with all elements of an earlier one, byte for byte. */
function assertGrown(shorter: string, longer: string): void {
  // Without the closing bracket: a comma and more elements follow.
  if (longer.startsWith(`${shorter.slice(0, -1)},`)) return;
  const elements = (JSON.parse(longer) as unknown[]).map((element) => JSON.stringify(element));
  for (const [n, element] of (JSON.parse(shorter) as unknown[]).entries())
    assert.equal(elements[n], JSON.stringify(element), `element ${n} changed`);
  assert.fail('nothing was added');
}

// ---------------------------------------------------------------- opaque values in the history

const THOUGHT = 'A short simulated answer will do';

/**
 * Every reply was preceded by reasoning, whose opaque value must be at its original position.
 * A chat client can only return the values that led to tool calls.
 */
const CHECK: Readonly<Record<Upstream, (history: readonly Json[], client: ClientDialect) => void>> = {
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
  /** For a chat client native: the gateway adds nothing to these bytes. */
  chat(history, client) {
    for (const { role, tool_calls, reasoning } of history)
      if (client !== 'chat' && role === 'assistant' && tool_calls)
        assert.match(String(reasoning), new RegExp(THOUGHT), 'a call carries the reasoning that led to it');
  },
};

// ---------------------------------------------------------------- the session

interface Step {
  readonly prompt: (n: number) => string;
  /** Names of the tools that each reply calls, until one calls none. */
  readonly calls: readonly (readonly string[])[];
}

const STEPS: readonly Step[] = [
  { prompt: (n) => `Use read_file for "src/lamp-${n}.ts".`, calls: [['read_file']] },
  { prompt: (n) => `Explain, and use edit_file for "src/lamp-${n}.ts".`, calls: [['edit_file']] },
  { prompt: (n) => `Use read_file and run_tests for "lamp-${n}".`, calls: [['read_file', 'run_tests']] },
  {
    prompt: (n) => `Use read_file, then edit_file, then run_tests for "lamp-${n}".`,
    calls: [['read_file'], ['edit_file'], ['run_tests']],
  },
  { prompt: (n) => `Use take_photo for "window-${n}".`, calls: [['take_photo']] },
  { prompt: (n) => `Thank you for number ${n}, which was redacted.`, calls: [] },
];

const RESULTS: Readonly<Record<string, (call: ToolCall) => ToolResult>> = {
  read_file: (call) => ({ call, text: `1\texport const lamp = "on"; // ${JSON.stringify(call.args)}\n2\t\n` }),
  edit_file: (call) => ({ call, text: 'done' }),
  run_tests: (call) => ({ call, text: 'exit code 1: 2 tests failed', isError: true }),
  take_photo: (call) => ({ call, text: 'a picture', image: PIXEL }),
};

/** Repeats the steps until `requests` requests were sent; returns the last history. */
async function work(agent: Agent, client: ClientDialect, requests: number): Promise<string> {
  let sentCount = 0;
  let known: string | undefined;
  const send = async (): Promise<AgentReply> => {
    const reply = await agent.send();
    sentCount += 1;
    const sent = takeSent();
    const history = withoutBreakpoints(JSON.stringify(sent.history));
    if (known !== undefined) assertGrown(known, history);
    known = history;
    // A full check of every tenth history is enough: assertGrown covers the requests in between.
    if (sentCount % 10 === 0 || sentCount === requests) {
      CHECK[sent.upstream](sent.history, client);
      assert.doesNotMatch(sent.text, /gw1\.|skip_thought_signature_validator/);
    }
    return reply;
  };
  for (let n = 0; sentCount < requests; n += 1) {
    const step = STEPS[n % STEPS.length] ?? assert.fail();
    agent.addUserMessage(step.prompt(n));
    for (const names of step.calls) {
      const { calls } = await send();
      assert.deepEqual(
        calls.map(({ name }) => name),
        names,
      );
      agent.addToolResults(calls.map((call) => RESULTS[call.name]?.(call) ?? assert.fail(call.name)));
    }
    const { calls, text } = await send();
    assert.equal(calls.length, 0);
    assert.match(text, /simulated/);
  }
  return known ?? '';
}

const GROUPS: Readonly<Record<ClientDialect, readonly string[]>> = {
  messages: ['openai', 'chat-only', 'claude', 'gemini'],
  chat: ['openai', 'plain', 'claude', 'gemini'],
  responses: ['openai', 'chat-only', 'claude', 'gemini'],
};
/** The conversion of each client dialect that runs five times as long. The cost grows with the square of the length. */
const LONG: Readonly<Record<ClientDialect, string>> = { messages: 'openai', chat: 'claude', responses: 'gemini' };

for (const client of ['messages', 'chat', 'responses'] as const) {
  describe(`${client} agent`, () => {
    for (const group of GROUPS[client]) {
      const requests = LONG[client] === group ? 150 : 30;
      test(`${client} agent completes ${requests} requests on the ${group} group`, async () => {
        sim.journal.clear();
        const model = group === 'chat-only' ? 'demo-agent@server=vllm' : 'demo-agent@strict';
        const options = { url: gateway.url, key: key(group), model };
        const agent = startAgent(client, { ...options, stream: requests > 30 ? 7 : 2 });
        const history = await work(agent, client, requests);
        assert.ok(history.includes(PIXEL), 'the image reached the provider');
        assert.match(history, /exit code 1/);
      });
    }
  });
}

/** Sends each request to the next group in turn; returns the last request that each group received. */
async function wander(agent: Agent, groups: readonly string[], steps: number): Promise<Map<string, Sent>> {
  const known = new Map<string, Sent>();
  let sentCount = 0;
  const send = async (): Promise<AgentReply> => {
    const group = groups[sentCount % groups.length] ?? assert.fail();
    agent.key = key(group);
    const reply = await agent.send();
    sentCount += 1;
    const sent = takeSent();
    const before = known.get(group);
    if (before && sent.upstream !== 'chat')
      assertGrown(withoutBreakpoints(JSON.stringify(before.history)), withoutBreakpoints(JSON.stringify(sent.history)));
    assert.doesNotMatch(sent.text, /gw1\./, 'no envelope reaches a provider');
    known.set(group, sent);
    return reply;
  };
  for (let n = 0; n < steps; n += 1) {
    const step = STEPS[n % STEPS.length] ?? assert.fail();
    agent.addUserMessage(step.prompt(n));
    for (const names of step.calls) {
      const { calls } = await send();
      assert.deepEqual(
        calls.map(({ name }) => name),
        names,
      );
      agent.addToolResults(calls.map((call) => RESULTS[call.name]?.(call) ?? assert.fail(call.name)));
    }
    assert.equal((await send()).calls.length, 0);
  }
  return known;
}

/** Reasoning items that a provider issued itself. */
const OWN_THOUGHTS: Readonly<Record<Upstream, RegExp>> = {
  messages: /"type":"(?:redacted_)?thinking"/g,
  responses: /"type":"reasoning"/g,
  generate: /"thoughtSignature":"(?!skip_)/g,
  chat: /never/g,
};

for (const client of ['messages', 'chat', 'responses'] as const) {
  test(`${client} agent keeps each provider's reasoning when it changes the group with every request`, async () => {
    sim.journal.clear();
    const groups = GROUPS[client].filter(
      (group) => group !== 'chat-only' && !(client === 'chat' && group === 'openai'),
    );
    const agent = startAgent(client, { url: gateway.url, key: '', model: 'demo-agent@strict', stream: 2 });
    const known = await wander(agent, groups, 3 * STEPS.length);
    for (const [group, { upstream, text }] of known) {
      const thoughts = text.match(OWN_THOUGHTS[upstream])?.length ?? 0;
      assert.ok(thoughts >= 3, `${group} got ${thoughts} of its reasoning items back`);
      assert.ok(text.includes(PIXEL), 'the image reached the provider');
      assert.match(text, /exit code 1/);
    }
  });
}
