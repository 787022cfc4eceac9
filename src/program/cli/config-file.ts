/** Configuration files of `apply` and `serve --config`: reading one, and reporting what applying it changed. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Applied, describeEffect, hasDemo, parseSetupFile, UNPRICED_ADVICE } from '../../catalog/setup/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { CliError } from '../server/index.ts';
import { info, print } from './output.ts';

/** A credential is far shorter; the limit keeps a wrong path from being read into memory. */
const MAX_SECRET_FILE_BYTES = 64 * 1024;

/** Far above any configuration that was written by hand. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

export const STDIN = '-';

/** Paths in a configuration from standard input are relative to the working directory. */
export async function readSetup(path: string): Promise<SetupFile> {
  const text = path === STDIN ? await readStdin() : await readConfiguration(path);
  const file = await parseSetupFile(text, {
    variable: (name) => process.env[name],
    file: (name) => readSecretFile(resolve(dirname(path), name)),
  });
  if (isEmpty(file))
    info(`${path} is empty: it names no ${Object.keys(file).join(', ')}. docs/guides/quick-start.md shows an example.`);
  return file;
}

const readConfiguration = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'ENOENT'
        ? `There is no file ${path}. Check the path.`
        : `${path} cannot be read: ${error.message}. Check the path and its permissions.`,
    );
  });

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FILE_BYTES) throw new CliError(`Standard input has more than ${MAX_FILE_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readSecretFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_SECRET_FILE_BYTES) throw new Error(`it has ${size} bytes, expected one credential`);
  return readFile(path, 'utf8');
}

/** Applying an empty file changes nothing, unless it prunes. */
export const isEmpty = (file: SetupFile): boolean => Object.values(file).every((objects) => objects.length === 0);

interface ReportOptions {
  readonly path: string;
  /** Nothing was changed, and the keys of the report do not exist. */
  readonly isDryRun?: boolean;
}

export function reportApplied(
  { changes, effects, keys, rotated, unnamed, unpriced, warnings }: Applied,
  { path, isDryRun = false }: ReportOptions,
): void {
  const verb = isDryRun ? 'would be ' : '';
  for (const { what, object } of changes) info(`  ${object} ${verb}${what}`);
  if (effects.length > 0) info('Effect on models that exist:');
  for (const effect of effects) info(`  ${describeEffect(effect)}`);
  info(
    changes.length === 0
      ? 'No changes: the database already matches the file.'
      : `${changes.length} ${changes.length === 1 ? 'object' : 'objects'} ${verb}changed.`,
  );
  for (const warning of warnings) info(`Warning: ${warning}`);
  if (unpriced.length > 0) info(`Models without a price: ${listed(unpriced)}. ${UNPRICED_ADVICE}`);
  if (rotated.length > 0)
    info(
      `Keys that were rotated after the file was written, and keep their newer value: ${listed(rotated)}. Remove \`key\` from these entries of ${path}.`,
    );
  if (unnamed.length > 0)
    info(
      `Not in the file, and kept: ${listed(unnamed)}. To see and remove what the file does not name: npx dragoman apply ${path} --prune`,
    );
  if (isDryRun) return;
  for (const key of keys) {
    info(`Key ${key.name} of ${key.user} for ${key.group}, shown only once:`);
    print(key.token);
  }
}

const MAX_LISTED = 5;

const listed = (objects: readonly string[]): string =>
  objects.length <= MAX_LISTED
    ? objects.join(', ')
    : `${objects.slice(0, MAX_LISTED).join(', ')} and ${objects.length - MAX_LISTED} more`;

/**
 * With a configuration file the simulated providers do not run, so the accounts of an earlier demo cannot be reached.
 */
export async function reportDemoLeft(db: Db, path: string): Promise<void> {
  if (await hasDemo(db))
    info(
      `The demo is still installed, but its simulated providers do not run with --config: demo keys get 502. To remove it: npx dragoman apply ${path} --prune`,
    );
}
