export { type ExportTotals, exportFrames } from './export.ts';
export { BackupError } from './frames.ts';
export { type Imported, importFrames } from './import.ts';
