export { type Applied, type ApplyOptions, applySetup, lockSetup } from './apply.ts';
export { changeAccount } from './change-account.ts';
export { DEMO_CHARACTER_MODEL, DEMO_GROUPS, DEMO_VIDEO_MODEL, demoSetup, hasDemo } from './demo.ts';
export type { ObjectDiff } from './diff.ts';
export { describeEffect, isUnnamedRepricing, RepricingError } from './effects.ts';
export { findIdleFallbacks } from './fallback.ts';
export { issuesOf } from './issues.ts';
export { parseLitellmList } from './litellm-list.ts';
export {
  applyImport,
  ImportError,
  type ImportOptions,
  type ImportPlan,
  type PriceChange,
  planImport,
} from './price-import.ts';
export { isMass, RemovalError } from './prune.ts';
export { characterRow, userRow } from './rows.ts';
export { insertRow, saveRow } from './save-row.ts';
export { parseSetupFile, type SecretSources } from './secrets.ts';
export { ExistsError, parseSetup, SetupError } from './setup-document.ts';
export { findUnpriced, findWithoutOutput, NO_OUTPUT_ADVICE, UNPRICED_ADVICE } from './unpriced.ts';
