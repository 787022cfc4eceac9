/** The failed tests of a run, for those who repeat runs: lines of JSON in the file of `TEST_FAILURES`. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

export interface FailedTest {
  readonly file: string;
  readonly name: string;
}

/** Does nothing without `TEST_FAILURES`. */
export function reportFailure({ file, name }: { readonly file?: string | undefined; readonly name: string }): void {
  const report = process.env.TEST_FAILURES;
  if (report) appendFileSync(report, `${JSON.stringify({ file: relative('.', file ?? ''), name })}\n`);
}

export function readFailures(report: string): FailedTest[] {
  if (!existsSync(report)) return [];
  return readFileSync(report, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
