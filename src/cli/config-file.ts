/** Configuration files of `apply` and `serve --config`: reading one, and reporting what applying it changed. */
import { readFile } from 'node:fs/promises';
import { CliError } from '../main.ts';
import { type Applied, parseSetup, type SetupFile } from '../setup/index.ts';
import { info, print } from './output.ts';

/** Warns about a file without any object, because applying it changes nothing. */
export async function readSetup(path: string): Promise<SetupFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'ENOENT'
        ? `There is no file ${path}. Check the path.`
        : `${path} cannot be read: ${error.message}.`,
    );
  });
  const file = parseSetup(text);
  if (Object.values(file).every((objects) => objects.length === 0))
    info(`${path} is empty: it names no ${Object.keys(file).join(', ')}. README.md shows an example.`);
  return file;
}

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
