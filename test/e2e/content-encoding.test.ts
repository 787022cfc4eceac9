/** Providers that compress although asked not to, and content types in other cases or missing: native and converted calls read them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, constants, createGzip, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Canned, type Script, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
const GROUPS = ['native', 'converted'] as const;

before(async () => {
  provider = await startCanned();
  gateway = await startGateway();
  keys = await gateway.apply({
    groups: [
      { id: 'native', style: 'messages' },
      { id: 'converted', style: 'messages' },
    ],
    accounts: GROUPS.map((group) => ({ id: group, group, base_url: provider.url, api_key: 'sk-up' })),
    models: [{ id: '*', groups: GROUPS }],
    users: [{ id: 'ana' }],
    keys: GROUPS.map((group) => ({ user: 'ana', group })),
  });
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

/** The native call speaks the dialect of the group, the converted one another. */
const send = (group: (typeof GROUPS)[number], stream = false): Promise<Response> =>
  fetch(gateway.url + (group === 'native' ? '/v1/messages' : '/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream, max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }),
  });

const REPLY = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 11, output_tokens: 7 },
});
const event = (data: { type: string; [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const BEGIN =
  event({
    type: 'message_start',
    message: { ...JSON.parse(REPLY), content: [], stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } },
  }) +
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } });
const END =
  event({ type: 'content_block_stop', index: 0 }) +
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }) +
  event({ type: 'message_stop' });

const encoded =
  (body: Buffer, headers: Record<string, string>, status = 200): Script =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
    response.end(body);
  };

/** The usage in the log line of the request: input, output, and whether it is an estimate. */
async function loggedUsage({ headers }: Response): Promise<unknown[]> {
  const id = headers.get('x-request-id');
  const line = await until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === id),
  );
  return [line.tokensIn, line.tokensOut, line.estimated];
}

for (const group of GROUPS)
  describe(`${group} calls`, () => {
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const)
      test(`a response in ${encoding} reaches the client decoded and is charged by its usage`, async () => {
        provider.respondWith(encoded(compress(REPLY), { 'content-encoding': encoding }));
        const response = await send(group);
        const text = await response.text();
        assert.equal(response.status, 200, text);
        assert.equal(response.headers.get('content-encoding'), null);
        assert.match(text, /hello/);
        if (group === 'native') assert.equal(text, REPLY);
        assert.deepEqual(await loggedUsage(response), [11, 7, undefined]);
      });

    test('a compressed stream reaches the client event by event', async () => {
      const { promise: isRead, resolve: onRead } = Promise.withResolvers<void>();
      provider.respondWith(async (response) => {
        response.writeHead(200, { 'content-type': 'Text/Event-Stream; Charset=UTF-8', 'content-encoding': 'gzip' });
        const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
        gzip.pipe(response);
        gzip.write(BEGIN);
        await isRead;
        gzip.end(END);
      });
      const response = await send(group, true);
      assert.equal(response.headers.get('content-encoding'), null);
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes('hello')) onRead();
      }
      assert.match(text, group === 'native' ? /message_stop/ : /\[DONE\]/);
      assert.deepEqual(await loggedUsage(response), [11, 7, undefined]);
    });

    test('a stream without a content type is one', async () => {
      provider.respondWith((response) => {
        response.writeHead(200);
        response.end(BEGIN + END);
      });
      const response = await send(group, true);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.match(text, group === 'native' ? /message_stop/ : /\[DONE\]/);
      assert.deepEqual(await loggedUsage(response), [11, 7, undefined]);
    });

    test('a compressed error is read, with a content type in capitals', async () => {
      const error = { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: too large' } };
      const headers = { 'content-type': 'Application/JSON', 'content-encoding': 'gzip' };
      provider.respondWith(encoded(gzipSync(JSON.stringify(error)), headers, 400));
      const response = await send(group);
      const text = await response.text();
      assert.equal(response.status, 400, text);
      assert.match(text, /max_tokens: too large/);
    });

    test('an unknown encoding is a failure of the provider', async () => {
      provider.respondWith(encoded(Buffer.from(REPLY), { 'content-encoding': 'compress' }));
      const response = await send(group);
      const text = await response.text();
      assert.equal(response.status, 502, text);
      assert.match(text, /upstream_error|api_error/);
      const failed = gateway.log.findLast(({ msg }) => msg === 'attempt.failed');
      assert.equal(failed?.reason, 'CONTENT_ENCODING');
    });
  });
