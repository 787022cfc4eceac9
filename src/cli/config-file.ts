/** Configuration files of `apply` and `serve --config`: reading one, and reporting what applying it changed. */
import { readFile } from 'node:fs/promises';
import { CliError } from '../main.ts';
import { type Applied, parseSetup, type SetupFile } from '../setup/index.ts';
import { info, print } from './output.ts';

export async function readSetup(path: string): Promise<SetupFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'ENOENT'
        ? `There is no file ${path}. Check the path.`
        : `${path} cannot be read: ${error.message}.`,
    );
  });
  const file = parseSetup(text);
  if (isEmpty(file)) info(`${path} is empty: it names no ${Object.keys(file).join(', ')}. README.md shows an example.`);
  return file;
}

/** Applying an empty file changes nothing, unless it prunes. */
export const isEmpty = (file: SetupFile): boolean => Object.values(file).every((objects) => objects.length === 0);

/** `verb` is `would be ` for a dry run, whose keys do not exist. */
export function reportApplied({ changes, keys }: Applied, verb: '' | 'would be ' = ''): void {
  for (const { what, object } of changes) info(`  ${object} ${verb}${what}`);
  info(
    changes.length === 0
      ? 'No changes: the database already matches the file.'
      : `${changes.length} ${changes.length === 1 ? 'object' : 'objects'} ${verb}changed.`,
  );
  if (verb !== '') return;
  for (const key of keys) {
    info(`Key ${key.name} of ${key.user} for ${key.group}, shown only once:`);
    print(key.token);
  }
}
