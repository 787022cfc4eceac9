/**
 * `npm run replay -- FOLDER...`: replays recordings of real provider traffic through the gateway, natively and
 * converted, and compares. Exits with 1 when a difference has no rule in `replay/known.ts`.
 */
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../test/setup.ts';
import { drive } from './replay/drive.ts';
import { readLibrary } from './replay/library.ts';
import type { Recording } from './replay/recording.ts';
import { Report } from './replay/report.ts';

const HELP = `Usage: npm run replay -- [--only PATTERN] [--limit N] FOLDER...

Replays every recording below the folders: VCR cassettes (YAML or JSON, also gzipped), HAR files, and fixtures of responses
(JSON, chunks one a line, server-sent events). A folder is one collection, named by its last part.

  --only PATTERN  only files whose path below the folder matches the regular expression
  --limit N       at most N recordings of each folder
`;

const { values, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    limit: { type: 'string', default: 'Infinity' },
    help: { type: 'boolean', default: false },
  },
});
const limit = Number(values.limit);
if (values.help || folders.length === 0 || !(limit > 0)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 1);
}

const report = new Report();
await globalSetup();
try {
  await drive(recordings(), (outcome) => report.add(outcome));
} finally {
  await globalTeardown();
}
process.stdout.write(`${report.text()}\n`);
if (report.differences > 0) process.exitCode = 1;

async function* recordings(): AsyncGenerator<readonly Recording[]> {
  const only = new RegExp(values.only);
  for (const folder of folders) {
    let count = 0;
    const skip = (reason: string): void => report.skip(folder.replace(/\/+$/, '').split('/').at(-1) ?? folder, reason);
    for await (const ofFile of readLibrary(folder, { only, skip })) {
      yield ofFile.slice(0, limit - count);
      count += ofFile.length;
      if (count >= limit) break;
    }
  }
}
