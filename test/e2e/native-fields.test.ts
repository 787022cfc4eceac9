// set: sweeps; every member of the SDKs' request types
/**
 * Every member of the SDKs' request types in a request that the gateway forwards: it reaches the provider unchanged, or the error names it, or
 * the gateway removes it.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { GenerateContentConfig } from '@google/genai';
import type { Dialect } from '../../src/rules/index.ts';
import { configFields, requestFields } from '../laws/request-fields.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { google } from '../support/sdk.ts';

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(upstream.url));
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => upstream.respondWith(jsonResponse('{"candidates":[]}')));

interface Target {
  readonly group: string;
  readonly path: string;
  readonly model: string;
}
const TARGETS: Readonly<Record<Dialect, Target>> = {
  messages: { group: 'claude', path: '/v1/messages', model: 'demo-messages' },
  chat: { group: 'openai', path: '/v1/chat/completions', model: 'demo-responses' },
  responses: { group: 'openai', path: '/v1/responses', model: 'demo-responses' },
  generate: { group: 'gemini', path: '/v1beta/models/demo-generate:generateContent', model: '' },
};

/** The native path reads top-level members and looks for ids inside them; the rest are bytes. */
const MAX_DEPTH: Readonly<Record<Dialect, number>> = { messages: 2, chat: 9, responses: 2, generate: 9 };

for (const dialect of Object.keys(TARGETS) as Dialect[])
  test(`${dialect}: every member of the request type is forwarded unchanged, or rejected by name`, async () => {
    const { group, path, model } = TARGETS[dialect];
    for (const { label, path: field, body } of requestFields(dialect)) {
      if (field.split('.').length > MAX_DEPTH[dialect] || field === 'model') continue;
      const sent = JSON.stringify(model === '' ? body : { ...body, model });
      const response = await post(path, keys[group] ?? '', sent);
      const [received] = upstream.requests.splice(0);
      const removed = REMOVED.find((name) => field.startsWith(name));
      if (received && removed) assert.ok(!received.body.includes(removed), label);
      else if (received) assert.equal(received.body.toString().replace(ADDED, '{'), sent, label);
      else assert.ok(namesField(await response.text(), field), `${label}: ${response.status}`);
    }
  });

/** They name the operator's organisation, or who pays at the provider. */
const REMOVED = ['fallback_credit_token', 'billing_policy', 'user_profile_id', 'workspace_id', 'organization_id'];
/** Of streams that do not ask for usage. */
const ADDED = /^\{"stream_options":\{"include_usage":true\},(?="stream":true)/;

const post = (path: string, key: string, body: string): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });

/** An object of another user is named by its id. */
const namesField = (error: string, field: string): boolean =>
  [...field.split('.'), 'markmark', 'ownowned'].some((name) => error.includes(name));

test("generate: every member of the SDK's configuration is forwarded as the SDK sends it", async () => {
  // An account of one user alone lets it name cached content.
  const account = { id: 'ge1', group: 'gemini', base_url: upstream.url, api_key: 'sk-upstream-ge1' };
  await gateway.apply({ accounts: [{ ...account, features: ['generate', 'count', 'objects'] }] });
  const viaGateway = google(gateway.url, keys.gemini ?? '');
  const direct = google(upstream.url, 'sk-upstream-ge1');
  let compared = 0;
  for (const { label, body } of configFields()) {
    const request = { model: 'demo-generate', contents: 'Hello.', config: body as GenerateContentConfig };
    // The SDK rejects members that only another API of the provider has.
    const isSent = await direct.models.generateContent(request).then(
      () => true,
      () => false,
    );
    const [expected] = upstream.requests.splice(0);
    if (!isSent || !expected) continue;
    await viaGateway.models.generateContent(request);
    const [received] = upstream.requests.splice(0);
    assert.equal(received?.body.toString(), expected.body.toString(), label);
    compared += 1;
  }
  assert.ok(compared > 100, `${compared} members`);
});
