/** Native calls whose opaque values the provider rejects, as it does with those of another account: they are sent once more without them. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

const VALUE = 'c2lnbmVkLWJ5LWFub3RoZXItYWNjb3VudA==';

interface Case {
  readonly group: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the provider gets after its rejection. */
  readonly rest: string;
  readonly rejection: object;
  readonly dropped: string;
}

const invalid = (message: string, more: object = {}): object => ({
  type: 'error',
  error: { type: 'invalid_request_error', message, ...more },
});

const CASES: Readonly<Record<string, Case>> = {
  messages: {
    group: 'claude',
    path: '/v1/messages',
    body: `{"model":"demo-messages", "max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"${VALUE}"}, {"type":"text","text":"thinking"}]},{"role":"user","content":"b"}],"future":1.0}`,
    rest: '{"model":"demo-messages", "max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"thinking"}]},{"role":"user","content":"b"}],"future":1.0}',
    rejection: invalid('messages.1.content.0: Invalid `signature` in `thinking` block'),
    dropped: 'messages.thinking',
  },
  responses: {
    group: 'openai',
    path: '/v1/responses',
    body: `{"model":"demo-responses","input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"${VALUE}"},{"role":"user","content":"b"}],"store":false}`,
    rest: '{"model":"demo-responses","input":[{"role":"user","content":"a"},{"role":"user","content":"b"}],"store":false}',
    rejection: invalid('The encrypted content could not be verified.', { code: 'invalid_encrypted_content' }),
    dropped: 'input.reasoning',
  },
  chat: {
    group: 'openai',
    path: '/v1/chat/completions',
    body: `{"model":"demo-responses","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"${VALUE}"}}}]},{"role":"tool","tool_call_id":"c1","content":"b"}]}`,
    rest: '{"model":"demo-responses","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"b"}]}',
    rejection: invalid('Thought signature is not valid.'),
    dropped: 'messages.reasoning_content',
  },
  generate: {
    group: 'gemini',
    path: '/v1beta/models/demo-generate:generateContent',
    body: `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"x","thoughtSignature":"${VALUE}"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"${VALUE}"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`,
    rest: '{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"x"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}',
    rejection: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'Thought signature is not valid.' } },
    dropped: 'contents.thought',
  },
};

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway({});
  keys = await gateway.apply(basicSetup(upstream.url));
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

const send = ({ group, path, body }: Case): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[group]}` },
    body,
  });

const sent = (): string[] => upstream.requests.map(({ body }) => body.toString());

for (const [dialect, one] of Object.entries(CASES)) {
  test(`a native ${dialect} call is sent once more without the opaque values that its provider rejects, and names them`, async () => {
    upstream.respondWith((response, request) =>
      request.body.toString().includes(VALUE)
        ? jsonResponse(JSON.stringify(one.rejection), 400)(response, request)
        : jsonResponse('{"ok":true}')(response, request),
    );
    const response = await send(one);
    assert.equal(response.status, 200, await response.text());
    assert.deepEqual(sent(), [one.body, one.rest]);
    assert.equal(response.headers.get('x-gateway-dropped'), one.dropped);
  });

  test(`a native ${dialect} call that is rejected again gets the error of the provider, and no third request`, async () => {
    upstream.respondWith(jsonResponse(JSON.stringify(one.rejection), 400));
    const response = await send(one);
    assert.deepEqual([response.status, await response.json()], [400, one.rejection]);
    assert.deepEqual(sent(), [one.body, one.rest]);
  });
}

test('a native call without opaque values is not sent again', async () => {
  const { messages } = CASES as { messages: Case };
  upstream.respondWith(jsonResponse(JSON.stringify(messages.rejection), 400));
  const plain = {
    ...messages,
    body: '{"model":"demo-messages","max_tokens":9,"messages":[{"role":"user","content":"a"}]}',
  };
  assert.equal((await send(plain)).status, 400);
  assert.deepEqual(sent(), [plain.body]);
});
