/** The configurations in README.md and the pages of docs: `apply --dry-run` takes each of them, without a warning. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { ROOT } from '../../scripts/modules.ts';
import { blocksOf } from '../../scripts/pages.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const PAGES = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].toSorted();
const PARTS = ['groups', 'accounts', 'models', 'users', 'keys', 'characters'];
const EXAMPLES = PAGES.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8'))).filter(
  ({ language, text }) => language === 'yaml' && Object.keys(parse(text)).every((part) => PARTS.includes(part)),
);

/** What examples that show a part of a configuration refer to. */
const REFERRED = {
  groups: [
    ...['claude', 'anthropic', 'bedrock'].map((id) => ({ id, style: 'messages' })),
    ...['openai', 'local'].map((id) => ({ id, style: 'responses' })),
    { id: 'gemini', style: 'generate-content' },
    { id: 'video-a', style: 'video', variant: 'A' },
  ],
  users: [{ id: 'ana' }],
};

/** What a fallback to another style loses, which its page says too. */
const EXPLAINED = /so that requests are converted there/;

let gateway: TestGateway;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-examples-'));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = {
    type: 'service_account',
    client_email: 'gateway@my-project-1.iam.gserviceaccount.com',
    private_key_id: 'one',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: 'https://oauth2.googleapis.com/token',
  };
  writeFileSync(join(folder, 'service-account.json'), JSON.stringify(key));
  gateway = await startGateway();
  await gateway.apply(REFERRED);
});
after(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('pages have examples of configurations', () => assert.ok(EXAMPLES.length >= 10, String(EXAMPLES.length)));

for (const { page, line, text } of EXAMPLES)
  test(`apply takes the example of ${page}, line ${line}`, async () => {
    const path = join(folder, 'dragoman.yaml');
    writeFileSync(path, text);
    const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
    const secrets = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'sk-example']));
    const env = { DATA_DIR, DATABASE_URL, MASTER_KEY, ...secrets };
    const { code, stdout, stderr } = await runHere(['apply', '--dry-run', path], { env });
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      (stdout + stderr).split('\n').filter((row) => /^Warning/.test(row) && !EXPLAINED.test(row)),
      [],
    );
  });
