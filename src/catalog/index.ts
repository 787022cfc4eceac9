export * from './catalog.ts';
export { LineLessons } from './line-lessons.ts';
export { credentialLocation, loadCatalog, proxyLocation, readModelLines } from './load.ts';
export { type AccountSecrets, publicMessage, redact, type Secrets } from './redact.ts';
