import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyRules } from './proxy-rules.ts';

const HTTP = 'http://proxy.test:3128';
const HTTPS = 'http://proxy.test:3129';

test('proxy: the environment names one for each scheme, and exceptions', () => {
  for (const [exceptions, origin, expected] of [
    ['', 'https://api.example.com', HTTPS],
    ['', 'http://api.example.com', HTTP],
    ['*', 'https://api.example.com', undefined],
    ['api.example.com', 'https://api.example.com', undefined],
    ['example.com', 'https://api.example.com', undefined],
    ['.example.com', 'https://api.example.com', undefined],
    ['*.example.com', 'https://api.example.com', undefined],
    ['.example.com', 'https://example.com', HTTPS],
    ['example.com', 'https://badexample.com', HTTPS],
    ['EXAMPLE.com', 'https://API.example.COM', undefined],
    ['other.test api.example.com', 'https://api.example.com', undefined],
    ['other.test,, api.example.com', 'https://api.example.com', undefined],
    ['api.example.com:443', 'https://api.example.com', undefined],
    ['api.example.com:8443', 'https://api.example.com', HTTPS],
    ['api.example.com:8443', 'https://api.example.com:8443', undefined],
    ['10.0.0.0/8', 'https://10.1.2.3', undefined],
    ['10.0.0.0/8', 'https://11.1.2.3', HTTPS],
    ['10.1.2.3:443', 'https://10.1.2.3', undefined],
    ['fd00::/8', 'https://[fd00::1]', undefined],
    ['[fd00::1]:443', 'https://[fd00::1]', undefined],
    ['2001:db8::1', 'https://[fd00::1]', HTTPS],
    ['(', 'https://api.example.com', HTTPS],
  ] as const)
    assert.equal(
      new ProxyRules({ http: HTTP, https: HTTPS, exceptions }).proxyFor(origin, undefined),
      expected,
      `${exceptions} ${origin}`,
    );
});

test('proxy: this machine is reached directly unless the account names a proxy', () => {
  const rules = new ProxyRules({ http: HTTP, https: HTTPS });
  for (const origin of ['http://localhost:1', 'http://a.localhost', 'http://127.0.0.9', 'http://[::1]:1']) {
    assert.equal(rules.proxyFor(origin, undefined), undefined, origin);
    assert.equal(rules.proxyFor(origin, 'socks5://own.test'), 'socks5://own.test', origin);
  }
});

test('proxy: that of the account comes first, and none switches the environment off', () => {
  const rules = new ProxyRules({ https: HTTPS, exceptions: '*' });
  assert.equal(rules.proxyFor('https://api.example.com', 'http://own.test'), 'http://own.test');
  assert.equal(new ProxyRules({ https: HTTPS }).proxyFor('https://api.example.com', 'none'), undefined);
  assert.equal(new ProxyRules().proxyFor('https://api.example.com', undefined), undefined);
});
