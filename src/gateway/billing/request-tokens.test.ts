import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mp4File, wavFile } from '../../../test/support/media-files.ts';
import { estimateTokens } from '../../core/index.ts';
import { estimateBody, estimateBytes, estimateLarge, estimateText } from './request-tokens.ts';

const PARAGRAPH = 'The quick brown fox, 13 lazy dogs; const x = foo(bar)\n人工智能网关\n';

test('long texts are estimated by samples, near the sum of all of them', () => {
  const texts = Array.from({ length: 2_000 }, (_, n) => PARAGRAPH.repeat(1 + (n % 20)));
  const exact = texts.reduce((sum, text) => sum + estimateTokens(text) + 4, 0);
  const estimate = estimateBody('chat', { messages: texts.map((content) => ({ role: 'user', content })) });
  assert.ok(Math.abs(estimate / exact - 1) < 0.05, `${estimate} of ${exact}`);
});

test('a large body is estimated from samples of its bytes, near the estimate of its texts', () => {
  const messages = Array.from({ length: 300 }, (_, n) => ({ role: 'user', content: PARAGRAPH.repeat(10 + (n % 20)) }));
  const body = Buffer.from(JSON.stringify({ model: 'm', messages }));
  const [exact, large] = [estimateBytes('chat', body), estimateLarge(body, { bodyBytes: body.length })];
  assert.ok(Math.abs(large / exact - 1) < 0.1, `${large} of ${exact}`);
});

test('the media of a large body count by what its scan has found, not by their characters', () => {
  const text = PARAGRAPH.repeat(300);
  const data = Buffer.alloc(600_000, 7).toString('base64');
  const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: [{ text }, { data }] }] }));
  const tokens = estimateLarge(body, { bodyBytes: body.length - data.length, mediaTokens: 5_000 });
  const exact = estimateText(text) + 5_000;
  assert.ok(Math.abs(tokens / exact - 1) < 0.1, `${tokens} of ${exact}`);
});

test('a large body of letters without spaces counts as text, although it looks like media', () => {
  const content = 'abcdefghij'.repeat(60_000);
  const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
  const [exact, large] = [estimateText(content), estimateLarge(body, { bodyBytes: body.length })];
  assert.ok(Math.abs(large / exact - 1) < 0.1, `${large} of ${exact}`);
});

test('bytes that are not JSON are estimated as text', () => {
  assert.equal(estimateBytes('chat', Buffer.from('{"messages":')), estimateTokens('{"messages":'));
});

/** Each with the tokens that providers document for it. */
const MEDIA: readonly [about: string, part: object, least: number, most: number][] = [
  ['a small picture', { inlineData: inline('image/png', pngHead(64, 64)) }, 85, 300],
  ['a large picture', { inlineData: inline('image/png', pngHead(4_000, 3_000)) }, 1_500, 1_700],
  ['a minute of audio', { inlineData: inline('audio/wav', wavFile(60)) }, 1_900, 2_100],
  ['a minute of video', { inlineData: inline('video/mp4', mp4File(60, { isVideo: true })) }, 17_000, 22_000],
  ['a document of 30 pages', { inlineData: inline('application/pdf', pdf('/Type /Pages /Count 30')) }, 45_000, 90_000],
  [
    'a document of two visible pages',
    { inlineData: inline('application/pdf', pdf('/Type/Page /Type/Page')) },
    3_000,
    6_000,
  ],
  ['a text in a file', { inlineData: inline('text/plain', Buffer.from(PARAGRAPH.repeat(100))) }, 2_000, 4_000],
];

for (const [about, part, least, most] of MEDIA)
  test(`${about} is estimated by its own unit`, () => {
    const tokens = estimateBody('generate', { contents: [{ role: 'user', parts: [part] }] });
    assert.ok(tokens >= least && tokens <= most, String(tokens));
  });

function inline(mimeType: string, file: Buffer): object {
  return { mimeType, data: file.toString('base64') };
}

function pngHead(width: number, height: number): Buffer {
  const head = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(8)]);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}

function pdf(content: string): Buffer {
  return Buffer.from(`%PDF-1.7\n${content}\n%%EOF`);
}
