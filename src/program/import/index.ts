export type { ReportRow, RowOutcome } from './draft.ts';
export { type ImportRun, runImport, type SourceInput } from './run.ts';
export { SourceError } from './source.ts';
