/** The whole configuration as one document, the same that `dragoman apply` takes; YAML or JSON. */
import { BODY_BYTES } from '../rules/index.ts';
import { applySetup, parseSetup, SetupError, type SetupFile } from '../setup/index.ts';
import { type Call, expectJson, mediaType, readBody, sendJson } from '../web/index.ts';
import type { AdminHandler } from './handler.ts';
import { isUnstorable, rejection } from './request-body.ts';

const YAML = new Set(['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml']);

export const applyConfig: AdminHandler = async ({ call, query, by }, { db, secrets }) => {
  const dryRun = query.flag('dry_run');
  const prune = query.flag('prune');
  try {
    const { changes, keys } = await applySetup(db, await readSetup(call), { secrets, prune, dryRun, by });
    sendJson(call, 200, {
      object: 'config',
      dry_run: dryRun,
      changes,
      // Those of a dry run were never made.
      keys: dryRun ? [] : keys.map(({ token, ...key }) => ({ ...key, value: token })),
    });
  } catch (error) {
    throw error instanceof SetupError ? rejection(error.lines) : error;
  }
};

async function readSetup(call: Call): Promise<SetupFile> {
  if (!YAML.has(mediaType(call))) expectJson(call);
  const file = parseSetup((await readBody(call, BODY_BYTES.small)).toString('utf8'));
  if (isUnstorable(file)) throw rejection(['the document holds text that cannot be stored']);
  return file;
}
