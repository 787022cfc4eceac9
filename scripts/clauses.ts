/** Clauses of the contract and the tests that prove them, found by the titles of tests: `test('V 4.2 r3: ...')`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';
import { codeOnly, lineOf, type Token, tokenize } from './source-tokens.ts';

export interface ClauseTest {
  /** Such as `V 4.2 r3`; a title may cite several. */
  readonly clauses: readonly string[];
  /** Without the clauses; `...` stands for values that are known only when the test runs. */
  readonly title: string;
  readonly file: string;
  readonly line: number;
}

const TEST_CALL = /(?<![\w.$])(?:test|it|[a-z]\w*Test)(?:\.\w+)?\(\s*$/;
/** The clauses of a title end at the first colon. A topic may follow the last one: `V 4.1 image: ...`. */
const CITATION = /^([GV] \d[^:]*): (.*)$/s;
const CLAUSE = /([GV] \d+(?:\.\d+)*)((?:,? r\d+)*)/g;

export const readClauseTests = (): ClauseTest[] =>
  globSync('{src,test}/**/*.test.ts', { cwd: ROOT })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .flatMap((file) => clauseTests(readFileSync(join(ROOT, file), 'utf8')).map((found) => ({ ...found, file })));

export function clauseTests(text: string): Omit<ClauseTest, 'file'>[] {
  const tokens = tokenize(text);
  const code = codeOnly(text, tokens);
  return tokens.flatMap((token, index) => {
    const isTitle =
      (token.kind === 'string' || token.kind === 'template') &&
      TEST_CALL.test(code.slice(Math.max(0, token.start - 80), token.start));
    const [, head, title] = (isTitle && CITATION.exec(titleAt(text, tokens, index))) || [];
    if (head === undefined || title === undefined) return [];
    return [{ clauses: clausesIn(head), title: withTopic(head, title), line: lineOf(text, token.start) }];
  });
}

/** `V 4.2 r3, r4` names two rules, `V 4.4, V 8` two sections. */
const clausesIn = (head: string): string[] =>
  [...head.matchAll(CLAUSE)].flatMap(([, section = '', rules = '']) => {
    const numbers = rules.match(/r\d+/g) ?? [];
    return numbers.length === 0 ? [section] : numbers.map((rule) => `${section} ${rule}`);
  });

function withTopic(head: string, title: string): string {
  const topic = head.replaceAll(CLAUSE, '').replace(/^[,\s]+/, '');
  return topic === '' ? title : `${topic}: ${title}`;
}

/** The text of a string or template that starts at a token; each hole of a template becomes `...`. */
function titleAt(text: string, tokens: readonly Token[], index: number): string {
  let title = '';
  let openTemplates = 0;
  for (const { kind, start, end } of tokens.slice(index)) {
    const raw = text.slice(start, end);
    if (kind === 'string' && openTemplates === 0) return unescaped(raw.slice(1, -1));
    if (kind !== 'template') continue;
    const hasHole = raw.endsWith('${');
    if (raw.startsWith('`')) openTemplates += 1;
    // A template inside a hole is a value.
    if (openTemplates === 1) title += `${unescaped(raw.slice(1, hasHole ? -2 : -1))}${hasHole ? '...' : ''}`;
    if (!hasHole) openTemplates -= 1;
    if (openTemplates === 0) return title;
  }
  return title;
}

const unescaped = (text: string): string => text.replaceAll(/\\(['"`\\])/g, '$1');

/** By document, section and rule: `G 4.2` before `G 4.10`, `V 4` before `V 4 r1`. */
export function compareClauses(one: string, other: string): number {
  const [mine, theirs] = [numbersOf(one), numbersOf(other)];
  if (one[0] !== other[0]) return one < other ? -1 : 1;
  for (let n = 0; n < Math.max(mine.length, theirs.length); n += 1) {
    const difference = (mine[n] ?? -1) - (theirs[n] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Three levels of sections, then the rule. */
function numbersOf(clause: string): number[] {
  const [, section = '', rule] = /^[GV] ([\d.]+)(?: r(\d+))?$/.exec(clause) ?? [];
  const levels = section.split('.').map(Number);
  return [0, 1, 2].map((n) => levels[n] ?? -1).concat(rule === undefined ? -1 : Number(rule));
}

/** The sections and numbered rules of a page of the contract; 0 is the text before the first section. */
export function definedClauses(letter: string, page: string): Set<string> {
  const clauses = new Set([`${letter} 0`]);
  let section = '0';
  for (const line of page.split('\n')) {
    section = /^##+ (\d+(?:\.\d+)*)\b/.exec(line)?.[1] ?? section;
    const rule = /^(\d+)\. /.exec(line)?.[1];
    clauses.add(`${letter} ${section}`);
    if (rule !== undefined) clauses.add(`${letter} ${section} r${rule}`);
  }
  return clauses;
}
