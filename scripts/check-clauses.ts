/** Checks that tests cite only clauses that the contract has, and that every clause of the offered video operations has a test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClauseTest, definedClauses, readClauseTests } from './clauses.ts';
import { ROOT } from './modules.ts';

const PAGES = { G: 'docs/contract/gateway.md', V: 'docs/contract/video.md' } as const;

/** Clauses about creating, reading, listing and deleting tasks. A section is proven by a test of one of its rules, too. */
const REQUIRED: readonly string[] = [
  'V 0',
  'V 1',
  'V 2',
  'V 3',
  'V 4',
  'V 4.1',
  'V 4.2',
  'V 4.2 r1',
  'V 4.2 r2',
  'V 4.2 r3',
  'V 4.2 r4',
  'V 4.3',
  'V 4.4',
  'V 4.5',
  'V 4.7',
  'V 4.8 r1',
  'V 4.8 r2',
  'V 4.8 r3',
  'V 4.9 r1',
  'V 4.9 r2',
  'V 4.9 r3',
  'V 4.9 r4',
  'V 4.9 r5',
  'V 4.9 r6',
  'V 4.10 r5',
  'V 5 r1',
  'V 5 r2',
  'V 5 r3',
  'V 7',
  'V 8',
];

export function checkClauses(): string[] {
  const defined = Object.entries(PAGES).map(([letter, page]) =>
    definedClauses(letter, readFileSync(join(ROOT, page), 'utf8')),
  );
  return clauseFindings(readClauseTests(), REQUIRED, new Set(defined.flatMap((clauses) => [...clauses])));
}

export function clauseFindings(
  tests: readonly ClauseTest[],
  required: readonly string[],
  defined: ReadonlySet<string>,
): string[] {
  const cited = tests.flatMap(({ clauses }) => clauses);
  return [
    ...tests.flatMap(({ clauses, file, line }) =>
      clauses
        .filter((clause) => !defined.has(clause))
        .map((clause) => `${file}:${line}: ${clause} is not in the contract`),
    ),
    ...required.flatMap((clause) => {
      if (!defined.has(clause)) return [`${clause} is required, but is not in the contract`];
      const isProven = cited.some((one) => one === clause || one.startsWith(`${clause} r`));
      return isProven ? [] : [`${clause}: no title of a test starts with this clause`];
    }),
  ];
}
