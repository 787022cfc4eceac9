/** Detection of the dialect of a recording: by its address, or by its shape where it has none. */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { isRecord, type JsonRecord, type ReplayedCloud, recordOf, textOf } from './recording.ts';

/** Either a dialect that the gateway serves, or why the recording is skipped. */
export type Detected =
  | { readonly dialect: UpstreamDialect; readonly cloud?: ReplayedCloud }
  | { readonly skip: string };

interface UrlRow {
  readonly url: RegExp;
  readonly is: Detected;
}

/** The first match wins. The paths of chat completions and responses are those of every compatible server. */
const BY_URL: readonly UrlRow[] = [
  { url: /\/model\/[^/]+\/converse(?:-stream)?$/, is: { dialect: 'converse', cloud: 'bedrock' } },
  {
    url: /\/model\/[^/]*\banthropic\.[^/]+\/invoke(?:-with-response-stream)?$/,
    is: { dialect: 'messages', cloud: 'bedrock' },
  },
  { url: /\/model\/[^/]+\/invoke/, is: { skip: 'embeddings and other models of Bedrock with an API of their own' } },
  {
    url: /\/publishers\/google\/models\/[^/]+:(?:generate|streamGenerate)Content$/,
    is: { dialect: 'generate', cloud: 'vertex' },
  },
  { url: /:(?:stream)?rawPredict\b/i, is: { skip: "Vertex with a partner's model" } },
  { url: /:(?:generate|streamGenerate)Content$/, is: { dialect: 'generate' } },
  { url: /\/chat\/completions$/, is: { dialect: 'chat' } },
  { url: /\/responses$/, is: { dialect: 'responses' } },
  { url: /\/v1\/messages$/, is: { dialect: 'messages' } },
  { url: /\/count_tokens$|\/input_tokens$|:countTokens$|\/count-tokens$/, is: { skip: 'counts tokens' } },
  { url: /embed/i, is: { skip: 'embeddings' } },
  { url: /\/responses\/|\/conversations|\/cachedContents|\/interactions/, is: { skip: 'stored objects' } },
  { url: /\/files|\/upload|vector_stores|fileSearchStores|\/containers|\/skills/, is: { skip: 'files and uploads' } },
  { url: /batches/, is: { skip: 'batches' } },
  {
    url: /\/images\/|\/audio\/|\/realtime|\/videos|\/rerank|\/moderations|\/models$/,
    is: { skip: 'another kind of model' },
  },
];

export function detectByUrl(method: string, url: string): Detected {
  const path = url.replace(/[?#].*$/s, '');
  if (method !== 'POST') return { skip: 'reads something else' };
  return BY_URL.find((row) => row.url.test(path))?.is ?? { skip: 'another API' };
}

/** The first event of a stream, or a whole response. */
export function detectByShape(events: readonly JsonRecord[]): Detected {
  for (const event of events.slice(0, 3)) {
    const type = textOf(event.type);
    if (type === 'message_start' || (type === 'message' && Array.isArray(event.content)))
      return { dialect: 'messages' };
    if (type.startsWith('response.')) return { dialect: 'responses' };
    if (event.object === 'response' || (Array.isArray(event.output) && 'created_at' in event))
      return { dialect: 'responses' };
    if (Array.isArray(event.choices) && isChat(event.choices)) return { dialect: 'chat' };
    if (Array.isArray(event.candidates) || isRecord(event.promptFeedback)) return { dialect: 'generate' };
    if ('messageStart' in event || 'contentBlockDelta' in event || 'contentBlockStart' in event)
      return { dialect: 'converse', cloud: 'bedrock' };
    if ('message' in recordOf(event.output)) return { dialect: 'converse', cloud: 'bedrock' };
  }
  return { skip: 'fixture of something else' };
}

const isChat = (choices: readonly unknown[]): boolean =>
  choices.length === 0 || choices.some((choice) => 'message' in recordOf(choice) || 'delta' in recordOf(choice));
