/** Tokens that the machine is given as a file. */
import { readFile } from 'node:fs/promises';
import { SignInError } from './sign-in-error.ts';

/** Reads the file each time: Kubernetes replaces it before the token in it ends. */
export async function readTokenFile(path: string | undefined, variable: string): Promise<string> {
  if (path === undefined) throw new SignInError(`${variable} is not set on this machine.`, 'TOKEN_FILE', true);
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.trim() !== '') return text.trim();
  throw new SignInError(`The file of ${variable} cannot be read or is empty.`, 'TOKEN_FILE', false);
}
