/**
 * Credentials that a file names: `${NAME}`, `api_key_file` and so on. Only for files on the machine: a request to the
 * admin API must read neither.
 */
import type { SetupFile } from '../../schemas/index.ts';
import { checkSetup, readDocument } from './setup-document.ts';

export interface SecretSources {
  variable(name: string): string | undefined;
  /** Rejects when the file cannot be read. */
  file(path: string): Promise<string>;
}

/** Parses the text of a file and replaces what it names. Reports all errors of the file at once. */
export async function parseSetupFile(text: string, sources: SecretSources): Promise<SetupFile> {
  const document = readDocument(text);
  const lines: string[] = [];
  const { value } = document;
  if (isObject(value) && Array.isArray(value.accounts))
    for (const [n, account] of value.accounts.entries()) {
      if (!isObject(account)) continue;
      const at = `accounts[${n}]`;
      for (const field of ['api_key', 'proxy']) await replaceSecret({ holder: account, at, field }, sources, lines);
      if (!isObject(account.assets)) continue;
      for (const field of ['access_key', 'secret_key'])
        await replaceSecret({ holder: account.assets, at: `${at}.assets`, field }, sources, lines);
    }
  return checkSetup(document, lines);
}

type JsonRecord = Record<string, unknown>;

const isObject = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface SecretField {
  readonly holder: JsonRecord;
  readonly at: string;
  readonly field: string;
}

/** The whole value, so that a credential with a dollar sign is never changed in part. */
const REFERENCE = /^\s*\$\{([A-Za-z_][A-Za-z0-9_]*)\}\s*$/;
/** Keeps the schema from reporting the same field again. */
const UNRESOLVED = 'unresolved';

async function replaceSecret(secret: SecretField, sources: SecretSources, lines: string[]): Promise<void> {
  const { holder, at, field } = secret;
  if (`${field}_file` in holder && field !== 'access_key') return replaceByFile(secret, sources, lines);
  const value = holder[field];
  const name = typeof value === 'string' ? REFERENCE.exec(value)?.[1] : undefined;
  if (name === undefined) return;
  const found = sources.variable(name);
  if (!found?.trim())
    lines.push(
      `${at}.${field}: found \${${name}}, but the environment variable ${name} is ${found === undefined ? 'not set' : 'empty'}; set it, or write the credential itself`,
    );
  holder[field] = found?.trim() ? found : UNRESOLVED;
}

async function replaceByFile(
  { holder, at, field }: SecretField,
  sources: SecretSources,
  lines: string[],
): Promise<void> {
  const fileField = `${field}_file`;
  const path = holder[fileField];
  delete holder[fileField];
  if (field in holder) return void lines.push(`${at}.${fileField}: found it beside ${field}, expected one of the two`);
  holder[field] = UNRESOLVED;
  if (typeof path !== 'string' || path === '')
    return void lines.push(`${at}.${fileField}: expected the path of a file, relative to the configuration file`);
  const text = await sources.file(path).catch((error: Error) => error);
  if (typeof text !== 'string')
    lines.push(
      `${at}.${fileField}: ${path} cannot be read: ${text.message}; a path is relative to the configuration file`,
    );
  else if (text.trim() === '') lines.push(`${at}.${fileField}: ${path} is empty, expected a credential`);
  else holder[field] = text;
}
