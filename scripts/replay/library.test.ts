/** Readers of recordings, with small files made for these tests. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { framesOf, isFramed, readFrames } from './frames.ts';
import { readLibrary, recordingsIn } from './library.ts';
import type { Recording } from './recording.ts';

const ASK = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const REPLY = {
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hé' }, finish_reason: 'stop' }],
};
const CHAT = 'https://api.example.test/v1/chat/completions?key=secret';

const only = (file: string, text: string): Omit<Recording, 'collection' | 'file'> => {
  const [found, ...more] = recordingsIn(file, text);
  assert.ok(found !== undefined && typeof found !== 'string', String(found));
  assert.equal(more.length, 0);
  return found;
};

const cassette = (request: string, response: string, uri = CHAT): string =>
  `interactions:\n- request:\n    ${request}\n    headers: {host: [x]}\n    method: POST\n    uri: ${uri}\n  response:\n    ${response}\n    headers: {Content-Type: [application/json]}\n    status: {code: 200, message: OK}\nversion: 1\n`;

const asText = `body: '${JSON.stringify(ASK)}'`;
const base64 = (bytes: Buffer): string => `body: {string: !!binary "${bytes.toString('base64')}"}`;
const plain = Buffer.from(JSON.stringify(REPLY));

test('cassettes hold bodies as text, bytes, compressed bytes or parsed JSON', () => {
  const bodies = [
    `body: {string: '${JSON.stringify(REPLY)}'}`,
    base64(plain),
    base64(gzipSync(plain)),
    `parsed_body: ${JSON.stringify(REPLY)}`,
  ];
  for (const response of bodies) {
    const { dialect, request, body, isStream } = only('a.yaml', cassette(asText, response));
    assert.deepEqual([dialect, isStream, JSON.parse(body.toString('utf8'))], ['chat', false, REPLY]);
    assert.deepEqual([request?.model, request?.json, request?.query], ['m', ASK, '']);
  }
  const parsed = only('a.yml', cassette(`parsed_body: ${JSON.stringify(ASK)}`, base64(plain)));
  assert.deepEqual(parsed.request?.json, ASK);
});

test('dates, letters and dots in YAML stay texts', () => {
  const contents = ['2025-01-31', 'y', 'N', '.', '..'];
  for (const content of contents) {
    const request = `parsed_body: {model: m, n: 1, messages: [{role: user, content: ${content}}]}`;
    const { request: read } = only('a.yaml', cassette(request, base64(plain)));
    assert.deepEqual(read?.json, { model: 'm', n: 1, messages: [{ role: 'user', content }] });
  }
});

test('other recorders: VCR for Ruby, HAR', () => {
  const lists = { requests: [{ method: 'POST', uri: CHAT, body: JSON.stringify(ASK) }] };
  const replies = [{ status: { code: 200 }, body: { string: JSON.stringify(REPLY) } }];
  assert.deepEqual(only('a.yaml', JSON.stringify({ ...lists, responses: replies })).events, [REPLY]);
  const masked = cassette(asText, `body: {string: '${JSON.stringify(REPLY)}'}`, "'**REDACTED**'");
  assert.equal(only('a.yaml', masked).dialect, 'chat');
  const binary = `body: {string: !binary "${plain.toString('base64')}"}`;
  assert.deepEqual(only('a.yml', cassette(asText, binary, '<BASE>/v1/chat/completions')).events, [REPLY]);
  const ruby = { request: { method: 'post', uri: CHAT, body: { string: JSON.stringify(ASK) } } };
  const response = { status: { code: 200 }, body: { base64_string: plain.toString('base64') } };
  const vcr = only('a.json', JSON.stringify({ http_interactions: [{ ...ruby, response }] }));
  assert.deepEqual(vcr.events, [REPLY]);
  const entry = {
    request: { method: 'POST', url: CHAT, headers: [], postData: { text: JSON.stringify(ASK) } },
    response: { status: 200, headers: [], content: { text: JSON.stringify(REPLY) } },
  };
  assert.deepEqual(only('a.har', JSON.stringify({ log: { entries: [entry] } })).events, [REPLY]);
});

test('recorders of Go, R and opencode: statuses as texts and numbers, texts in base64, hosts with a mask inside', () => {
  const body = JSON.stringify(REPLY);
  const go = {
    request: { method: 'POST', url: CHAT, body: JSON.stringify(ASK) },
    response: { body, status: '200 OK', code: 200 },
  };
  assert.deepEqual(only('a.yaml', JSON.stringify({ version: 2, interactions: [go] })).events, [REPLY]);
  const request = { method: 'POST', uri: CHAT, body: { string: JSON.stringify(ASK) } };
  const r = { http_interactions: [{ request, response: { status: 200, body: { string: body } } }] };
  assert.deepEqual(only('a.yml', JSON.stringify(r)).events, [REPLY]);
  const response = { status: 200, body: plain.toString('base64'), bodyEncoding: 'base64' };
  const masked = { ...go.request, url: 'https://chat.<REGION>.example.test/v1/chat/completions' };
  assert.deepEqual(only('a.json', JSON.stringify({ interactions: [{ request: masked, response }] })).events, [REPLY]);
});

test('the address decides the dialect, and what is not text generation is skipped with a reason', () => {
  const skipped = (uri: string) => recordingsIn('a.yaml', cassette(asText, base64(plain), uri))[0];
  assert.equal(skipped('https://api.openai.com/v1/embeddings'), 'embeddings');
  assert.equal(skipped('https://api.anthropic.com/v1/messages/count_tokens'), 'counts tokens');
  const bedrock = 'https://bedrock-runtime.us-east-1.amazonaws.com/model';
  assert.equal(skipped(`${bedrock}/x/converse`), 'response of another API');
  assert.match(String(skipped(`${bedrock}/amazon.titan-embed-text-v1/invoke`)), /^embeddings/);
  assert.equal(skipped('https://api.example.test/v2/chat'), 'another API');
  for (const method of ['generateContent', 'streamGenerateContent?alt=sse'])
    assert.equal(skipped(`https://google.test/v1beta/models/x:${method}`), 'response of another API', method);
  assert.equal(skipped('https://api.anthropic.com/v1/messages'), 'response of another API');
});

test('fixtures are detected by shape; chunks become a stream, several streams several recordings', () => {
  assert.equal(only('a.json', JSON.stringify(REPLY)).dialect, 'chat');
  assert.equal(only('a.json', JSON.stringify({ candidates: [] })).dialect, 'generate');
  const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'x' } }] };
  const lines = only('a.chunks.txt', `${JSON.stringify(chunk)}\n${JSON.stringify(chunk)}\n`);
  assert.deepEqual([lines.isStream, lines.events.length], [true, 2]);
  assert.match(lines.body.toString('utf8'), /^data: \{.*\n\ndata: \[DONE\]\n\n$/s);
  const sse = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  assert.equal(only('a.sse', sse).body.toString('utf8'), sse);
  const message = [{ type: 'message_start', message: {} }, { type: 'message_stop' }];
  const twice = [...message, ...message].map((event) => JSON.stringify(event)).join('\n');
  assert.equal(recordingsIn('a.chunks.txt', twice).length, 2);
  assert.deepEqual(recordingsIn('a.txt', 'A note.'), ['not a recording']);
  assert.equal(only('a.json', '{"contentBlockDelta":{}}').dialect, 'converse');
});

test('streams of Converse are read from their frames', () => {
  const events = [{ messageStart: { role: 'assistant' } }, { messageStop: { stopReason: 'end_turn' } }];
  const frames = framesOf(events);
  assert.deepEqual([isFramed(frames), isFramed(plain)], [true, false]);
  assert.deepEqual(readFrames(frames), { isStream: true, events });
  const uri = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b%3A0/converse-stream';
  const { dialect, cloud, request, body } = only('a.yaml', cassette(asText, base64(frames), uri));
  assert.deepEqual([dialect, cloud, request?.model, body.equals(frames)], ['converse', 'bedrock', 'm', true]);
  assert.deepEqual(recordingsIn('a.chunks.txt', '{"contentBlockDelta":{}}\n{"messageStop":{}}'), [
    'stream without its beginning',
  ]);
});

test('frames of Bedrock that hold the events of a model are read as these', () => {
  const events = [{ type: 'message_start', message: {} }, { type: 'message_stop' }];
  const frames = framesOf(
    events.map((event) => ({ chunk: { bytes: Buffer.from(JSON.stringify(event)).toString('base64') } })),
  );
  const uri = 'https://bedrock-runtime.test/model/us.anthropic.claude-x/invoke-with-response-stream';
  const { dialect, cloud, isStream, events: read } = only('a.yaml', cassette(asText, base64(frames), uri));
  assert.deepEqual([dialect, cloud, isStream, read], ['messages', 'bedrock', true, events]);
});

test('readLibrary reads gzipped files and skips files that are too large', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-replay-'));
  try {
    writeFileSync(join(folder, 'a.yaml.gz'), gzipSync(cassette(asText, base64(plain))));
    writeFileSync(join(folder, 'b.json'), Buffer.alloc(5_000_000, ' '));
    const skipped: string[] = [];
    const files: string[] = [];
    for await (const recordings of readLibrary(folder, { only: /./, skip: (...args) => skipped.push(args.join(' ')) }))
      files.push(...recordings.map(({ file }) => file));
    assert.deepEqual([files, skipped], [['a.yaml.gz'], ['file is too large, or damaged b.json']]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
