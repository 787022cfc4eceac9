/** Clauses of the contract, and the tests that cite them at the start of their titles: `test('V 4.2 r3: ...')`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { page, table } from './markdown.ts';
import { ROOT } from './modules.ts';
import { codeOnly, lineOf, tokenize } from './source-tokens.ts';
import { testFiles } from './test/files.ts';

export interface Clause {
  /** A section or a rule, such as `V 4.2 r3`; 0 is the text before the first section. */
  readonly id: string;
  /** Its beginning, in one line. */
  readonly demand: string;
  /** A section that has only rules or subsections: tests of these prove it. */
  readonly isHeading: boolean;
}

export interface ClauseTest {
  readonly clauses: readonly string[];
  readonly file: string;
  readonly line: number;
  /** `npm test` leaves it out. */
  readonly isLong: boolean;
}

const PAGES = { G: 'docs/contract/gateway.md', V: 'docs/contract/video.md' } as const;
const MAX_DEMAND_CHARS = 110;
/** The page names this many files of a clause, end-to-end tests first. */
const MAX_FILES = 3;

export const readClauses = (): Clause[] =>
  Object.entries(PAGES).flatMap(([letter, file]) => definedClauses(letter, readFileSync(join(ROOT, file), 'utf8')));

export const readClauseTests = (): ClauseTest[] =>
  globSync('{src,test}/**/*.test.ts', { cwd: ROOT })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .flatMap((file) => clauseTests(readFileSync(join(ROOT, file), 'utf8')).map((found) => ({ ...found, file })));

// ---------------------------------------------------------------- the contract

/** The rules of an unnumbered subsection belong to its section; of two with one number, both must hold. */
export function definedClauses(letter: string, text: string): Clause[] {
  const clauses = text.split(/^(?=##+ \d)/m).flatMap((section) => {
    const [, number = '0', title = ''] = /^#+ (?:(\d+(?:\.\d+)*)\.? )?(.*)/.exec(section) ?? [];
    const id = `${letter} ${number}`;
    const body = section.slice(section.indexOf('\n'));
    const rules = [...body.matchAll(RULE)].map(([, rule, words = '']) => ({
      id: `${id} r${rule}`,
      demand: oneLine(words),
      isHeading: false,
    }));
    const own = body.replaceAll(RULE, '').trim();
    const [paragraph = ''] = own.split('\n\n');
    const words = /^[A-Z`*]/.test(paragraph) && paragraph !== 'Rules:' ? `${title}: ${paragraph}` : title;
    return [{ id, demand: oneLine(words), isHeading: own === '' }, ...rules];
  });
  return [...Map.groupBy(clauses, ({ id }) => id).values()].flatMap(([first]) => first ?? []);
}
/** A numbered line, and the indented lines after it. */
const RULE = /^(\d+)\. (.*(?:\n +\S.*)*)/gm;

/** A mark, or a sentence that is nothing else. */
const OUR_CHOICE = /[^.:]+ (?:is|are) \*\(our choice\)\*\.| ?\*\(our choice\)\*/g;

/** The sentences that fit into one line, or the beginning of the first. */
function oneLine(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll(OUR_CHOICE, '');
  const sentences = new RegExp(`^.{1,${MAX_DEMAND_CHARS - 1}}\\.(?= |$)`).exec(plain)?.[0];
  if (sentences !== undefined || plain.length <= MAX_DEMAND_CHARS) return (sentences ?? plain).replace(/:? *$/, '');
  const cut = plain.slice(0, plain.lastIndexOf(' ', MAX_DEMAND_CHARS));
  // Code that is cut in the middle is left out.
  const isInCode = (cut.match(/`/g)?.length ?? 0) % 2 === 1;
  return `${(isInCode ? cut.slice(0, cut.lastIndexOf('`')) : cut).replace(/[\s,:(]+$/, '')} ...`;
}

// ---------------------------------------------------------------- titles of tests

const TEST_CALL = /(?<![\w.$])(?:test|it|[a-z]\w*Test)(?:\.\w+)?\(\s*$/;
const LONG_CALL = /longTest\(\s*$/;
/** The clauses of a title end at the first colon. A topic may follow the last one: `V 4.1 image: ...`. */
const CITATION = /^['"`]([GV] \d[^:]*)(?::|\$\{)/;
const CLAUSE = /([GV] \d+(?:\.\d+)*)((?:,? r\d+)*)/g;

export function clauseTests(text: string): Omit<ClauseTest, 'file'>[] {
  const tokens = tokenize(text);
  const code = codeOnly(text, tokens);
  return tokens.flatMap(({ start, end }) => {
    const [, head] = CITATION.exec(text.slice(start, end)) ?? [];
    const before = code.slice(Math.max(0, start - 80), start);
    if (head === undefined || !TEST_CALL.test(before)) return [];
    return [{ clauses: clausesIn(head), line: lineOf(text, start), isLong: LONG_CALL.test(before) }];
  });
}

/** `V 4.2 r3, r4` names two rules, `V 4.4, V 8` two sections. */
const clausesIn = (head: string): string[] =>
  [...head.matchAll(CLAUSE)].flatMap(([, section = '', rules = '']) => {
    const numbers = rules.match(/r\d+/g) ?? [];
    return numbers.length === 0 ? [section] : numbers.map((rule) => `${section} ${rule}`);
  });

// ---------------------------------------------------------------- both together

export const checkClauses = (): string[] => clauseFindings(readClauses(), readClauseTests());

export function clauseFindings(clauses: readonly Clause[], tests: readonly ClauseTest[]): string[] {
  const known = new Set(clauses.map(({ id }) => id));
  const unknown = tests.flatMap(({ clauses: cited, file, line }) =>
    cited.filter((clause) => !known.has(clause)).map((clause) => `${file}:${line}: ${clause} is not in the contract`),
  );
  const unproven = clauses
    .filter((clause) => filesOf(clause, tests).length === 0)
    .map(({ id }) => `${id}: no title of a test starts with this clause`);
  return [...unknown, ...unproven];
}

export const renderClauses = (): string => {
  // Continuous integration runs only some of the others.
  const landed = testFiles('all');
  const tests = readClauseTests().filter(({ file }) => landed.includes(file));
  const rows = readClauses().map((clause) => {
    const files = filesOf(clause, tests);
    const shown = files.slice(0, MAX_FILES).map((file) => `\`${file}\``);
    return [clause.id, clause.demand, shown.join(', ') + (files.length > MAX_FILES ? ', ...' : '')];
  });
  return page(
    'Clauses and their tests',
    'Generated by `npm run gen`. `G` is [contract/gateway.md](contract/gateway.md), `V` [contract/video.md](contract/video.md). A test that proves a clause cites it at the start of its title; `npm run check` fails for a clause without a test.',
    table(['clause', 'demands', 'tests'], rows),
  );
};

/** The files with tests of a clause: end-to-end tests first, then those with the most tests. */
function filesOf({ id, isHeading }: Clause, tests: readonly ClauseTest[]): string[] {
  const isProof = (cited: string): boolean =>
    cited === id || (isHeading && (cited.startsWith(`${id} `) || cited.startsWith(`${id}.`)));
  const proofs = Map.groupBy(
    tests.filter(({ clauses }) => clauses.some(isProof)),
    ({ file }) => file,
  );
  const isEndToEnd = (file: string): number => Number(file.startsWith('test/e2e/'));
  return [...proofs]
    .sort(([a, one], [b, other]) => isEndToEnd(b) - isEndToEnd(a) || other.length - one.length)
    .map(([file]) => file);
}
