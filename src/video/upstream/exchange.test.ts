import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserLink } from './exchange.ts';

test('browserLink() accepts https, and http only on the host of an account that is reached by http', () => {
  const accepted = [
    ['https://verify.example.com/h5?token=1', 'https://api.example.com'],
    ['https://verify.example.com/', 'http://127.0.0.1:9'],
    ['http://127.0.0.1:8/h5', 'http://127.0.0.1:9'],
  ] as const;
  for (const [link, account] of accepted) assert.equal(browserLink(link, account), link);
  const rejected = [
    ['javascript:alert(1)', 'https://api.example.com'],
    ['data:text/html,x', 'https://api.example.com'],
    ['http://127.0.0.1/h5', 'https://api.example.com'],
    ['http://10.0.0.1/h5', 'http://127.0.0.1:9'],
    ['http://api.example.com/h5', 'https://api.example.com'],
    ['//verify.example.com', 'https://api.example.com'],
    [undefined, 'https://api.example.com'],
  ] as const;
  for (const [link, account] of rejected) assert.equal(browserLink(link, account), undefined, String(link));
});
