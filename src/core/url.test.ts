import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../test/support/properties.ts';
import { ACCEPTED_URLS, NON_PUBLIC_ADDRESSES, PUBLIC_ADDRESSES, REJECTED_URLS } from '../../test/support/urls.ts';
import { isPublicAddress, isSameAddress } from './address.ts';
import { publicUrl } from './url.ts';

const hrefOf = (text: string, allow: readonly string[] = []): string | undefined => {
  const url = publicUrl(text, allow);
  return url instanceof URL ? url.href : undefined;
};

test('publicUrl rejects every URL of the table with the message of its group', () => {
  assert.ok(new Set(REJECTED_URLS.flatMap(([, urls]) => urls)).size >= 600);
  for (const [sentence, urls] of REJECTED_URLS) {
    for (const text of urls) {
      const url = publicUrl(text, []);
      assert.ok(!(url instanceof URL), `passed: ${JSON.stringify(text)}`);
      assert.match(url.message, sentence, JSON.stringify(text));
      assert.match(url.message, /^The [^\n]{10,90}\.$/);
    }
  }
});

test('publicUrl returns accepted URLs in their normalised form', () => {
  for (const [text, href] of ACCEPTED_URLS) assert.equal(hrefOf(text), href);
});

test('publicUrl accepts any scheme, port and host for an allowed origin, and for no other origin', () => {
  const allow = ['http://127.0.0.1:9000', 'https://media.internal', 'http://[::1]:9000'];
  assert.equal(hrefOf('http://127.0.0.1:9000/x', allow), 'http://127.0.0.1:9000/x');
  assert.equal(hrefOf('http://0x7f.1:9000/x', allow), 'http://127.0.0.1:9000/x');
  assert.equal(hrefOf('https://media.internal:443/x', allow), 'https://media.internal/x');
  assert.equal(hrefOf('http://[0:0::1]:9000/', allow), 'http://[::1]:9000/');
  for (const text of [
    'http://127.0.0.1/x',
    'http://127.0.0.1:9001/x',
    'https://127.0.0.1:9000/x',
    'http://127.0.0.2:9000/x',
    'http://media.internal/x',
    'https://media.internal:8443/x',
    'https://a.media.internal/x',
    'https://media.internal./x',
    'blob:http://127.0.0.1:9000/x',
    'http://user@127.0.0.1:9000/x',
    'http://@127.0.0.1:9000/x',
    'http://127.0.0.1:9000\\x',
    'http://127.0.0.1:9000/a b',
    'http:127.0.0.1:9000/x',
    `http://127.0.0.1:9000/${'x'.repeat(2_048)}`,
  ])
    assert.equal(hrefOf(text, allow), undefined, text);
});

test('publicUrl never throws, and every accepted URL is https with a full public domain name', () => {
  const fragment = fc.constantFrom(
    ...[
      'https://',
      'http://',
      '@',
      ':',
      '/',
      '\\',
      '%',
      '.',
      '。',
      '[',
      ']',
      '::',
      '127',
      '0x7f',
      '１',
      '443',
      'a',
      'com',
      '#',
      '?',
    ],
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.webUrl({ size: 'xsmall' }),
    fc.array(fc.oneof(fragment, fc.string({ maxLength: 3 }))).map((parts) => `https://${parts.join('')}`),
  );
  fc.assert(
    fc.property(text, (input) => {
      const url = publicUrl(input, []);
      if (!(url instanceof URL)) return url.message.length > 0;
      const { protocol, port, username, password, hostname } = url;
      return (
        protocol === 'https:' &&
        `${port}${username}${password}` === '' &&
        /^([a-z\d_-]{1,63}\.)+([a-z]{2,63}|xn--[a-z\d-]+)$/.test(hostname)
      );
    }),
    { numRuns: runs(1_000), examples: [['https://0。-'], ['https://0．-'], ['https://0｡-'], ['https://a.b。']] },
  );
});

test('isPublicAddress accepts only plain public unicast addresses', () => {
  assert.ok(NON_PUBLIC_ADDRESSES.length >= 140);
  for (const address of NON_PUBLIC_ADDRESSES) assert.equal(isPublicAddress(address), false, address);
  for (const address of PUBLIC_ADDRESSES) assert.equal(isPublicAddress(address), true, address);
});

test('isSameAddress compares addresses by value, not by spelling', () => {
  assert.ok(isSameAddress('2606:4700::1', '2606:4700:0:0::0001'));
  assert.ok(isSameAddress('::ffff:8.8.8.8', '8.8.8.8'));
  assert.ok(!isSameAddress('8.8.8.8', '8.8.4.4'));
  assert.ok(!isSameAddress('', ''));
  assert.ok(!isSameAddress('8.8.8.8', ''));
});
