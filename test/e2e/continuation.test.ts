/** Converted calls to a generate-content provider that stops before its reply is complete, or makes a malformed tool call. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

interface Round {
  readonly text?: string;
  readonly finishReason: string;
  readonly continuationToken?: string;
}

const CUT: Round[] = [
  { text: 'One, ', finishReason: 'CONTINUATION', continuationToken: 'VG9rZW4x' },
  { text: 'two, ', finishReason: 'CONTINUATION', continuationToken: 'VG9rZW4y' },
  { text: 'three.', finishReason: 'STOP' },
];
const MALFORMED: Round = { finishReason: 'MALFORMED_FUNCTION_CALL' };

let provider: Server;
let gateway: TestGateway;
let keys: Record<string, string>;
let rounds: readonly Round[] = [];
let calls = 0;
let received: { contents: unknown; continuationToken?: string }[] = [];

function replyOf({ text, ...candidate }: Round): object {
  return {
    candidates: [{ content: { role: 'model', parts: text === undefined ? [] : [{ text }] }, index: 0, ...candidate }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
    modelVersion: 'demo-generate',
    responseId: `r${received.length}`,
  };
}

before(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const round = rounds[Math.min(received.length, rounds.length - 1)] ?? MALFORMED;
      received.push(JSON.parse(Buffer.concat(chunks).toString()));
      const json = JSON.stringify(replyOf(round));
      const isStream = request.url?.includes('streamGenerateContent');
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? `data: ${json}\r\n\r\n` : json);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`));
});
after(async () => {
  await gateway.stop();
  provider.close();
});
beforeEach(async () => {
  await allCompleted();
  calls += 1;
  received = [];
});

const key = (): string => keys.gemini ?? '';
const ask = (isStream: boolean) => {
  const request = { model: 'demo-generate', input: 'Count.', store: false };
  const { responses } = openai(gateway.url, key());
  return isStream ? responses.stream(request).finalResponse() : responses.create(request);
};

for (const isStream of [false, true]) {
  const form = isStream ? 'stream' : 'unary response';

  test(`a reply that stops with CONTINUATION is continued by its token, and the client gets one ${form}`, async () => {
    rounds = CUT;
    const response = await ask(isStream);
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'One, two, three.');
    assert.deepEqual([response.usage?.input_tokens, response.usage?.output_tokens], [30, 6]);
    assert.deepEqual(
      received.map(({ continuationToken }) => continuationToken),
      [undefined, 'VG9rZW4x', 'VG9rZW4y'],
    );
    assert.deepEqual(received[2]?.contents, received[0]?.contents, 'the same request again');
  });

  test(`a ${form} that is continued three times and still not complete ends as cut by the length limit`, async () => {
    rounds = [CUT[0] as Round];
    const message = anthropic(gateway.url, key()).messages;
    const request = {
      model: 'demo-generate',
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Count.' }],
    };
    const reply = isStream ? await message.stream(request).finalMessage() : await message.create(request);
    assert.equal(reply.stop_reason, 'max_tokens');
    assert.equal(received.length, 4);
  });

  test(`a malformed tool call is asked for again once before the client of a ${form} receives anything, at no charge`, async () => {
    rounds = [MALFORMED, { text: 'Done.', finishReason: 'STOP' }];
    const response = await ask(isStream);
    assert.deepEqual([response.status, response.output_text], ['completed', 'Done.']);
    assert.equal(response.usage?.input_tokens, 10);
    assert.equal(received.length, 2);
    assert.equal(await chargedInput(), 10);
  });
}

test('a second malformed tool call is an error', async () => {
  rounds = [MALFORMED];
  const { completions } = openai(gateway.url, key()).chat;
  const request = { model: 'demo-generate', messages: [{ role: 'user' as const, content: 'Count.' }] };
  await assert.rejects(completions.create(request), { status: 502 });
  assert.equal(received.length, 2);
});

test('a malformed tool call after text is an error and is not asked for again', async () => {
  rounds = [{ ...MALFORMED, text: 'I will call. ' }];
  assert.equal((await ask(true)).status, 'failed');
  assert.equal(received.length, 1);
});

/** Input tokens that the newest call was charged for. */
async function chargedInput(): Promise<unknown> {
  await allCompleted();
  return completed().at(-1)?.tokensIn;
}
const completed = () => gateway.log.filter(({ msg }) => msg === 'request.completed');
const allCompleted = () => until('the end of every call', () => completed().length === calls);
