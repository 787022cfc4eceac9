export { type Applied, type ApplyOptions, applySetup, lockSetup } from './apply.ts';
export { changeAccount } from './change-account.ts';
export { DEMO_CHARACTER_MODEL, DEMO_GROUPS, DEMO_VIDEO_MODEL, demoSetup, hasDemo } from './demo.ts';
export { describeEffect, isUnnamedRepricing, type NameEffect, RepricingError } from './effects.ts';
export { FIELD_NOTES, type FieldNote } from './field-notes.ts';
export { issuesOf } from './issues.ts';
export {
  applyImport,
  ImportError,
  type ImportOptions,
  type ImportPlan,
  type PriceChange,
  planImport,
} from './price-import.ts';
export { TIER_CHOICES, type TierChoice } from './price-list.ts';
export { AccountChange, KeyEntry, parseSetup, SetupError, SetupFile, UserEntry } from './schema.ts';
export { parseSetupFile, type SecretSources } from './secrets.ts';
export { findUnpriced, UNPRICED_ADVICE } from './unpriced.ts';
