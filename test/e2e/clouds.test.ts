/** Accounts at clouds: every dialect works on a key whose only account is there, with each way to sign in. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { AZURE, BEDROCK, GUARDRAIL, type Sim, serviceAccountKey, startSim, VERTEX } from '../../sim/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { certificateFor } from '../support/certificate.ts';
import { runHere } from '../support/cli.ts';
import { testDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

import { until } from '../support/wait.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-clouds-'));
const certificate = certificateFor('gateway.example', 1, 'rsa');
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

interface CloudGroup {
  readonly style: string;
  readonly cloud: object;
  readonly secret?: string;
  readonly models?: object;
  readonly features?: readonly string[];
}

const ENTRA = { kind: 'azure-openai', tenant: AZURE.tenant, client_id: AZURE.app.id };

const AWS = { kind: 'bedrock', region: BEDROCK.region };
const PROJECT = { kind: 'vertex', project: VERTEX.project, location: 'europe-west1' };

const groupsOf = (url: string): Record<string, CloudGroup> => ({
  'azure-v1': { style: 'responses', cloud: { kind: 'azure-openai', auth: 'api-key' }, secret: AZURE.key },
  'azure-deployments': {
    style: 'responses',
    cloud: { ...ENTRA, auth: 'client-secret', authority: url, api: 'deployments', api_version: '2025-04-01-preview' },
    secret: AZURE.app.secret,
    models: { 'demo-deployed': 'demo-deployment-1' },
  },
  'azure-certificate': {
    style: 'responses',
    cloud: { ...ENTRA, auth: 'client-certificate', authority: url },
    secret: certificate.cert + certificate.key,
  },
  'azure-workload': { style: 'responses', cloud: { ...ENTRA, auth: 'workload-identity', authority: url } },
  'azure-managed': {
    style: 'responses',
    cloud: { kind: 'azure-openai', auth: 'managed-identity', metadata_url: url, client_id: AZURE.managedId },
  },
  'vertex-gemini': {
    style: 'generate-content',
    cloud: { ...PROJECT, auth: 'service-account' },
    secret: serviceAccountKey(url),
  },
  'vertex-claude': {
    style: 'messages',
    cloud: { ...PROJECT, auth: 'service-account', location: 'us' },
    secret: serviceAccountKey(url),
  },
  'vertex-express': { style: 'generate-content', cloud: { kind: 'vertex', auth: 'api-key' }, secret: VERTEX.apiKey },
  'vertex-metadata': { style: 'generate-content', cloud: { ...PROJECT, auth: 'metadata', metadata_url: url } },
  'vertex-federated': {
    style: 'messages',
    cloud: {
      ...PROJECT,
      auth: 'workload-identity',
      audience: VERTEX.audience,
      service_account: VERTEX.email,
      token_url: url,
    },
  },
  'bedrock-keys': {
    style: 'messages',
    cloud: { ...AWS, auth: 'access-key' },
    secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
    models: { 'demo-profile': 'eu.anthropic.demo-v1:0' },
  },
  'bedrock-role': {
    style: 'messages',
    cloud: { ...AWS, auth: 'access-key', role_arn: BEDROCK.role, token_url: `${url}/aws-sts` },
    secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
  },
  'bedrock-api-key': { style: 'messages', cloud: { kind: 'bedrock', auth: 'api-key' }, secret: BEDROCK.apiKey },
  'bedrock-irsa': {
    style: 'messages',
    cloud: { ...AWS, auth: 'web-identity', role_arn: BEDROCK.role, token_url: `${url}/aws-sts` },
  },
  'bedrock-container': { style: 'messages', cloud: { ...AWS, auth: 'container' } },
  'bedrock-instance': { style: 'messages', cloud: { ...AWS, auth: 'instance', metadata_url: url } },
  converse: {
    style: 'messages',
    features: ['converse'],
    cloud: { ...AWS, auth: 'access-key' },
    secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
    models: { 'demo-nova': 'eu.amazon.nova-2-lite-v1:0', 'demo-oss': 'openai.gpt-oss-120b-1:0' },
  },
  'converse-responses': {
    style: 'responses',
    cloud: { ...AWS, auth: 'access-key' },
    secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
  },
  'converse-google': { style: 'generate-content', cloud: { kind: 'bedrock', auth: 'api-key' }, secret: BEDROCK.apiKey },
  'converse-guarded': {
    style: 'messages',
    features: ['converse', 'messages'],
    cloud: { kind: 'bedrock', auth: 'api-key', guardrail: GUARDRAIL.id, guardrail_version: GUARDRAIL.version },
    secret: BEDROCK.apiKey,
  },
  guarded: {
    style: 'messages',
    features: ['converse'],
    cloud: { kind: 'bedrock', auth: 'api-key', guardrail: GUARDRAIL.id, guardrail_trace: 'enabled' },
    secret: BEDROCK.apiKey,
  },
});

before(async () => {
  sim = await startSim();
  sim.clouds.certificates.set(AZURE.app.id, certificate.cert);
  const tokenFile = join(folder, 'azure-token');
  writeFileSync(tokenFile, `${AZURE.federatedToken}\n`);
  const googleFile = join(folder, 'google-token');
  writeFileSync(googleFile, VERTEX.federatedToken);
  const awsFile = join(folder, 'aws-token');
  writeFileSync(awsFile, BEDROCK.webToken);
  gateway = await startGateway({
    env: {
      ADMIN_TOKEN,
      AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      GOOGLE_FEDERATED_TOKEN_FILE: googleFile,
      AWS_WEB_IDENTITY_TOKEN_FILE: awsFile,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${sim.url}/aws-container/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: BEDROCK.containerToken,
    },
  });
  const groups = Object.entries(groupsOf(sim.url));
  keys = await gateway.apply({
    groups: groups.map(([id, { style }]) => ({ id, style })),
    accounts: groups.map(([id, { cloud, secret, models, features }]) => ({
      id: `${id}-1`,
      group: id,
      base_url: sim.url,
      cloud,
      ...(secret && { api_key: secret }),
      ...(models && { models }),
      ...(features && { features }),
    })),
    models: [
      { id: 'demo-gone', groups: ['bedrock-keys', 'converse'], upstream: 'missing-model' },
      { id: 'demo-*', groups: groups.map(([id]) => id) },
    ],
    users: [{ id: 'ana' }],
    keys: groups.map(([group]) => ({ user: 'ana', group })),
  });
});
beforeEach(() => sim.journal.clear());
after(async () => {
  await gateway.stop();
  await sim.close();
  rmSync(folder, { recursive: true, force: true });
});

const paths = (): string[] => sim.journal.requests.map(({ path, query }) => (query ? `${path}?${query}` : path));
const PROMPT = 'hello there';
const TOOL_PROMPT = 'What is the weather in "Paris"? Use the tool get_weather.';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };

/** Unary, stream, tools and usage with the official SDKs. Generate-content callers need a group of their style. */
async function provesAllDialects(group: string, model: string, { isGoogle = false } = {}): Promise<void> {
  const [gpt, claude] = [openai(gateway.url, key(group)), anthropic(gateway.url, key(group))];
  const response = await gpt.responses.create({ model, input: PROMPT });
  assert.match(response.output_text, /simulated answer/);
  assert.ok((response.usage?.input_tokens ?? 0) > 0);

  let text = '';
  let usage: number | undefined;
  const chunks = await gpt.chat.completions.create({
    model,
    messages: [{ role: 'user', content: PROMPT }],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of chunks) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage?.completion_tokens ?? usage;
  }
  assert.match(text, /simulated answer/);
  assert.ok(usage);

  const tools = [{ name: 'get_weather', description: 'Weather', input_schema: SCHEMA }];
  const messages = [{ role: 'user' as const, content: TOOL_PROMPT }];
  const message = await claude.messages.create({ model, max_tokens: 200, messages, tools });
  const call = message.content.find((block) => block.type === 'tool_use');
  assert.deepEqual(call?.input, { city: 'Paris' });
  assert.ok(message.usage.input_tokens > 0);
  const streamed = await claude.messages.stream({ model, max_tokens: 200, messages, tools }).finalMessage();
  assert.deepEqual(streamed.content.find((block) => block.type === 'tool_use')?.input, { city: 'Paris' });
  assert.equal(streamed.stop_reason, 'tool_use');

  if (!isGoogle) return;
  const gemini = google(gateway.url, key(group));
  const generated = await gemini.models.generateContent({ model, contents: PROMPT });
  assert.match(generated.text ?? '', /simulated answer/);
  assert.ok(generated.usageMetadata?.promptTokenCount);
}

const post = (group: string, path: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key(group)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('Azure OpenAI', () => {
  test('the v1 API serves all dialects with the key of the resource', async () => {
    await provesAllDialects('azure-v1', 'demo-x');
    const used = sim.journal.requests.map(({ path }) => path);
    assert.deepEqual(new Set(used), new Set(['/openai/v1/responses', '/openai/v1/chat/completions']));
    assert.ok(sim.journal.requests.every(({ headers }) => headers.authorization === undefined));
  });

  test('deployments are named in the path, with the version, and the body stays as it is', async () => {
    await provesAllDialects('azure-deployments', 'demo-x');
    sim.journal.clear();
    const body = { model: 'demo-deployed', messages: [{ role: 'user', content: PROMPT }], x: 1e3 };
    assert.equal((await post('azure-deployments', '/v1/chat/completions', body)).status, 200);
    assert.deepEqual(paths(), [
      '/openai/deployments/demo-deployment-1/chat/completions?api-version=2025-04-01-preview',
    ]);
    assert.equal(sim.journal.requests[0]?.body?.toString(), JSON.stringify({ ...body, model: 'demo-deployment-1' }));
    const own = await fetch(`${gateway.url}/v1/chat/completions?api-version=2020-01-01`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key('azure-v1')}`, 'api-key': 'mine', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(own.status, 200, 'the key and the version are those of the account');
    assert.equal(sim.journal.requests[1]?.query, '');
    sim.journal.clear();
    const embedded = await post('azure-deployments', '/v1/embeddings', { model: 'demo-embedding', input: 'a' });
    assert.equal(embedded.status, 200, await embedded.text());
    assert.match(paths()[0] ?? '', /^\/openai\/deployments\/demo-embedding\/embeddings\?api-version=/);
  });

  for (const group of ['azure-certificate', 'azure-workload', 'azure-managed'])
    test(`${group} signs in once for many calls`, async () => {
      const before = sim.clouds.tokenCalls.length;
      const sent = Array.from({ length: 5 }, () => post(group, '/v1/responses', { model: 'demo-x', input: PROMPT }));
      assert.deepEqual(
        (await Promise.all(sent)).map(({ status }) => status),
        [200, 200, 200, 200, 200],
      );
      assert.equal(sim.clouds.tokenCalls.length - before, 1);
    });

  test('a filtered prompt is a policy error of the caller in each dialect, and costs no account its health', async () => {
    const filtered = 'please filter this';
    for (const [path, body, code] of [
      ['/v1/responses', { input: filtered }, 'content_filter'],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: filtered }] }, 'content_filter'],
      ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: filtered }] }, 'content_policy_violation'],
    ] as const) {
      const response = await post('azure-v1', path, { model: 'demo-x', ...body });
      assert.equal(response.status, 400);
      const { error } = (await response.json()) as { error: { code?: string; type: string; message: string } };
      assert.equal(error.code ?? error.type, code);
      assert.match(error.message, /filtered/);
    }
    assert.equal((await post('azure-v1', '/v1/responses', { model: 'demo-x', input: PROMPT })).status, 200);
  });
});

describe('Vertex AI', () => {
  const model = (name: string, publisher = 'google', location = 'europe-west1'): string =>
    `/v1/projects/${VERTEX.project}/locations/${location}/publishers/${publisher}/models/${name}`;

  test("Google's models serve all dialects with the key of a service account", async () => {
    await provesAllDialects('vertex-gemini', 'demo-x', { isGoogle: true });
    const used = new Set(sim.journal.requests.map(({ path }) => path));
    assert.deepEqual(used, new Set([`${model('demo-x')}:generateContent`, `${model('demo-x')}:streamGenerateContent`]));
  });

  test("Anthropic's models serve all dialects, with the model in the path and the version in the body", async () => {
    await provesAllDialects('vertex-claude', 'demo-x');
    const used = new Set(sim.journal.requests.map(({ path }) => path));
    const at = model('demo-x', 'anthropic', 'us');
    assert.deepEqual(used, new Set([`${at}:rawPredict`, `${at}:streamRawPredict`]));
    sim.journal.clear();
    const body = {
      model: 'demo-x',
      max_tokens: 30,
      messages: [{ role: 'user', content: PROMPT }],
      metadata: { user_id: 'é' },
    };
    assert.equal((await post('vertex-claude', '/v1/messages', body)).status, 200);
    const { model: _model, ...rest } = body;
    const expected = `{"anthropic_version":"vertex-2023-10-16",${JSON.stringify(rest).slice(1)}`;
    assert.equal(sim.journal.requests[0]?.body?.toString(), expected);
  });

  test('tokens are counted by the cloud, natively and converted', async () => {
    const messages = { messages: [{ role: 'user', content: PROMPT }] };
    for (const [group, path, body] of [
      ['vertex-claude', '/v1/messages/count_tokens', { model: 'demo-x', ...messages }],
      ['vertex-claude', '/v1/responses/input_tokens', { model: 'demo-x', input: PROMPT }],
      [
        'vertex-gemini',
        '/v1beta/models/demo-x:countTokens',
        { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
      ],
      ['vertex-gemini', '/v1/messages/count_tokens', { model: 'demo-x', ...messages }],
    ] as const) {
      const response = await post(group, path, body);
      assert.equal(response.status, 200, await response.clone().text());
      assert.equal(response.headers.get('x-gateway-token-count'), null, `${group} ${path}`);
    }
    assert.deepEqual(
      sim.journal.requests.map(({ path }) => path),
      [
        ...Array(2).fill(`${model('count-tokens', 'anthropic', 'us')}:rawPredict`),
        ...Array(2).fill(`${model('demo-x')}:countTokens`),
      ],
    );
  });

  test('embeddings use predictions, in the form of the Gemini API', async () => {
    const client = google(gateway.url, key('vertex-gemini'));
    const many = await client.models.embedContent({
      model: 'demo-embedding',
      contents: ['one', 'two'],
      config: { outputDimensionality: 8 },
    });
    assert.deepEqual(
      many.embeddings?.map(({ values }) => values?.length),
      [8, 8],
    );
    assert.equal(sim.journal.requests.at(-1)?.path, `${model('demo-embedding')}:predict`);
    const one = await post('vertex-gemini', '/v1beta/models/demo-embedding:embedContent', {
      content: { parts: [{ text: 'one' }] },
    });
    assert.ok(((await one.json()) as { embedding: { values: number[] } }).embedding.values.length > 8);
  });

  for (const group of ['vertex-express', 'vertex-metadata', 'vertex-federated'])
    test(`${group} signs in`, async () => {
      const before = sim.clouds.tokenCalls.length;
      const body = { model: 'demo-x', max_tokens: 30, messages: [{ role: 'user', content: PROMPT }] };
      for (let n = 0; n < 3; n += 1) {
        const response = await post(group, '/v1/messages', body);
        assert.equal(response.status, 200, await response.clone().text());
      }
      const tokens = { 'vertex-express': 0, 'vertex-metadata': 1, 'vertex-federated': 2 }[group];
      assert.equal(sim.clouds.tokenCalls.length - before, tokens);
    });

  test('a rate limit of the cloud is one of the model, not the end of the money', async () => {
    const limited = await post('vertex-claude', '/v1/messages', {
      model: 'demo-busy@status=429',
      max_tokens: 9,
      messages: [{ role: 'user', content: PROMPT }],
    });
    assert.equal(limited.status, 429);
    assert.equal(((await limited.json()) as { error: { type: string } }).error.type, 'rate_limit_error');
    const others = { model: 'demo-x', max_tokens: 9, messages: [{ role: 'user', content: PROMPT }] };
    assert.equal((await post('vertex-claude', '/v1/messages', others)).status, 200);
  });
});

/** Thoughts, their signatures on the way back, and pictures, with the dialect of the provider itself. */
async function provesThinkingAndPictures(group: string): Promise<void> {
  const claude = anthropic(gateway.url, key(group));
  const picture = { type: 'base64' as const, media_type: 'image/png' as const, data: PNG };
  const asked = {
    role: 'user' as const,
    content: [
      { type: 'image' as const, source: picture },
      { type: 'text' as const, text: PROMPT },
    ],
  };
  const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
  // `strict`: the provider checks the signatures.
  const ask = { model: 'demo-x@strict', max_tokens: 2_000, thinking };
  const first = await claude.messages.stream({ ...ask, messages: [asked] }).finalMessage();
  assert.ok(first.content.some((block) => block.type === 'thinking' && block.signature !== ''));
  const again = { role: 'user' as const, content: 'and now?' };
  const messages = [asked, { role: 'assistant' as const, content: first.content }, again];
  const second = await claude.messages.create({ ...ask, messages });
  assert.ok(second.content.some((block) => block.type === 'text'));
}

describe('Amazon Bedrock', () => {
  const MESSAGES = { max_tokens: 60, messages: [{ role: 'user' as const, content: PROMPT }] };

  test("Anthropic's models serve all dialects with an access key", async () => {
    await provesAllDialects('bedrock-keys', 'demo-x');
    const used = new Set(sim.journal.requests.map(({ path }) => path));
    assert.deepEqual(used, new Set(['/model/demo-x/invoke', '/model/demo-x/invoke-with-response-stream']));
  });

  test('the version and the betas are in the body, and an inference profile in the path', async () => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': key('bedrock-keys'),
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        // Only the account may set headers of AWS.
        'x-amz-security-token': 'of the caller',
        'x-amzn-bedrock-guardrailidentifier': 'of the caller',
        // Bedrock would refuse the first one, and has another name for the last.
        'anthropic-beta': 'claude-code-20250219,context-1m-2025-08-07, advanced-tool-use-2025-11-20',
      },
      body: JSON.stringify({ model: 'demo-profile', ...MESSAGES, temperature: 1.0 }),
    });
    assert.equal(response.status, 200, await response.clone().text());
    const [sent] = sim.journal.requests;
    assert.equal(sent?.path, '/model/eu.anthropic.demo-v1%3A0/invoke');
    for (const name of ['anthropic-beta', 'x-amz-security-token', 'x-amzn-bedrock-guardrailidentifier'])
      assert.equal(sent?.headers[name], undefined);
    const first = '"anthropic_beta":["context-1m-2025-08-07","tool-search-tool-2025-10-19"]';
    const rest = JSON.stringify({ ...MESSAGES, temperature: 1.0 }).slice(1);
    assert.equal(sent?.body?.toString(), `{"anthropic_version":"bedrock-2023-05-31",${first},${rest}`);
  });

  test('a beta that a model refuses is left out from then on, and named', async () => {
    const ask = async (betas: string): Promise<[string | null, unknown]> => {
      sim.journal.clear();
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: {
          'x-api-key': key('bedrock-keys'),
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          'anthropic-beta': betas,
        },
        body: JSON.stringify({ model: 'demo-haiku', ...MESSAGES }),
      });
      assert.equal(response.status, 200, await response.text());
      const sent = sim.journal.requests.map(({ body }) => JSON.parse(String(body)).anthropic_beta ?? []);
      return [response.headers.get('x-gateway-dropped'), sent];
    };
    const [effort, long] = ['effort-2025-11-24', 'context-1m-2025-08-07'];
    assert.deepEqual(await ask(effort), [null, [[effort]]]);
    assert.deepEqual(await ask(`${effort},${long}`), ['anthropic-beta', [[effort, long], [effort]]]);
    assert.deepEqual(await ask(`${long},${effort}`), ['anthropic-beta', [[effort]]], 'without a refused attempt');
  });

  test('a stream has the bytes of its events, and usage with cache counts', async () => {
    const response = await post('bedrock-keys', '/v1/messages', { model: 'demo-x', stream: true, ...MESSAGES });
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const text = await response.text();
    assert.match(text, /^event: message_start\ndata: \{"type":"message_start",/);
    assert.match(text, /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/);
    assert.match(text, /"cache_read_input_tokens":\d+/);
  });

  test('an exception inside a stream is its error event', async () => {
    const body = { model: 'demo-late@error_mid', stream: true, ...MESSAGES };
    const text = await (await post('bedrock-keys', '/v1/messages', body)).text();
    assert.match(text, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/);
  });

  test('throttling, also as the first frame of a stream, a model without access and an unknown model are told apart', async () => {
    for (const [model, status, type, stream] of [
      ['demo-slow@status=429', 429, 'rate_limit_error', false],
      ['demo-slower@error_first;status=429', 429, 'rate_limit_error', true],
      ['demo-gone', 404, 'not_found_error', false],
    ] as const) {
      const response = await post('bedrock-keys', '/v1/messages', { model, ...MESSAGES, stream });
      const { error } = (await response.json()) as { error: { type: string } };
      assert.deepEqual([response.status, error.type], [status, type]);
    }
    assert.equal((await post('bedrock-keys', '/v1/messages', { model: 'demo-x', ...MESSAGES })).status, 200);
  });

  test('tokens are counted by the cloud', async () => {
    const { max_tokens: _unused, ...counted } = MESSAGES;
    const response = await post('bedrock-keys', '/v1/messages/count_tokens', { model: 'demo-x', ...counted });
    assert.ok(((await response.json()) as { input_tokens: number }).input_tokens > 0);
    assert.equal(response.headers.get('x-gateway-token-count'), null);
    assert.equal(sim.journal.requests[0]?.path, '/model/demo-x/count-tokens');
    const estimated = await post('bedrock-keys', '/v1/messages/count_tokens', { model: 'demo-uncounted', ...counted });
    assert.equal(estimated.status, 200, await estimated.text());
    assert.equal(estimated.headers.get('x-gateway-token-count'), 'estimated');
  });

  for (const [group, calls] of [
    ['bedrock-role', 1],
    ['bedrock-api-key', 0],
    ['bedrock-irsa', 1],
    ['bedrock-container', 1],
    ['bedrock-instance', 3],
  ] as const)
    test(`${group} signs in once for many calls`, async () => {
      const before = sim.clouds.tokenCalls.length;
      const sent = Array.from({ length: 4 }, () => post(group, '/v1/messages', { model: 'demo-x', ...MESSAGES }));
      for (const response of await Promise.all(sent)) assert.equal(response.status, 200, await response.clone().text());
      assert.equal(sim.clouds.tokenCalls.length - before, calls);
    });
});

describe('Converse of Bedrock', () => {
  const ASK = { model: 'demo-x', messages: [{ role: 'user' as const, content: PROMPT }] };
  const sentBody = (n = 0): Record<string, unknown> =>
    JSON.parse(sim.journal.requests[n]?.body?.toString() ?? 'null') as Record<string, unknown>;

  for (const group of ['converse', 'converse-responses', 'converse-google'])
    test(`it serves all dialects in the group ${group}`, async () => {
      await provesAllDialects(group, 'demo-x', { isGoogle: group === 'converse-google' });
      const used = new Set(sim.journal.requests.map(({ path }) => path));
      assert.deepEqual(used, new Set(['/model/demo-x/converse', '/model/demo-x/converse-stream']));
    });

  test('streams of generate-content are events', async () => {
    const gemini = google(gateway.url, key('converse-google'));
    let text = '';
    for await (const chunk of await gemini.models.generateContentStream({ model: 'demo-x', contents: PROMPT }))
      text += chunk.text ?? '';
    assert.match(text, /simulated answer/);
    const contents = [{ role: 'user', parts: [{ text: PROMPT }] }];
    const response = await post('converse-google', '/v1beta/models/demo-x:streamGenerateContent', { contents });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /alt=sse/);
  });

  test('the families of models get their own fields, and what a model lacks is named', async () => {
    const body = { ...ASK, reasoning_effort: 'medium', temperature: 0.5, top_k: 3, seed: 7 };
    const expected = {
      'demo-nova': [{ reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } }, 'seed,top_k'],
      'demo-oss': [{ reasoning_effort: 'medium' }, 'seed,top_k'],
    } as const;
    for (const [model, [fields, dropped]] of Object.entries(expected)) {
      sim.journal.clear();
      const response = await post('converse', '/v1/chat/completions', { ...body, model });
      assert.equal(response.status, 200, await response.clone().text());
      assert.deepEqual(sentBody().additionalModelRequestFields, fields);
      assert.deepEqual(sentBody().inferenceConfig, { temperature: 0.5 });
      assert.equal(response.headers.get('x-gateway-dropped'), dropped);
    }
    assert.equal(sim.journal.requests[0]?.path, '/model/openai.gpt-oss-120b-1%3A0/converse');
  });

  test('the history of a conversation with tools comes back as it was, also without a list of tools', async () => {
    const tools = [{ name: 'get_weather', description: 'Weather', input_schema: SCHEMA }];
    const claude = anthropic(gateway.url, key('converse'));
    const asked = { role: 'user' as const, content: TOOL_PROMPT };
    const thinking = { type: 'adaptive' as const };
    // `strict`: the provider checks the signatures.
    const ask = { model: 'demo-x@strict', max_tokens: 4_000, thinking };
    const first = await claude.messages.stream({ ...ask, messages: [asked], tools }).finalMessage();
    const call = first.content.find((block) => block.type === 'tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'Sunny' };
    const history = [
      asked,
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: [result] },
    ];
    for (const offered of [{ tools }, {}]) {
      const second = await claude.messages.create({ ...ask, ...offered, messages: history });
      assert.match(JSON.stringify(second.content), /Sunny/);
    }
    const { toolConfig } = sentBody(2) as { toolConfig: { tools: { toolSpec: { name: string } }[] } };
    assert.deepEqual(
      toolConfig.tools.map(({ toolSpec }) => toolSpec.name),
      ['get_weather'],
    );
  });

  test('a guardrail ends a reply like a content filter, and no caller can leave it out', async () => {
    const messages = [{ role: 'user' as const, content: 'tell me of the forbidden topic' }];
    const gpt = openai(gateway.url, key('guarded'));
    const whole = await gpt.chat.completions.create({ ...ASK, messages });
    assert.equal(whole.choices[0]?.finish_reason, 'content_filter');
    assert.match(whole.choices[0]?.message.content ?? '', /Blocked by the guardrail/);
    const streamed = await gpt.chat.completions.stream({ ...ASK, messages }).finalChatCompletion();
    assert.equal(streamed.choices[0]?.finish_reason, 'content_filter');
    const claude = anthropic(gateway.url, key('guarded'));
    const message = await claude.messages.create({ ...ASK, max_tokens: 50, messages });
    assert.equal(message.stop_reason, 'refusal');
    assert.deepEqual(sentBody().guardrailConfig, {
      guardrailIdentifier: GUARDRAIL.id,
      guardrailVersion: 'DRAFT',
      trace: 'enabled',
    });
    const given = { ...ASK, guardrailConfig: { guardrailIdentifier: 'other' } };
    const own = await post('guarded', '/v1/chat/completions', given);
    assert.equal(own.headers.get('x-gateway-dropped'), 'guardrailConfig');
    sim.journal.clear();
    // An account that speaks both uses the provider's own API, which names the guardrail in headers.
    assert.equal((await post('converse-guarded', '/v1/messages', { ...ASK, max_tokens: 50 })).status, 200);
    const { path, headers } = sim.journal.requests[0] ?? assert.fail('nothing sent');
    assert.equal(path, '/model/demo-x/invoke');
    assert.equal(headers['x-amzn-bedrock-guardrailidentifier'], GUARDRAIL.id);
    assert.equal(headers['x-amzn-bedrock-guardrailversion'], GUARDRAIL.version);
  });

  test('throttling, an unknown model and an exception inside a stream are told apart', async () => {
    for (const [model, status, code] of [
      ['demo-slow@status=429', 429, 'rate_limit_exceeded'],
      ['demo-gone', 404, 'model_not_found'],
    ] as const) {
      const response = await post('converse', '/v1/chat/completions', { ...ASK, model });
      const { error } = (await response.json()) as { error: { code: string } };
      assert.deepEqual([response.status, error.code], [status, code]);
    }
    const late = await post('converse', '/v1/chat/completions', { ...ASK, model: 'demo-late@error_mid', stream: true });
    assert.match(await late.text(), /"code":"upstream_error"/);
    assert.equal((await post('converse', '/v1/chat/completions', ASK)).status, 200);
  });
});

for (const group of ['vertex-claude', 'bedrock-keys', 'converse'])
  test(`thoughts and pictures pass through ${group}`, () => provesThinkingAndPictures(group));

/** What is wrong with an account, and what doctor says about it. */
const WRONG = (url: string): Record<string, CloudGroup & { readonly advice: RegExp; readonly model?: string }> => {
  const secret = { ...ENTRA, auth: 'client-secret', authority: url };
  return {
    'azure-key': {
      style: 'responses',
      cloud: { kind: 'azure-openai', auth: 'api-key' },
      secret: 'the-key-of-another-resource',
      advice: /invalid subscription key.*; the key belongs to another resource or region/,
    },
    'azure-deployment': {
      style: 'responses',
      cloud: { kind: 'azure-openai', auth: 'api-key' },
      secret: AZURE.key,
      model: 'missing-one',
      advice: /does not exist.*; the resource has no deployment of this name/,
    },
    'azure-version': {
      style: 'responses',
      cloud: { kind: 'azure-openai', auth: 'api-key', api: 'deployments', api_version: '2023-01-01' },
      secret: AZURE.key,
      advice: /Resource not found; the resource lacks this API or version/,
    },
    'azure-role': {
      style: 'responses',
      cloud: { ...secret, client_id: AZURE.stranger.id },
      secret: AZURE.stranger.secret,
      advice: /`\[redacted\]` lacks the required data action.*; the identity lacks a role/,
    },
    'azure-scope': {
      style: 'responses',
      cloud: { ...secret, scope: 'https://management.azure.com/.default' },
      secret: AZURE.app.secret,
      advice: /audience is incorrect.*; the token is for another service; check cloud\.scope/,
    },
    'azure-secret': {
      style: 'responses',
      cloud: secret,
      secret: 'a-secret-that-has-expired',
      advice: /AADSTS7000215.*; the client secret is wrong or expired/,
    },
    'azure-tenant': {
      style: 'responses',
      cloud: { ...secret, tenant: '0e0e0e0e-1111-2222-3333-444444444444' },
      secret: AZURE.app.secret,
      advice: /AADSTS90002.*; there is no such tenant/,
    },
    'azure-federation': {
      style: 'responses',
      cloud: { ...ENTRA, auth: 'workload-identity', authority: url },
      advice: /AZURE_FEDERATED_TOKEN_FILE is not set/,
    },
    'vertex-project': {
      style: 'generate-content',
      cloud: { ...PROJECT, auth: 'metadata', metadata_url: url, project: 'another-project-1' },
      advice: /Permission denied on resource project.*check cloud\.project/,
    },
    'vertex-location': {
      style: 'messages',
      cloud: { ...PROJECT, auth: 'metadata', metadata_url: url, location: 'asia-east1' },
      advice: /was not found.*check cloud\.location/,
    },
    'vertex-role': {
      style: 'messages',
      cloud: { ...PROJECT, auth: 'service-account' },
      secret: serviceAccountKey(url, VERTEX.stranger),
      advice: /aiplatform\.endpoints\.predict.*grant it "Vertex AI User"/,
    },
    'vertex-key': {
      style: 'generate-content',
      cloud: { ...PROJECT, auth: 'service-account' },
      secret: serviceAccountKey(url, 'removed@sim-project-1.iam.gserviceaccount.com'),
      advice: /invalid_grant.*; Google refuses the signature/,
    },
    'vertex-audience': {
      style: 'generate-content',
      cloud: { ...PROJECT, auth: 'workload-identity', audience: `${VERTEX.audience}2`, token_url: url },
      advice: /invalid_target.*; there is no such provider/,
    },
    'bedrock-region': {
      style: 'messages',
      cloud: { ...AWS, auth: 'access-key', region: 'us-west-2' },
      secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
      advice: /scoped to a valid region.*; the region of the signature/,
    },
    'bedrock-model': {
      style: 'messages',
      cloud: { ...AWS, auth: 'access-key' },
      secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
      model: 'missing-model',
      advice: /model identifier is invalid.*; the region has no such model/,
    },
    'bedrock-access': {
      style: 'messages',
      cloud: { kind: 'bedrock', auth: 'api-key' },
      secret: BEDROCK.apiKey,
      model: 'denied-model',
      advice: /have access to the model.*; the AWS account has no access/,
    },
    'bedrock-permission': {
      style: 'messages',
      cloud: { ...AWS, auth: 'access-key' },
      secret: `${BEDROCK.stranger.id}:${BEDROCK.stranger.secret}`,
      advice: /arn:aws:iam::\[redacted\]:.*not authorized to perform: bedrock:.*; the role or user lacks a permission/,
    },
    'bedrock-secret': {
      style: 'messages',
      cloud: { ...AWS, auth: 'access-key' },
      secret: `${BEDROCK.key.id}:wrong/secret`,
      advice: /does not match.*; the secret of the access key is wrong/,
    },
    'converse-region': {
      style: 'responses',
      cloud: { ...AWS, auth: 'access-key', region: 'us-west-2' },
      secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
      advice: /scoped to a valid region.*; the region of the signature/,
    },
    'converse-model': {
      style: 'generate-content',
      cloud: { kind: 'bedrock', auth: 'api-key' },
      secret: BEDROCK.apiKey,
      model: 'missing-model',
      advice: /model identifier is invalid.*; the region has no such model/,
    },
    'converse-profile': {
      style: 'responses',
      cloud: { kind: 'bedrock', auth: 'api-key' },
      secret: BEDROCK.apiKey,
      model: 'profiled-model',
      advice: /on-demand throughput isn.t supported.*; the model needs an inference profile/,
    },
    'converse-unsupported': {
      style: 'messages',
      features: ['converse'],
      cloud: { kind: 'bedrock', auth: 'api-key' },
      secret: BEDROCK.apiKey,
      model: 'silent-model',
      advice: /doesn't support the model.*; the model cannot be used by Converse/,
    },
    'converse-permission': {
      style: 'messages',
      features: ['converse'],
      cloud: { ...AWS, auth: 'access-key' },
      secret: `${BEDROCK.stranger.id}:${BEDROCK.stranger.secret}`,
      advice: /not authorized to perform: bedrock:.*; the role or user lacks a permission/,
    },
    'converse-guardrail': {
      style: 'responses',
      cloud: { kind: 'bedrock', auth: 'api-key', guardrail: 'gr0other' },
      secret: BEDROCK.apiKey,
      advice: /guardrail identifier or version.*; the region has no such guardrail/,
    },
    'bedrock-trust': {
      style: 'messages',
      cloud: {
        ...AWS,
        auth: 'access-key',
        role_arn: 'arn:aws:iam::123456789012:role/other',
        token_url: `${url}/aws-sts`,
      },
      secret: `${BEDROCK.key.id}:${BEDROCK.key.secret}`,
      advice: /sts:AssumeRole.*; the identity may not assume/,
    },
  };
};

test('doctor tells a wrong region, deployment, role, scope and credential apart', async () => {
  const database = await testDatabase();
  const env = { DATA_DIR: join(folder, 'doctor'), DATABASE_URL: database.url };
  const groups = Object.entries(WRONG(sim.url));
  try {
    const file = join(folder, 'wrong.json');
    const setup = {
      groups: groups.map(([id, { style }]) => ({ id, style })),
      accounts: groups.map(([id, { cloud, secret, features }]) => ({
        id: `${id}-1`,
        group: id,
        base_url: sim.url,
        cloud,
        ...(secret && { api_key: secret }),
        ...(features && { features }),
      })),
      models: groups.map(([id, { model = 'demo-x' }]) => ({ id: model, groups: [id], free: true })),
    };
    writeFileSync(file, JSON.stringify(setup));
    const applied = await runHere(['apply', file], { env });
    assert.equal(applied.code, 0, applied.stderr);
    const googleFile = join(folder, 'google-token');
    const { stdout } = await runHere(['doctor', '--accounts'], {
      env: { ...env, GOOGLE_FEDERATED_TOKEN_FILE: googleFile },
    });
    for (const [id, { advice }] of groups) {
      const line = stdout.split('\n').find((one) => one.includes(`${id}-1 (${id})`)) ?? '';
      assert.match(line, /^BAD/, stdout);
      assert.match(line, advice);
    }
  } finally {
    await database.drop();
  }
});

test('while a token service is down, calls fail over or fail as unreachable, and work again after it', async () => {
  const { credential: _unused, ...cloud } = { ...ENTRA, auth: 'client-secret', authority: sim.url, credential: '' };
  sim.clouds.outage = 503;
  const keysOfOutage = await gateway.apply({
    groups: [{ id: 'outage', style: 'responses' }],
    accounts: [{ id: 'outage-1', group: 'outage', base_url: sim.url, api_key: AZURE.app.secret, cloud }],
    models: [{ id: 'demo-*', groups: ['outage'] }],
    keys: [{ user: 'ana', group: 'outage' }],
  });
  keys = { ...keys, ...keysOfOutage };
  const ask = () => post('outage', '/v1/responses', { model: 'demo-x', input: PROMPT });
  try {
    const failed = await ask();
    assert.equal(failed.status, 502, await failed.clone().text());
    assert.doesNotMatch(await failed.text(), /127\.0\.0\.1|secret/);
  } finally {
    sim.clouds.outage = undefined;
  }
});

test('operators see and change the settings of a cloud, but its credential goes nowhere without them', async () => {
  const admin = adminApi(() => gateway.url);
  const path = '/accounts/azure-deployments-1';
  const { body: shown, text } = await admin<{ cloud: { tenant: string } }>('GET', path);
  assert.equal(shown.cloud.tenant, AZURE.tenant);
  assert.ok(!text.includes(AZURE.app.secret));
  const elsewhere = { cloud: { ...shown.cloud, authority: 'https://login.elsewhere.example' } };
  const refused = await admin<{ error: { param: string } }>('PATCH', path, elsewhere);
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'api_key']);
  const unknown = { cloud: { ...shown.cloud, project: 'my-project-1' }, api_key: AZURE.app.secret };
  const other = await admin<{ error: { param: string } }>('PATCH', path, unknown);
  assert.deepEqual([other.status, other.body.error.param], [400, 'cloud.project']);
  const changed = { cloud: { ...shown.cloud, api_version: '2025-03-01-preview' }, api_key: AZURE.app.secret };
  assert.equal((await admin('PATCH', path, changed)).status, 200);
  await until('the new version', async () => {
    assert.equal((await post('azure-deployments', '/v1/responses', { model: 'demo-x', input: PROMPT })).status, 200);
    return sim.journal.requests.at(-1)?.query.includes('2025-03-01-preview') === true;
  });
});

test('tokens and secrets are in no log line', () => {
  const log = JSON.stringify(gateway.log);
  assert.doesNotMatch(log, /eyJ|Bearer /);
  for (const secret of [
    AZURE.key,
    AZURE.app.secret,
    AZURE.federatedToken,
    VERTEX.apiKey,
    VERTEX.federatedToken,
    BEDROCK.key.secret,
  ])
    assert.ok(!log.includes(secret));
});
