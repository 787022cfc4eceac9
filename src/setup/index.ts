export { type Applied, type ApplyOptions, applySetup, type Change } from './apply.ts';
export { parseSetup, SetupError, SetupFile } from './file.ts';
