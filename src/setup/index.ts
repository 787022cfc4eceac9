export { type Applied, type ApplyOptions, applySetup, type Change } from './apply.ts';
export { DEMO_GROUPS, demoSetup, hasDemo } from './demo.ts';
export { parseSetup, SetupError, SetupFile } from './file.ts';
