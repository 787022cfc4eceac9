/** Parser of the configuration file. Errors name the path, the value found, the value expected, and the line. */
import { type Alias, type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { repeatedMember, valueOfJson } from '../../core/index.ts';
import { SetupFile } from '../../schemas/index.ts';
import { issuesOf } from './issues.ts';

export class SetupError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(`The configuration is invalid; nothing was applied.\n  ${lines.join('\n  ')}`);
    this.lines = lines;
  }
}

/** A file that must only create names something of the database; nothing of it was applied. */
export class ExistsError extends Error {
  readonly field: string;
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
  // A position says nothing about a document that a program wrote in one line.
  if (!text.includes('\n')) return { value, locate: (message) => message };
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

/**
 * `toJS` resolves aliases. The error does not repeat their names, because an unquoted secret may begin with an
 * asterisk.
 */
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

/** Adds the position to a message. What the file does not contain has the position of the object that lacks it. */
export type Locate = (message: string) => string;

export const locator =
  (document: Document, lines: LineCounter): Locate =>
  (message) =>
    `${message} (${positionText(lines, offsetOf(document.contents, message.slice(0, message.indexOf(': '))))})`;

export function positionText(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `line ${line}, column ${col}`;
}

/** Members are at their names, entries of lists at their beginning. */
function offsetOf(contents: Node | null, path: string): number {
  let [node, rest, offset]: [unknown, string, number] = [contents, path, contents?.range?.[0] ?? 0];
  for (;;) {
    const step = nextStep(node, rest);
    if (!step) return offset;
    [node, rest, offset] = [step.value, step.rest, step.at.range?.[0] ?? offset];
  }
}

interface Step {
  readonly at: Node;
  readonly value: unknown;
  readonly rest: string;
}

function nextStep(node: unknown, path: string): Step | undefined {
  if (isSeq<Node>(node)) {
    const [all = '', index = ''] = /^\[(\d+)\]\.?/.exec(path) ?? [];
    const item = node.items[Number.parseInt(index, 10)];
    return item && { at: item, value: item, rest: path.slice(all.length) };
  }
  if (!isMap(node)) return undefined;
  // A name may contain dots, such as that of a model; the longest one that fits is meant.
  const [found] = node.items
    .flatMap(({ key, value }) => (isScalar(key) && isAtStart(String(key.value), path) ? [{ key, value }] : []))
    .sort((a, b) => String(b.key.value).length - String(a.key.value).length);
  if (!found) return undefined;
  return { at: found.key, value: found.value, rest: path.slice(String(found.key.value).length).replace(/^\./, '') };
}

const isAtStart = (name: string, path: string): boolean =>
  path.startsWith(name) && ['', '.', '['].includes(path.charAt(name.length));

export function aliasWhere(document: Document, matches: (alias: Alias) => boolean): number {
  let offset = 0;
  visit(document, {
    Alias(_, alias) {
      if (!matches(alias)) return undefined;
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}
