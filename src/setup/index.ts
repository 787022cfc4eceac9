export { type Applied, type ApplyOptions, applySetup, type Change } from './apply.ts';
export { DEMO_GROUPS, demoSetup, hasDemo } from './demo.ts';
export {
  applyImport,
  ImportError,
  type ImportOptions,
  type ImportPlan,
  type PriceChange,
  planImport,
} from './price-import.ts';
export { TIER_CHOICES, type TierChoice } from './price-list.ts';
export {
  factor,
  issuesOf,
  Key as KeyEntry,
  parseSetup,
  SetupError,
  SetupFile,
  time,
  User as UserEntry,
} from './schema.ts';
