/** Parser of the configuration file. Errors name the path, the value found, the value expected, and the line. */
import { type Document, LineCounter, parseDocument } from 'yaml';
import { repeatedMember, valueOfJson } from '../../core/index.ts';
import { SetupFile } from '../../schemas/index.ts';
import { issuesOf } from './issues.ts';
import { aliasWhere, type Locate, locator, positionText } from './positions.ts';

/** A rejected configuration file; nothing of it was applied. */
export class SetupError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(`The configuration is invalid; nothing was applied.\n  ${lines.join('\n  ')}`);
    this.lines = lines;
  }
}

/** A file that must only create names something of the database; nothing of it was applied. */
export class ExistsError extends Error {
  /** Its path in the file. */
  readonly field: string;
  /** Kind and name. */
  readonly object: string;
  constructor(field: string, object: string) {
    super(`${field}: ${object} exists.`);
    this.field = field;
    this.object = object;
  }
}

export const parseSetup = (text: string): SetupFile => checkSetup(readDocument(text));

export interface SetupDocument {
  readonly value: unknown;
  readonly locate: Locate;
}

/** Reads YAML, and therefore JSON, which takes a hundredth of the time of the event loop. */
export function readDocument(text: string): SetupDocument {
  const value = valueOfJson(text);
  if (typeof value !== 'object' || value === null || repeatedMember(text) !== undefined) return readYaml(text);
  let locate: Locate | undefined;
  return {
    value,
    locate: (message) => {
      locate ??= readYaml(text).locate;
      return locate(message);
    },
  };
}

function readYaml(text: string): SetupDocument {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  if (document.errors.length > 0) {
    // The parser says so of what it cannot go into, and finds further errors behind it.
    const tooDeep = document.errors.find(({ message }) => message.includes('call stack'));
    throw new SetupError(
      tooDeep
        ? [`Lists and objects are nested too deeply (${positionText(lineCounter, tooDeep.pos[0])})`]
        : document.errors.map(({ message, pos }) => `${message} (${positionText(lineCounter, pos[0])})`),
    );
  }
  // A position says nothing about a document that a program wrote in one line.
  const isOneLine = lineCounter.lineStarts.length <= 1;
  return {
    value: resolveAliases(document, lineCounter) ?? {},
    locate: isOneLine ? (message) => message : locator(document, lineCounter),
  };
}

/** `lines`: errors that are already known, reported together with those of the schema. */
export function checkSetup({ value, locate }: SetupDocument, lines: readonly string[] = []): SetupFile {
  const result = SetupFile.safeParse(value);
  const all = [...lines, ...(result.success ? [] : issuesOf(result.error, value))];
  if (!result.success || all.length > 0) throw new SetupError(all.map(locate));
  locators.set(result.data, locate);
  return result.data;
}

const locators = new WeakMap<SetupFile, Locate>();

/** Positions in the text that the file was parsed from; none for a file that was not. */
export const located = (file: SetupFile, messages: readonly string[]): string[] =>
  messages.map(locators.get(file) ?? ((message) => message));

/** `toJS` resolves aliases. The error does not repeat their names, because an unquoted secret may begin with an asterisk. */
function resolveAliases(document: Document, lines: LineCounter): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (String(error).includes('Excessive alias count'))
      throw new SetupError([
        `Aliases repeat aliases, so that the document would grow too large; write their values (${positionText(
          lines,
          aliasWhere(document, () => true),
        )})`,
      ]);
    const dangling = aliasWhere(document, (alias) => !alias.resolve(document));
    throw new SetupError([
      `A value that begins with * is an alias without an anchor; put it in quotes if it is text (${positionText(lines, dangling)})`,
    ]);
  }
}
