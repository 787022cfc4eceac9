import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../test/support/properties.ts';
import { INWARD_ADDRESSES, PASSED, PUBLIC_ADDRESSES, REFUSED } from '../../test/support/urls.ts';
import { isPublicAddress, isSameAddress } from './address.ts';
import { publicUrl } from './url.ts';

const hrefOf = (text: string, allow: readonly string[] = []): string | undefined => {
  const url = publicUrl(text, allow);
  return url instanceof URL ? url.href : undefined;
};

test('every address of the table is refused, for the reason that it is there for', () => {
  assert.ok(new Set(REFUSED.flatMap(([, urls]) => urls)).size >= 600);
  for (const [sentence, urls] of REFUSED) {
    for (const text of urls) {
      const url = publicUrl(text, []);
      assert.ok(!(url instanceof URL), `passed: ${JSON.stringify(text)}`);
      assert.match(url.message, sentence, JSON.stringify(text));
      assert.match(url.message, /^The [^\n]{10,90}\.$/);
    }
  }
});

test('ordinary addresses pass, in the form that the parser gives them', () => {
  for (const [text, href] of PASSED) assert.equal(hrefOf(text), href);
});

test('an allowed origin passes whatever its scheme, port and host, and only that origin', () => {
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

test('whatever the text, the answer is a value, and what passes has the promised form', () => {
  const piece = fc.constantFrom(
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
    fc.array(fc.oneof(piece, fc.string({ maxLength: 3 }))).map((parts) => `https://${parts.join('')}`),
  );
  fc.assert(
    fc.property(text, (given) => {
      const url = publicUrl(given, []);
      if (!(url instanceof URL)) return url.message.length > 0;
      const { protocol, port, username, password, hostname } = url;
      return (
        protocol === 'https:' &&
        `${port}${username}${password}` === '' &&
        /^[\w-]+(\.[\w-]+)*\.[\w-]*[a-z][\w-]*$/.test(hostname)
      );
    }),
    { numRuns: runs(1_000) },
  );
});

test('only plain public unicast is public', () => {
  assert.ok(INWARD_ADDRESSES.length >= 140);
  for (const address of INWARD_ADDRESSES) assert.equal(isPublicAddress(address), false, address);
  for (const address of PUBLIC_ADDRESSES) assert.equal(isPublicAddress(address), true, address);
});

test('an address is the same however it is written', () => {
  assert.ok(isSameAddress('2606:4700::1', '2606:4700:0:0::0001'));
  assert.ok(isSameAddress('::ffff:8.8.8.8', '8.8.8.8'));
  assert.ok(!isSameAddress('8.8.8.8', '8.8.4.4'));
  assert.ok(!isSameAddress('', ''));
  assert.ok(!isSameAddress('8.8.8.8', ''));
});
