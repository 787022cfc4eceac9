export type { ReportRow, RowOutcome } from './draft.ts';
export { type ImportRun, runImport } from './run.ts';
export { SourceError, type SourceInput } from './source.ts';
