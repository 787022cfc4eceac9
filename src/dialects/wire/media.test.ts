import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mimeOfFile } from './media.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('mimeOfFile reads the extension, then the first bytes', () => {
  assert.equal(mimeOfFile('a.CSV', base64('%PDF-1.7')), 'text/csv');
  assert.equal(mimeOfFile(undefined, base64('%PDF-1.7\n\u0000')), 'application/pdf');
  assert.equal(mimeOfFile('notes', base64('Grüße,\n\tdear reader')), 'text/plain');
  assert.equal(mimeOfFile(undefined, base64('é'.repeat(2_000))), 'text/plain');
  assert.equal(mimeOfFile(undefined, Buffer.from([0x50, 0x4b, 3, 4, 0xff]).toString('base64')), 'application/pdf');
  assert.equal(mimeOfFile(undefined, ''), 'application/pdf');
});
