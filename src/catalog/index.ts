export {
  type Account,
  Catalog,
  capabilitiesFor,
  type Group,
  type Model,
  type ModelLine,
  type PriceRow,
  priceAt,
} from './catalog.ts';
export { credentialPlace, loadCatalog } from './load.ts';
