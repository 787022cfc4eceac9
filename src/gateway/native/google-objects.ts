/**
 * Objects of the account that a generate-content request can name.
 * No call creates them (docs/adr/0012-provider-objects.md).
 */
import { bothSpellings } from '../request-scan.ts';

type Json = Readonly<Record<string, unknown>>;

const CACHE = bothSpellings('cachedContent');
const FILE = bothSpellings('fileData');
const URI = bothSpellings('fileUri');
const STORES = bothSpellings('fileSearchStoreNames');
/** A request inside a request: of counts, and of batches of embeddings. */
const INNER = [...bothSpellings('generateContentRequest'), 'requests'];
/** Members with data of the model or of tools. */
const SKIPPED: ReadonlySet<string> = new Set(['args', 'response', ...bothSpellings('functionDeclarations')]);

/** Words that a request with objects contains, and the members in which they stand. */
export const GOOGLE_MARKERS = {
  words: [...[...CACHE, ...FILE, ...STORES].map((word) => Buffer.from(`"${word}"`)), Buffer.from('tunedModels/')],
  names: new Set(['model', 'contents', 'content', 'tools', ...bothSpellings('systemInstruction'), ...CACHE, ...INNER]),
} as const;

export const isTunedModel = (name: unknown): boolean => typeof name === 'string' && name.startsWith('tunedModels/');

export function googleObjectIn(request: Json): string | undefined {
  for (const [name, value] of Object.entries(request)) {
    if (CACHE.includes(name) && value !== null) return name;
    if (name === 'model' && isTunedModel(value)) return name;
    const inner = INNER.includes(name) ? [value].flat() : [];
    if (inner.some((one) => googleObjectIn((one ?? {}) as Json) !== undefined)) return name;
    if (!INNER.includes(name) && namesObject(value)) return name;
  }
  return undefined;
}

function namesObject(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesObject);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, child]) => {
    if (STORES.includes(name)) return Array.isArray(child) && child.length > 0;
    if (FILE.includes(name)) return URI.some((uri) => isAccountFile((child as Json | null)?.[uri]));
    return !SKIPPED.has(name) && namesObject(child);
  });
}

/**
 * A public address, such as that of a video platform, belongs to no account;
 * the provider reads everything else with the account's rights.
 */
function isAccountFile(uri: unknown): boolean {
  if (typeof uri !== 'string') return false;
  const url = URL.parse(uri);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return true;
  return /(?:^|\.)googleapis\.com\.?$/.test(url.hostname) || /\/v\d\w*\/files\//.test(url.pathname);
}
