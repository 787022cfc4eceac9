/** The routes of the simulated server. */
import { createCache, deleteCache, readCache, updateCache } from './caches.ts';
import { createCompletion } from './chat/response.ts';
import {
  deleteContainer,
  listContainerFiles,
  readContainer,
  readContainerFile,
  sendContainerFile,
} from './containers.ts';
import { batchEmbedContents, createEmbeddings, embedContent } from './embeddings.ts';
import { Failure, type Shape } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { countTokens as countGoogle, generateContent, streamContent } from './generate/response.ts';
import { editImages, generateImages } from './images/response.ts';
import { cancelInteraction, createInteraction, deleteInteraction, readInteraction } from './interactions.ts';
import type { Dialect } from './manners/manner.ts';
import { countTokens as countAnthropic, createMessage } from './messages/response.ts';
import { listGoogleModels, listModels, showGoogleModel, showModel } from './models.ts';
import { createResponse } from './responses/response.ts';
import { cancelStored, compact, countInput, deleteStored, listInput, readStored } from './responses/stored.ts';

type Handler = (exchange: Exchange, id: string) => Promise<void>;
export interface Route {
  method: string;
  path: RegExp;
  run: Handler;
  names?: 'model';
  /** Of requests for text. */
  dialect?: Dialect;
}

export const ROUTES: Route[] = [
  { method: 'POST', path: /^\/v1\/chat\/completions$/, run: createCompletion, dialect: 'chat' },
  { method: 'POST', path: /^\/v1\/responses$/, run: createResponse, dialect: 'responses' },
  { method: 'GET', path: /^\/v1\/responses$/, run: rejectPlainGet },
  { method: 'POST', path: /^\/v1\/responses\/input_tokens$/, run: countInput },
  { method: 'POST', path: /^\/v1\/responses\/compact$/, run: compact },
  { method: 'GET', path: /^\/v1\/responses\/([^/]+)$/, run: readStored },
  { method: 'DELETE', path: /^\/v1\/responses\/([^/]+)$/, run: deleteStored },
  { method: 'POST', path: /^\/v1\/responses\/([^/]+)\/cancel$/, run: cancelStored },
  { method: 'GET', path: /^\/v1\/responses\/([^/]+)\/input_items$/, run: listInput },
  { method: 'GET', path: /^\/v1\/containers\/([^/]+)$/, run: readContainer },
  { method: 'DELETE', path: /^\/v1\/containers\/([^/]+)$/, run: deleteContainer },
  { method: 'GET', path: /^\/v1\/containers\/([^/]+)\/files$/, run: listContainerFiles },
  { method: 'GET', path: /^\/v1\/containers\/([^/]+\/files\/[^/]+)$/, run: readContainerFile },
  { method: 'GET', path: /^\/v1\/containers\/([^/]+)\/files\/[^/]+\/content$/, run: sendContainerFile },
  {
    method: 'POST',
    path: /^\/v1\/alpha\/search$/,
    run: (exchange) => exchange.sendJson({ output: 'Found.', results: [] }),
  },
  { method: 'POST', path: /^\/v1\/embeddings$/, run: createEmbeddings },
  { method: 'POST', path: /^\/v1\/images\/generations$/, run: generateImages },
  { method: 'POST', path: /^\/v1\/images\/edits$/, run: editImages },
  { method: 'GET', path: /^\/v1\/models$/, run: listModels },
  { method: 'GET', path: /^\/v1\/models\/(.+)$/, run: showModel, names: 'model' },
  { method: 'POST', path: /^\/v1\/messages$/, run: createMessage, dialect: 'messages' },
  { method: 'POST', path: /^\/v1\/messages\/count_tokens$/, run: countAnthropic },
  { method: 'POST', path: /^\/v1(?:beta)?\/interactions$/, run: createInteraction },
  { method: 'GET', path: /^\/v1(?:beta)?\/interactions\/([^/]+)$/, run: readInteraction },
  { method: 'DELETE', path: /^\/v1(?:beta)?\/interactions\/([^/]+)$/, run: deleteInteraction },
  { method: 'POST', path: /^\/v1(?:beta)?\/interactions\/([^/]+)\/cancel$/, run: cancelInteraction },
  { method: 'POST', path: /^\/v1beta\/cachedContents$/, run: createCache },
  { method: 'GET', path: /^\/v1beta\/cachedContents\/([^/]+)$/, run: readCache },
  { method: 'PATCH', path: /^\/v1beta\/cachedContents\/([^/]+)$/, run: updateCache },
  { method: 'DELETE', path: /^\/v1beta\/cachedContents\/([^/]+)$/, run: deleteCache },
  { method: 'GET', path: /^\/v1beta\/models$/, run: listGoogleModels },
  { method: 'GET', path: /^\/v1beta\/models\/([^:]+)$/, run: showGoogleModel, names: 'model' },
  { method: 'POST', path: google('generateContent'), run: generateContent, names: 'model', dialect: 'generate' },
  { method: 'POST', path: google('streamGenerateContent'), run: streamContent, names: 'model', dialect: 'generate' },
  { method: 'POST', path: google('countTokens'), run: countGoogle, names: 'model' },
  { method: 'POST', path: google('embedContent'), run: embedContent, names: 'model' },
  { method: 'POST', path: google('batchEmbedContents'), run: batchEmbedContents, names: 'model' },
];

export function shapeOf(path: string, headers: Record<string, string>): Shape {
  if (path.startsWith('/v1beta/')) return 'google';
  if (path.startsWith('/v1/messages')) return 'anthropic';
  return path.startsWith('/v1/models') && headers['anthropic-version'] !== undefined ? 'anthropic' : 'openai';
}

function google(action: string): RegExp {
  return new RegExp(`^/v1beta/(?:models|tunedModels)/(.+):${action}$`);
}

async function rejectPlainGet(): Promise<void> {
  throw new Failure(426, 'Send a WebSocket upgrade, if this simulated provider was started with sockets.', {
    code: 'upgrade_required',
    headers: { upgrade: 'websocket' },
  });
}
