/** Parser of the configuration file. Errors name the path, the value found and the value expected. */
import { type Document, parseDocument } from 'yaml';
import { SetupFile } from '../objects/index.ts';
import { issuesOf } from './issues.ts';

/** A rejected configuration file; nothing of it was applied. */
export class SetupError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(`The configuration is invalid; nothing was applied.\n  ${lines.join('\n  ')}`);
    this.lines = lines;
  }
}

export const parseSetup = (text: string): SetupFile => checkSetup(readDocument(text));

/** Reads YAML, and therefore JSON. */
export function readDocument(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0)
    throw new SetupError(document.errors.map((error) => error.message.split('\n')[0] ?? ''));
  return resolveAliases(document) ?? {};
}

/** `lines`: errors that are already known, reported together with those of the schema. */
export function checkSetup(value: unknown, lines: readonly string[] = []): SetupFile {
  const result = SetupFile.safeParse(value);
  const all = [...lines, ...(result.success ? [] : issuesOf(result.error, value))];
  if (!result.success || all.length > 0) throw new SetupError(all);
  return result.data;
}

/** `toJS` resolves aliases. The error does not repeat their names, because an unquoted secret may begin with an asterisk. */
function resolveAliases(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    throw new SetupError(['A value that begins with * is an alias without an anchor; put it in quotes if it is text']);
  }
}
