export type { AssetSettings } from './catalog.ts';
export {
  type Account,
  Catalog,
  capabilitiesFor,
  type Group,
  hasAssetLibrary,
  type Model,
  type ModelLine,
  type PriceRow,
  priceAt,
} from './catalog.ts';
export { credentialLocation, loadCatalog, readModelLines } from './load.ts';
