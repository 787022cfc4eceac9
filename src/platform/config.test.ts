import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, loadConfig } from './config.ts';

/** The lines of the error, without the first. */
function linesFor(env: NodeJS.ProcessEnv): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message.split('\n').slice(1);
  }
  return assert.fail('the environment is accepted');
}

test('loadConfig uses the default of an empty variable', () => {
  assert.equal(loadConfig({ PORT: '' }).PORT, 8080);
});

test('loadConfig names the range and the value of an invalid setting, once', () => {
  assert.deepEqual(linesFor({ PORT: 'eighty', DRAIN_MS: '-1.5', LOG_LEVEL: 'loud', AUTH_FAILURES_PER_MINUTE: '0' }), [
    '  PORT: must be a whole number from 0 to 65535, found "eighty"',
    '  LOG_LEVEL: must be debug, info, warn, error or silent, found "loud"',
    '  DRAIN_MS: must be a whole number from 0 to 86400000, found "-1.5"',
    '  AUTH_FAILURES_PER_MINUTE: must be a whole number of at least 1, found "0"',
  ]);
});

test('loadConfig does not repeat the value of a secret setting', () => {
  const secret = 'do-not-repeat';
  const env = { MASTER_KEY: secret, ADMIN_TOKEN: secret, DATABASE_URL: secret, REDIS_URL: secret, HTTPS_PROXY: secret };
  const lines = linesFor(env);
  assert.equal(new Set(lines.map((line) => line.trim().split(':')[0])).size, Object.keys(env).length);
  assert.ok(!lines.join('\n').includes(secret), lines.join('\n'));
});

test('loadConfig requires TLS_CERT and TLS_KEY together', () => {
  assert.deepEqual(linesFor({ TLS_CERT: '/a.pem' }), ['  TLS_KEY: must be set together with TLS_CERT']);
  assert.deepEqual(linesFor({ TLS_KEY: '/a.pem' }), ['  TLS_CERT: must be set together with TLS_KEY']);
  assert.equal(loadConfig({ TLS_CERT: '/a.pem', TLS_KEY: '/b.pem' }).TLS_KEY, '/b.pem');
});

test('loadConfig reads CORS_ORIGINS as origins or a star alone', () => {
  assert.deepEqual(loadConfig({}).CORS_ORIGINS, []);
  assert.deepEqual(loadConfig({ CORS_ORIGINS: '*' }).CORS_ORIGINS, ['*']);
  assert.deepEqual(loadConfig({ CORS_ORIGINS: 'HTTPS://A.example:443/, app://local,' }).CORS_ORIGINS, [
    'https://a.example',
    'app://local',
  ]);
  for (const CORS_ORIGINS of ['*, https://a.example', 'https://a.example/path', 'a.example', 'https://*.example'])
    assert.equal(linesFor({ CORS_ORIGINS }).length, 1, CORS_ORIGINS);
});

test('loadConfig reads the proxies in upper and lower case, and the upper case comes first', () => {
  const proxy = 'http://user:password@proxy.test:3128';
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = loadConfig({
    https_proxy: proxy,
    HTTP_PROXY: 'socks5://one.test',
    http_proxy: 'socks5://two.test',
    no_proxy: 'a.test,.b.test',
  });
  assert.deepEqual([HTTPS_PROXY, HTTP_PROXY, NO_PROXY], [proxy, 'socks5://one.test', 'a.test,.b.test']);
  for (const name of ['HTTPS_PROXY', 'https_proxy'])
    assert.throws(
      () => loadConfig({ [name]: 'proxy.test:do-not-repeat' }),
      (error: Error) => /HTTPS_PROXY: must be a URL of a proxy/.test(error.message) && !/do-not/.test(error.message),
    );
});
