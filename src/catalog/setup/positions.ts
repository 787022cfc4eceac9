/** Line and column of what a message about a configuration file begins with, such as `accounts[0].base_url: missing`. */
import { type Alias, type Document, isMap, isScalar, isSeq, type LineCounter, type Node, visit } from 'yaml';

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
  /** The node whose beginning is shown. */
  readonly at: Node;
  readonly value: unknown;
  /** The path from there. */
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

/** Where the first alias is that matches. */
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
