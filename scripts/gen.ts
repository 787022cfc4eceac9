/**
 * `npm run gen`: writes the generated files. Run it after changing a table or a migration; `npm run check` finds stale
 * files.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADMIN_SCHEMAS } from '../src/api/admin/index.ts';
import { CONSOLE_SCHEMAS } from '../src/api/console/index.ts';
import { environmentTable } from '../src/platform/config.ts';
import { connect, joinEmbedded, migrate, openDatabase } from '../src/platform/db/index.ts';
import { version } from '../src/platform/version.ts';
import { renderClauses } from './clauses.ts';
import { renderConfig } from './gen-config.ts';
import { renderEndpoints, renderErrors, renderFidelity, withBounds } from './gen-docs.ts';
import { renderKubernetes } from './gen-kubernetes.ts';
import { renderRows } from './gen-rows.ts';
import { ROOT } from './modules.ts';
import { withMetrics } from './observe.ts';
import { openApi } from './openapi/index.ts';
import { withClients } from './pages.ts';
import { type Part, runPart } from './parts.ts';

const HTTP_README = 'src/platform/http/README.md';
const METRICS = 'docs/operating/metrics.md';

async function generate(): Promise<Map<string, string>> {
  return new Map([
    [
      'openapi.json',
      `${JSON.stringify(openApi({ version, admin: ADMIN_SCHEMAS, console: CONSOLE_SCHEMAS }), null, 1)}\n`,
    ],
    ['docs/endpoints.md', renderEndpoints()],
    ['docs/errors.md', renderErrors()],
    ['docs/fidelity.md', renderFidelity()],
    ['docs/config.md', renderConfig(environmentTable())],
    ['docs/clauses.md', renderClauses()],
    [HTTP_README, withBounds(read(HTTP_README) ?? '')],
    [METRICS, withMetrics(read(METRICS) ?? '')],
    ...renderKubernetes(),
    ...guides(),
    ['migrations/rows.ts', await rows()],
  ]);
}

/** Pages that people write, with blocks that are generated. */
const guides = (): [string, string][] =>
  globSync('docs/guides/*.md', { cwd: ROOT }).map((path) => [path, withClients(read(path) ?? '')]);

/** Migrates a temporary database and reads its schema. */
async function rows(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-gen-'));
  // PostgreSQL does not run as root. If its user cannot enter this folder, the database is elsewhere and is not removed
  // below.
  chmodSync(dataDir, 0o711);
  const embedded = await joinEmbedded({ dataDir, durable: false });
  try {
    return format(await migratedRows(embedded.url));
  } finally {
    await embedded.leave();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Closes its connections before the database stops, so that an error in here is the one that is reported. */
async function migratedRows(url: string): Promise<string> {
  const database = openDatabase(url);
  try {
    await migrate(url);
  } finally {
    await database.close();
  }
  const client = await connect(url);
  try {
    return await renderRows(client);
  } finally {
    await client.end();
  }
}

const format = (text: string): string =>
  execFileSync(join(ROOT, 'node_modules/.bin/biome'), ['format', '--stdin-file-path=rows.ts'], {
    input: text,
    cwd: ROOT,
    encoding: 'utf8',
  });

export async function staleFiles(): Promise<string[]> {
  const files = await generate();
  return [...files]
    .filter(([path, text]) => read(path) !== text)
    .map(([path]) => `${path} is stale; run "npm run gen"`);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch {
    return undefined;
  }
}

const PARTS = {
  files: { about: 'the reference pages, openapi.json and migrations/rows.ts', run: writeFiles },
  schemas: {
    about: 'test/schemas from the types of the SDKs, after an update of an SDK; half a minute',
    run: async () => (await import('./gen-schemas.ts')).writeSchemas(),
  },
  tokens: {
    about: 'src/core/token-costs.ts from the token corpus',
    run: async () => (await import('./fit-token-costs.ts')).writeTokenCosts(),
  },
} as const satisfies Record<string, Part>;

async function writeFiles(): Promise<void> {
  for (const [path, text] of await generate()) {
    if (read(path) === text) continue;
    writeFileSync(join(ROOT, path), text);
    console.log(`wrote ${path}`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await runPart('gen', PARTS, 'files');
