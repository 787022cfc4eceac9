import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseSetupFile } from './secrets.ts';
import { parseSetup, SetupError } from './setup-document.ts';

const VARIABLES: Readonly<Record<string, string>> = {
  CLAUDE_KEY: 'sk-from-env\n',
  EMPTY: '  ',
  BROKEN: 'sk-\u0007',
  PROXY: 'http://u:p@proxy.test',
};
const FILES: Readonly<Record<string, string>> = {
  'keys/claude': '  sk-from-file\r\n',
  'keys/empty': '\n',
  'keys/proxy': 'socks5://proxy.test\n',
};

const sources = {
  variable: (name: string) => VARIABLES[name],
  async file(path: string) {
    const text = FILES[path];
    if (text === undefined) throw new Error('ENOENT: no such file or directory');
    return text;
  },
};

const ref = (name: string): string => `\${${name}}`;
const account = (fields: object) => ({ id: 'a', group: 'g', base_url: 'https://x.test', ...fields });
const assets = (fields: object) => ({ base_url: 'https://x.test', region: 'r', project: 'p', ...fields });
const parse = (...accounts: object[]) => parseSetupFile(JSON.stringify({ accounts }), sources);

async function linesFor(...accounts: object[]): Promise<readonly string[]> {
  try {
    await parse(...accounts);
  } catch (error) {
    assert.ok(error instanceof SetupError, String(error));
    return error.lines;
  }
  return assert.fail('the file is accepted');
}

test('parseSetupFile takes credentials from the environment and from files, without surrounding white space', async () => {
  const { accounts } = await parse(
    account({ api_key: ref('CLAUDE_KEY') }),
    account({ api_key_file: 'keys/claude' }),
    account({
      api_key: ' sk-plain\n',
      assets: assets({ access_key: ref('CLAUDE_KEY'), secret_key: ref('CLAUDE_KEY') }),
    }),
    account({ api_key: 'sk', assets: assets({ access_key: 'AK', secret_key_file: 'keys/claude' }) }),
  );
  assert.deepEqual(
    accounts.map(({ api_key }) => api_key),
    ['sk-from-env', 'sk-from-file', 'sk-plain', 'sk'],
  );
  assert.deepEqual(accounts.map((one) => [one.assets?.access_key, one.assets?.secret_key]).slice(2), [
    ['sk-from-env', 'sk-from-env'],
    ['AK', 'sk-from-file'],
  ]);
});

test('parseSetupFile reports every credential that it cannot find, by its path', async () => {
  assert.deepEqual(
    await linesFor(
      account({ api_key: ref('MISSING') }),
      account({ api_key: ref('EMPTY') }),
      account({ api_key_file: 'keys/none' }),
      account({ api_key_file: 'keys/empty' }),
      account({ api_key_file: 'keys/claude', api_key: 'sk' }),
      account({ api_key_file: 7 }),
      account({ api_key: 'sk', assets: assets({ access_key: 'AK', secret_key: ref('MISSING') }), weight: -1 }),
    ),
    [
      `accounts[0].api_key: found ${ref('MISSING')}, but the environment variable MISSING is not set; set it, or write the credential itself`,
      `accounts[1].api_key: found ${ref('EMPTY')}, but the environment variable EMPTY is empty; set it, or write the credential itself`,
      'accounts[2].api_key_file: keys/none cannot be read: ENOENT: no such file or directory; a path is relative to the configuration file',
      'accounts[3].api_key_file: keys/empty is empty, expected a credential',
      'accounts[4].api_key_file: found it beside api_key, expected one of the two',
      'accounts[5].api_key_file: expected the path of a file, relative to the configuration file',
      `accounts[6].assets.secret_key: found ${ref('MISSING')}, but the environment variable MISSING is not set; set it, or write the credential itself`,
      'accounts[6].weight: found -1, expected at least 0',
    ],
  );
});

test('a credential with a control character, a line end or a part of a reference is refused by its path, and never shown', async () => {
  const secret = 'found text (not shown), expected one line of ASCII characters';
  const lines = await linesFor(
    account({ api_key: 'sk-a\nsk-b' }),
    account({ api_key: ref('BROKEN') }),
    account({ api_key: `Bearer ${ref('CLAUDE_KEY')}` }),
    account({ api_key: 'sk-é' }),
    account({ api_key: 'sk', assets: assets({ access_key: 'AK\t1', secret_key: 'S\u0000' }) }),
  );
  assert.deepEqual(
    lines.map((line) => line.split('. ')[0]),
    ['[0].api_key', '[1].api_key', '[2].api_key', '[3].api_key', '[4].assets.access_key', '[4].assets.secret_key'].map(
      (path) => `accounts${path}: ${secret}`,
    ),
  );
});

test('parseSetup, which the admin API uses, reads neither variables nor files', () => {
  for (const fields of [{ api_key: ref('PATH') }, { api_key: 'sk', api_key_file: '/etc/hostname' }])
    assert.throws(() => parseSetup(JSON.stringify({ accounts: [account(fields)] })), SetupError);
});

test('the configuration file in docs/guides/quick-start.md is accepted, with a price for every model', async () => {
  const page = readFileSync(new URL('../../../docs/guides/quick-start.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { accounts, models } = await parseSetupFile(yaml, { variable: (name) => `sk-${name}`, file: async () => '' });
  assert.deepEqual(
    accounts.map(({ api_key }) => api_key),
    ['sk-ANTHROPIC_KEY', 'sk-OPENAI_KEY'],
  );
  assert.ok(models.length >= 3 && models.every(({ prices }) => prices?.input !== undefined));
});

test('proxy: its URL may come from the environment or from a file', async () => {
  const { accounts } = await parse(
    account({ api_key: 'sk', proxy: ref('PROXY') }),
    account({ api_key: 'sk', proxy_file: 'keys/proxy' }),
    account({ api_key: 'sk', proxy: 'none' }),
  );
  assert.deepEqual(
    accounts.map(({ proxy }) => proxy),
    ['http://u:p@proxy.test', 'socks5://proxy.test', 'none'],
  );
  assert.deepEqual(await linesFor(account({ api_key: 'sk', proxy: ref('CLAUDE_KEY') })), [
    'accounts[0].proxy: found text (not shown), expected a URL of a proxy: http://, https://, socks5:// or socks5h:// with a host, and perhaps user:password@ and a port; or none, or environment',
  ]);
});
