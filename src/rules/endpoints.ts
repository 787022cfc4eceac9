/**
 * Every operation of both documents, with lookups. Routes, rejections, body limits, billing, timeouts, OpenAPI and
 * docs/endpoints.md are derived from the rows: of document 1 in inference-endpoints.ts, of document 2 in
 * video-endpoints.ts.
 */
import type { ConvertibleRow, ErrorFormat, OwnCell, ServedCell, UnconvertedRow } from './endpoint-rows.ts';
import type { Dialect, Style, UpstreamDialect } from './groups.ts';
import { INFERENCE_ENDPOINTS } from './inference-endpoints.ts';
import { VIDEO_ENDPOINTS } from './video-endpoints.ts';

export type * from './endpoint-rows.ts';
export { INFERENCE_ENDPOINTS } from './inference-endpoints.ts';
export * from './operator-endpoints.ts';
export { VIDEO_ENDPOINTS } from './video-endpoints.ts';

export const ENDPOINTS = { ...INFERENCE_ENDPOINTS, ...VIDEO_ENDPOINTS } as const;
export type Operation = keyof typeof ENDPOINTS;
export const OPERATIONS = Object.keys(ENDPOINTS) as Operation[];

type Inference = typeof INFERENCE_ENDPOINTS;
type Video = typeof VIDEO_ENDPOINTS;

export type WebSocketOperation = {
  [Name in keyof Inference]: Inference[Name] extends { turns: string } ? Name : never;
}[keyof Inference];
/** Every operation of document 1 that is one request and one response. */
export type InferenceOperation = Exclude<keyof Inference, WebSocketOperation>;
/** Operations that the gateway responds to itself for some group; `src/api/caller` must have a handler for each. */
export type OwnOperation = {
  [Name in InferenceOperation]: OwnCell extends Inference[Name]['groups'][Style] ? Name : never;
}[InferenceOperation];
/** Operations of document 2 that this version offers; `src/api/caller` must have a handler for each. */
export type OfferedVideoOperation = {
  [Name in keyof Video]: Video[Name] extends { status: 'planned' } ? never : Name;
}[keyof Video];

export const isInference = (operation: Operation): operation is InferenceOperation =>
  operation in INFERENCE_ENDPOINTS && !isWebSocket(operation);
export const isWebSocket = (operation: Operation): operation is WebSocketOperation => 'turns' in ENDPOINTS[operation];

export const isOfferedVideo = (operation: Operation): operation is OfferedVideoOperation =>
  operation in VIDEO_ENDPOINTS && !('status' in ENDPOINTS[operation]);

/** One way to serve a request: the dialect of the accounts that it uses, and whether bytes pass or are converted. */
export type CellWay =
  | { readonly isNative: true; readonly dialect: Dialect }
  | { readonly isNative: false; readonly dialect: UpstreamDialect };

/** The ways of a cell to serve a request, the best first. */
export function waysOfCell(cell: ServedCell): readonly CellWay[] {
  const converted = (dialect: UpstreamDialect): CellWay => ({ isNative: false, dialect });
  const otherwise = (cell.otherwise ?? []).map(converted);
  if (cell.kind === 'convert') return [converted(cell.to), ...otherwise];
  const native: CellWay = { isNative: true, dialect: cell.dialect };
  return [native, ...(cell.kind === 'prefer' ? [converted(cell.to)] : []), ...otherwise];
}

/** The row of a request, with the facts that the path of a call reads. */
export const inferenceRow = (operation: InferenceOperation): ConvertibleRow | UnconvertedRow =>
  INFERENCE_ENDPOINTS[operation];

/** Paths of other APIs that a row with a parameter would match: 404, and not 405 with the methods of that row. */
export const FOREIGN_PATHS = /^\/v1\/videos\/(?:edits|extensions|characters|generations|remix)$|:predictLongRunning$/;

/** The error format of an unknown path, so that the SDK of the caller can read the error. */
const ERROR_FORMAT_BY_PATH: readonly { readonly path: RegExp; readonly format: ErrorFormat }[] = [
  { path: /^\/v1\/messages/, format: 'messages' },
  { path: /^\/(?:upload\/v1(?:beta)?|public\/uploads)\//, format: 'generate' },
  { path: /^\/v1\/files\/[^/]+:download$/, format: 'generate' },
  { path: /^\/v1(?:beta|\/(?:interactions|cachedContents)(?:\/|$))/, format: 'generate' },
  // Names of models may contain colons too, so only the native verbs count.
  { path: /^\/v1\/models\/[^/]+:\w*(?:Contents?|Tokens)(?![\w:.-])/, format: 'generate' },
  { path: /^\/api\/v3/, format: 'video' },
  { path: /^\/v1\/(?:videos|video-callbacks|asset|public-characters)/, format: 'video' },
];
export const errorFormatOf = (path: string): ErrorFormat =>
  ERROR_FORMAT_BY_PATH.find((row) => row.path.test(path))?.format ?? 'openai';
