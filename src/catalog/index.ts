export type { AssetSettings } from './catalog.ts';
export {
  type Account,
  Catalog,
  capabilitiesFor,
  type FallbackLine,
  fallbackTarget,
  type Group,
  hasAssetLibrary,
  isUsable,
  type Model,
  type ModelLine,
  type PriceRow,
  priceAt,
  providerIdentity,
} from './catalog.ts';
export { credentialLocation, loadCatalog, proxyLocation, readModelLines } from './load.ts';
export { type AccountSecrets, publicMessage, redact, type Secrets } from './redact.ts';
