export { hopAddress, isAddressIn, isPublicAddress, isSameAddress, networkOf, parseRange } from './address.ts';
export { type Clock, systemClock, unixSeconds } from './clock.ts';
export { within } from './deadline.ts';
export { JsonElider } from './elided-json.ts';
export { ApiError, type FailureDetails, fail, failAt, toApiError, Unavailable } from './errors.ts';
export {
  isExactNumber,
  mayBeDeep,
  orderedObject,
  parseExact,
  parseJson,
  valueOfJson,
  withExactArguments,
} from './exact-json.ts';
export { isGlob, matchesGlob } from './glob.ts';
export { concatBuffers, GrowingBuffer } from './growing-buffer.ts';
export { base62, newId, newRequestId, requestIdTime } from './ids.ts';
export { imageSize, MAX_IMAGE_HEAD } from './image-size.ts';
export { IndexedList, type IndexedMember } from './indexed-list.ts';
export {
  elementsAt,
  hasEscapedLetters,
  JsonLimitError,
  type JsonLimits,
  JsonScanError,
  type MeasuredBody,
  measureMembers,
  membersAt,
  type Span,
  scanMembers,
  splice,
  spliceAll,
  valueAt,
} from './json.ts';
export { repeatedMember } from './json-members.ts';
export { type BodyShape, ShapeFindings, shapeOf } from './json-shape.ts';
export { hintOf, isKeyFormat, newKeyValue } from './key-format.ts';
export { type LimitedKey, type Limits, readLimits, type StoredLimits, showLimits } from './limits.ts';
export { createLog, errorFields, type Log, type LogFields, type LogValue, sharedOutput, silentLog } from './log.ts';
export { type MaybePromise, whenReady } from './maybe-promise.ts';
export {
  afterId3,
  Base64File,
  type FileBytes,
  hasText,
  type MediaLength,
  type Mp3Frame,
  mediaLength,
  mp3Frame,
  uint,
} from './media-length/index.ts';
export { hasSignature, isSignedMime, SIGNATURE_BYTES, type SignedMime } from './media-signature.ts';
export { EVENT_STREAM, isEventStream, isJsonType, mediaTypeOf } from './media-type.ts';
export { formatNanos, type Nanos, parseNanos, parsePpm } from './money.ts';
export { type PackedJson, packJson, unpackJson } from './packed-json.ts';
export {
  bootId,
  isProcessAlive,
  isProcessDead,
  ownIdentity,
  type ProcessIdentity,
  processStartTime,
} from './process-identity.ts';
export { isProxyUrl, PROXY_EXPECTED, proxyLabel } from './proxy-url.ts';
export { isPlainName, quoteNamesOnly } from './quotations.ts';
export { FIRST_REQUESTS, OPEN_RETRY_MS, RateWindow, WINDOW_MS, type WindowUse } from './rate-window.ts';
export { type Repetition, repeat } from './repeat.ts';
export { commonTrail, type ScanTrail, type Tagged } from './scan-trail.ts';
export {
  createSealer,
  derive,
  hmac,
  newMasterKey,
  parseMasterKeys,
  type Sealer,
  type SealLocation,
  WrongMasterKey,
} from './seal.ts';
export { readSse, SSE_COMMENT, type SseReader, sse } from './sse.ts';
export { blockData, blocksOf, lastBlockEnd, nextBlockEnd } from './sse-blocks.ts';
export { StepBudget } from './step-budget.ts';
export { estimateTokens } from './token-estimate.ts';
export { UnescapedText } from './unescaped.ts';
export { publicUrl } from './url.ts';
export type { ModelUsage, Usage } from './usage.ts';
