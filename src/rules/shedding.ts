/**
 * Overload: which requests are refused first, and from which load on. A refusal stays cheap: no credentials, no body,
 * no provider.
 */
import type { Operation, OperatorOperation } from './endpoints.ts';
import { words } from './words.ts';

/**
 * In the order in which they are refused. `never`: refusing it would cost more work later, or hide the state of the
 * server.
 */
export const PRIORITIES = ['list', 'image', 'text', 'create'] as const;
export type SheddablePriority = (typeof PRIORITIES)[number];
export type Priority = SheddablePriority | 'never';

export interface ShedRow {
  readonly means: string;
  /**
   * Refusals begin when the event loop is this late, as the median of `SHED_WINDOW` samples: where being late costs a
   * call more than being refused and sent again. Below the 3 s after which a health check calls the server unready.
   */
  readonly delayMs: number;
  /** Large bodies are refused when they would fill more than this part of `BODY_MEMORY_BYTES`. */
  readonly bodyShare: number;
}

export const SHEDDING: Readonly<Record<SheddablePriority, ShedRow>> = {
  list: { means: 'lists and reports of callers', delayMs: 250, bodyShare: 0.5 },
  image: { means: 'image requests and downloads of results', delayMs: 1_000, bodyShare: 0.75 },
  text: { means: 'text requests and WebSocket turns', delayMs: 2_000, bodyShare: 0.9 },
  create: {
    means: 'creation of video tasks and assets, the admin API and the console',
    delayMs: 2_500,
    bodyShare: 1,
  },
};

export const SHED_SAMPLE_MS = 10;
/** A turn of the event loop that is late by this is sampled by its requests, because no timer fires, and ended. */
export const SHED_LONG_TURN_MS = 100;
/**
 * Samples whose median decides that an overload begins: a sixth of a second in a server that is in time, a second and a
 * half in one that is late.
 */
export const SHED_WINDOW = 15;
/** During an overload, the part of the requests that is admitted follows the median of so many samples. */
export const SHED_RECENT = 3;
/** The part of `delayMs` that the delay is steered to during an overload. A refusal waits about as long. */
export const SHED_TARGET_SHARE = 0.25;
/**
 * Factors of the admitted part with every sample. A refusal costs a fifth of a request, so that below the minimum
 * refusals would take most of the time.
 */
export const SHED_STEPS = { start: 0.5, shrink: 0.9, grow: 1.05, min: 0.3 } as const;
/** `retry-after` of a refusal, in seconds: spread, so that the refused clients do not return at the same moment. */
export const SHED_RETRY_SECONDS = { min: 1, max: 5 } as const;

const BY_PRIORITY = {
  list: words(
    'responses.delete responses.inputItems models.list models.get usage.get usage.request',
    'billing.subscription billing.usage generate.models generate.model tasks.list videos.list links.create',
    'callbacks.list callbacks.get assetGroups.list assetGroups.get assets.list assets.refresh characters.list',
    'files.list files.get files.content files.delete googleFiles.list googleFiles.get googleFiles.content googleFiles.delete',
    'batches.list batches.get messageBatches.list messageBatches.get messageBatches.results messageBatches.delete',
    'conversations.get conversations.update conversations.delete conversations.items conversations.item conversations.removeItem',
    'callbacks.getDefault callbacks.setDefault callbacks.removeDefault',
    'characters.get operator.openapi characters.preview interactions.delete caches.list caches.get caches.delete',
    'containers.create containers.list containers.get containers.delete containers.files containers.file',
  ),
  image: words(
    'files.create googleFiles.upload files.piece images.generate images.edit videos.content videos.lastFrame results.link files.link',
    'containers.content',
  ),
  text: words(
    'messages.create messages.count chat.create responses.create responses.socket responses.inputTokens',
    'responses.compact embeddings.create generate.create generate.stream generate.count generate.embed',
    'generate.batchEmbed search.create interactions.create caches.create caches.update',
  ),
  create: words(
    'tasks.create tasks.estimate videos.create videos.estimate callbacks.redeliver callbacks.test',
    'batches.create messageBatches.create conversations.create conversations.addItems',
    'assetGroups.create assetGroups.delete assets.create assets.delete sessions.create',
  ),
  // Clients poll with these, or end work and access. `sessions.return`: the browser of a person who has just finished
  // an authorization. `provider.report`: a provider sends it a few times only, and the state of a task depends on it.
  never: words(
    'responses.get responses.cancel tasks.get tasks.delete videos.get videos.delete links.revoke assets.get',
    'sessions.get operator.alive operator.ready operator.metrics sessions.return provider.report',
    'interactions.get interactions.cancel batches.cancel messageBatches.cancel',
  ),
} as const;
/** Operations of the admin API and the console are `create`. */
export const PRIORITY_OF: Readonly<Record<Operation | OperatorOperation, Priority>> = Object.fromEntries(
  Object.entries(BY_PRIORITY).flatMap(([priority, operations]) => operations.map((name) => [name, priority])),
) as Record<(typeof BY_PRIORITY)[Priority][number], Priority>;
