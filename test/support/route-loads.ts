/**
 * The dearest input that each route accepts. A route of the callers' API without one does not pass the type check; the
 * routes of operators and of the console take JSON of a small size.
 */
import type { AnyOperation } from '../../src/platform/web/index.ts';
import { BODY_BYTES, ENDPOINTS, type EndpointRow, type Method, type Operation } from '../../src/rules/index.ts';

export type RouteLoad =
  /** Two bodies, of about so many bytes: one with as many values as fit, one with a single long text. */
  | { readonly kind: 'body'; dense(bytes: number): string; long?(bytes: number): string }
  /** It reads or writes much that is kept: a scenario of `route-cost.test.ts` makes it and reads it. */
  | { readonly kind: 'kept' }
  /** It reads few rows of a bounded size, and takes no body. */
  | { readonly kind: 'rows' };

const filled = (element: string, bytes: number): string =>
  Array(Math.max(1, Math.floor(bytes / (element.length + 1))))
    .fill(element)
    .join();
const named = (value: string, bytes: number): string =>
  Array.from({ length: Math.floor(bytes / (10 + value.length)) }, (_, n) => `"n${n}":${value}`).join();

const KEPT = { kind: 'kept' } as const;
const ROWS = { kind: 'rows' } as const;

/** A body of which the part that fills it is put into the others. */
const body = (head: string, element: string, tail: string, text?: string): RouteLoad => ({
  kind: 'body',
  dense: (bytes) => head + filled(element, bytes - head.length - tail.length) + tail,
  ...(text !== undefined && { long: (bytes) => head + text.replace('TEXT', 'a'.repeat(bytes - 200)) + tail }),
});
const members = (head = '', tail = ''): RouteLoad => ({
  kind: 'body',
  dense: (bytes) => `{${head}${named('1', bytes - head.length - tail.length - 2)}${tail}}`,
});

const TURN = '{"role":"user","content":"a"}';
const LONG_TURN = '{"role":"user","content":"TEXT"}';
const PART = '{"parts":[{"text":"a"}]}';
const LONG_PART = '{"parts":[{"text":"TEXT"}]}';
const MESSAGES = body('{"model":"demo-text","max_tokens":9,"messages":[', TURN, ']}', LONG_TURN);
const CHAT = body('{"model":"demo-text","messages":[', TURN, ']}', LONG_TURN);
const RESPONSES = body('{"model":"demo-text","store":false,"input":[', TURN, ']}', LONG_TURN);
const CONTENTS = body('{"contents":[', PART, ']}', LONG_PART);
const VIDEO = body(
  '{"model":"demo-video","content":[',
  '{"type":"text","text":"a"}',
  ']}',
  '{"type":"text","text":"TEXT"}',
);
const PICTURE = body('{"model":"demo-text","prompt":"a","more":[', '1', ']}', '"TEXT"');
const METADATA = members('"metadata":{', '}');
const MEMBERS = members();
const ITEMS = body(
  '{"items":[{"type":"message","role":"user","content":[',
  '{"type":"input_text","text":"a"}',
  ']}]}',
  '{"type":"input_text","text":"TEXT"}',
);

const CALLER_LOADS = {
  'messages.create': MESSAGES,
  'chat.create': CHAT,
  'responses.create': RESPONSES,
  'generate.create': CONTENTS,
  'messages.count': CHAT,
  // Each turn is a request of `responses.create`.
  'responses.socket': ROWS,
  'responses.inputTokens': RESPONSES,
  'responses.compact': RESPONSES,
  'responses.get': KEPT,
  'responses.delete': KEPT,
  'responses.cancel': MEMBERS,
  'responses.inputItems': KEPT,
  'containers.create': ROWS,
  'containers.list': ROWS,
  'containers.get': ROWS,
  'containers.delete': ROWS,
  'containers.files': ROWS,
  'containers.file': ROWS,
  'containers.content': ROWS,
  'search.create': PICTURE,
  'embeddings.create': body('{"model":"demo-text","input":[', '"a"', ']}', '"TEXT"'),
  'images.generate': PICTURE,
  'images.edit': PICTURE,
  'models.list': ROWS,
  'models.get': ROWS,
  'usage.get': ROWS,
  'usage.request': ROWS,
  'billing.subscription': ROWS,
  'billing.usage': ROWS,
  'googleFiles.content': KEPT,
  'files.create': KEPT,
  'files.list': ROWS,
  'files.get': ROWS,
  'files.content': KEPT,
  'files.delete': ROWS,
  'googleFiles.upload': KEPT,
  'googleFiles.list': ROWS,
  'googleFiles.get': ROWS,
  'googleFiles.delete': ROWS,
  'batches.create': KEPT,
  'batches.list': ROWS,
  'batches.get': ROWS,
  'batches.cancel': MEMBERS,
  'messageBatches.create': KEPT,
  'messageBatches.list': ROWS,
  'messageBatches.get': ROWS,
  'messageBatches.cancel': MEMBERS,
  'messageBatches.results': KEPT,
  'messageBatches.delete': ROWS,
  'conversations.create': METADATA,
  'conversations.get': ROWS,
  'conversations.update': METADATA,
  'conversations.delete': ROWS,
  'conversations.addItems': ITEMS,
  'conversations.items': KEPT,
  'conversations.item': KEPT,
  'conversations.removeItem': KEPT,
  'generate.models': ROWS,
  'generate.model': ROWS,
  'generate.stream': CONTENTS,
  'generate.count': CONTENTS,
  'interactions.create': RESPONSES,
  'interactions.get': ROWS,
  'interactions.delete': ROWS,
  'interactions.cancel': MEMBERS,
  'caches.create': CONTENTS,
  'caches.list': ROWS,
  'caches.get': ROWS,
  'caches.update': MEMBERS,
  'caches.delete': ROWS,
  'generate.embed': body('{"content":{"parts":[', '{"text":"a"}', ']}}', '{"text":"TEXT"}'),
  'generate.batchEmbed': body('{"requests":[', `{"content":${PART}}`, ']}', `{"content":${LONG_PART}}`),
  'tasks.create': VIDEO,
  'tasks.estimate': VIDEO,
  'tasks.list': ROWS,
  'tasks.get': ROWS,
  'tasks.delete': ROWS,
  'videos.create': VIDEO,
  'videos.estimate': VIDEO,
  'videos.list': ROWS,
  'videos.get': ROWS,
  'videos.delete': ROWS,
  // Passed on piece by piece; `video-results-memory.test.ts` measures it.
  'videos.content': ROWS,
  'videos.lastFrame': ROWS,
  'links.create': ROWS,
  'links.revoke': ROWS,
  'callbacks.setDefault': MEMBERS,
  'callbacks.getDefault': ROWS,
  'callbacks.removeDefault': ROWS,
  'callbacks.list': ROWS,
  'callbacks.get': ROWS,
  'callbacks.redeliver': ROWS,
  'callbacks.test': ROWS,
  'assetGroups.create': MEMBERS,
  'assetGroups.list': ROWS,
  'assetGroups.get': ROWS,
  'assetGroups.delete': ROWS,
  'assets.create': MEMBERS,
  'assets.list': ROWS,
  'assets.get': ROWS,
  'assets.refresh': ROWS,
  'assets.delete': ROWS,
  'sessions.create': MEMBERS,
  'sessions.get': ROWS,
  'characters.list': ROWS,
  'characters.get': ROWS,
} as const satisfies Readonly<Record<Operation, RouteLoad>>;

/** Operations whose load is made of what is kept. */
export type KeptOperation = {
  [Name in Operation]: (typeof CALLER_LOADS)[Name] extends typeof KEPT ? Name : never;
}[Operation];

const isCaller = (operation: AnyOperation): operation is Operation => operation in ENDPOINTS;

export const loadOf = (operation: AnyOperation, method: Method | 'HEAD'): RouteLoad => {
  if (isCaller(operation)) return CALLER_LOADS[operation];
  return method === 'GET' || method === 'HEAD' ? ROWS : MEMBERS;
};

/** The largest body of the route. */
export function maxBytesOf(operation: AnyOperation): number {
  if (!isCaller(operation)) return BODY_BYTES.small;
  const { body: taken }: EndpointRow = ENDPOINTS[operation];
  return taken.content === 'none' ? 0 : BODY_BYTES[taken.limit];
}
