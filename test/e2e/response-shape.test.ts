/** Native responses that a caller tries to reshape, and responses that lack what the charge is read from. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const GENERATE = '/v1beta/models/demo-generate:generateContent';
const STREAM = '/v1beta/models/demo-generate:streamGenerateContent';
const BODY = '{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}';

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  keys = await gateway.apply({
    ...basicSetup(upstream.url),
    models: [
      { id: 'demo-generate', groups: ['gemini'], prices: { input: '2', output: '10' } },
      { id: 'demo-messages', groups: ['claude'], prices: { input: '2', output: '10' } },
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.respondWith(jsonResponse('{"candidates":[],"usageMetadata":{"promptTokenCount":1}}'));
});

const post = (group: string, path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json', ...headers },
    body,
  });

describe('native generate-content', () => {
  for (const [query, param] of [
    ['fields=candidates/content', 'fields'],
    ['f%69elds=candidates%2Fcontent', 'fields'],
    ['$fields=candidates', '$fields'],
    ['%24fields=candidates', '$fields'],
    ['alt=sse&callback=f', 'callback'],
    ['$callback=f', '$callback'],
    ['alt=media', 'alt'],
    ['alt=proto', 'alt'],
    ['$alt=json;enum-encoding=int', '$alt'],
    ['alt=sse&alt=proto', 'alt'],
    ['$httpMethod=GET', '$httpMethod'],
    ['uploadType=media', 'uploadType'],
  ] as const)
    test(`generate-content query ?${query} is rejected before anything is sent`, async () => {
      const response = await post('gemini', `${GENERATE}?${query}`, BODY);
      const body = (await response.json()) as { error: { message: string } };
      assert.equal(errorCode('generate', response.status, body), 'unsupported_parameter');
      assert.ok(body.error.message.startsWith(`${param}: `), body.error.message);
      assert.equal(upstream.requests.length, 0);
    });

  for (const [name, value] of [
    ['x-goog-fieldmask', 'candidates.content'],
    ['x-http-method-override', 'GET'],
    ['x-goog-encode-response-if-executable', 'base64'],
    ['accept', 'application/x-protobuf'],
  ] as const)
    test(`generate-content header ${name}: ${value} is rejected before anything is sent`, async () => {
      const response = await post('gemini', GENERATE, BODY, { [name]: value });
      assert.equal(errorCode('generate', response.status, await response.json()), 'unsupported_parameter');
      assert.equal(upstream.requests.length, 0);
    });

  test('generate-content queries lose credentials and keep everything else', async () => {
    for (const [query, left] of [
      ['access_token=x&alt=sse', '?alt=sse'],
      ['acc%65ss_token=x', ''],
      ['$key=x&prettyPrint=true', '?prettyPrint=true'],
      ['quotaUser=x&$userProject=y&alt=json&a=%2F+1', '?alt=json&a=%2F+1'],
    ] as const) {
      assert.equal((await post('gemini', `${GENERATE}?${query}`, BODY)).status, 200);
      assert.equal(upstream.last.target, GENERATE + left);
    }
  });

  test('conditional and range headers of a caller are not forwarded', async () => {
    await post('gemini', GENERATE, BODY, { range: 'bytes=0-10', 'if-none-match': '*' });
    assert.deepEqual([upstream.last.headers.range, upstream.last.headers['if-none-match']], [undefined, undefined]);
  });
});

test('G 5 r1: a key in the query of another path is rejected however its name is encoded', async () => {
  const body = '{"model":"demo-messages","messages":[]}';
  for (const name of ['key', 'k%65y']) assert.equal((await post('claude', `/v1/messages?${name}=x`, body)).status, 401);
});

interface Row {
  readonly nanos: bigint;
  readonly output: string;
}
/** Records of responses that were charged by an estimate. */
const rows = async (): Promise<Row[]> =>
  (await gateway.context.database.db
    .selectFrom('usage_records')
    .select(['nanos', 'output_tokens as output'])
    .where('estimated', '=', true)
    .orderBy('id')
    .execute()) as unknown as Row[];

describe('a native response that the client received', () => {
  const words = 'word '.repeat(4_000);
  const event = `data: {"candidates":[{"content":{"parts":[{"text":"${words}"}]}}]}\n\n`;

  for (const [about, path, script] of [
    ['a stream without finish reason and usage', `${STREAM}?alt=sse`, sseResponse(event, event)],
    [
      'a stream that ends inside an event',
      `${STREAM}?alt=sse`,
      sseResponse(event, event, 'data: {"candidates":[{"content":{"pa'),
    ],
    [
      'a unary response without finish reason and usage',
      GENERATE,
      jsonResponse(`{"candidates":[{"content":{"parts":[{"text":"${words}${words}"}]}}]}`),
    ],
  ] as const)
    test(`${about} is charged by a flagged estimate`, async () => {
      const before = (await rows()).length;
      upstream.respondWith(script);
      const text = await (await post('gemini', path, BODY)).text();
      assert.ok(text.includes(words), 'the client has the text');
      const row = await until('the record', async () => (await rows())[before]);
      assert.ok(row.nanos > 0n && Number(row.output) > 7_000, `${row.output} tokens for 8,000 words`);
    });
});

test('a redirect of a provider is 502 on native and converted calls, without its address', async () => {
  for (const status of [301, 302, 304, 307, 308])
    for (const [group, path, body] of [
      ['gemini', GENERATE, BODY],
      ['claude', '/v1/messages', '{"model":"demo-messages","max_tokens":1,"messages":[{"role":"user","content":"x"}]}'],
      ['claude', '/v1/chat/completions', '{"model":"demo-messages","messages":[{"role":"user","content":"x"}]}'],
    ] as const) {
      upstream.respondWith((response) => {
        response.writeHead(status, { location: 'https://provider.example/elsewhere' });
        response.end(status === 304 ? undefined : 'moved');
      });
      // A failed account may need a moment before it is used again.
      const response = await until('an attempt', async () => {
        const sent = upstream.requests.length;
        const one = await post(group, path, body);
        return upstream.requests.length > sent ? one : undefined;
      });
      assert.equal(response.status, 502, `${status} ${path}`);
      assert.equal(response.headers.get('location'), null);
      assert.ok(!(await response.text()).includes('provider.example'));
    }
});
