/** The first look at the body of a request: is it JSON, and within the limits of its operation. Nothing is parsed before. */
import {
  ApiError,
  type BodyShape,
  fail,
  type JsonLimits,
  JsonScanError,
  type MeasuredBody,
  measureMembers,
  type ScanTrail,
  ShapeFindings,
  type Span,
  StepBudget,
  shapeOf,
} from '../core/index.ts';
import {
  type Dialect,
  type InferenceOperation,
  inferenceRow,
  JSON_LIMITS,
  LIGHT_BODY,
  OBJECT_NAMES,
  type ObjectKinds,
  objectKindsOf,
  REQUEST_JSON_LIMITS,
  REQUEST_LIMITS,
} from '../rules/index.ts';

/**
 * Larger bodies are scanned and converted in a thread, unless they are light. A body of this size with nothing but turns of one letter takes 30 ms, one of 64 kB as
 * agents send them 1 ms, and the way to the thread and back half a millisecond.
 */
export const LARGE_BODY_BYTES = 128 * 1024;

/** The values of the body count into the steps of the request. */
export type ScanOptions = ScanLimits &
  (
    | { readonly findings: ShapeFindings; readonly steps?: undefined }
    | { readonly findings?: undefined; readonly steps: StepBudget }
  );
interface ScanLimits {
  readonly operation?: InferenceOperation;
  /** Throws for a body with more values than the event loop can read at once. */
  readonly isLight?: boolean;
  /** False when the body has no envelope. */
  readonly mayHoldOwn?: boolean;
}

/** Spans of the wanted members. Throws what the client did wrong, with the member and its limit. */
export const scanRequest = (body: Buffer, wanted: ReadonlySet<string>, options: ScanOptions): Map<string, Span> =>
  measureRequest(body, wanted, options).members;

/** The same, and more that the scan has seen. */
export function measureRequest(body: Buffer, wanted: ReadonlySet<string>, options: ScanOptions): MeasuredBody {
  if (body.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const { operation, findings, isLight = false } = options;
  const isReply = operation === undefined || inferenceRow(operation).vectors !== true;
  const ofReply = isLight ? lightLimits(findings) : REQUEST_JSON_LIMITS;
  const measured = asJson(() => measureMembers(body, wanted, isReply ? ofReply : JSON_LIMITS, findings));
  (options.findings ? options.findings.steps : options.steps).take(measured.values);
  if (isReply && options.mayHoldOwn !== false) rejectManyEnvelopes(body);
  return measured;
}

/** What was read before takes no time. */
function lightLimits(findings: ShapeFindings | undefined): JsonLimits {
  const { limits } = LIGHT_BODY;
  const { values } = findings?.known ?? {};
  return values === undefined ? limits : { ...limits, tokens: Math.min(REQUEST_LIMITS.values, limits.tokens + values) };
}

/** The result of work on a light body. What is wrong with one, a thread finds too, and says it with the limits of all bodies. */
export function ifLight<T>(bytes: Buffer, steps: StepBudget, work: (light: StepBudget) => T): T | undefined {
  if (bytes.length > LIGHT_BODY.bytes) return undefined;
  const light = new StepBudget(LIGHT_BODY.steps);
  try {
    const done = work(light);
    steps.take(light.taken);
    return done;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

const shapes = new Map<ObjectKinds, BodyShape>();
const SNAKE = /[A-Z]/g;
/** Providers of generate-content read each name in two spellings. */
export const bothSpellings = (name: string): string[] => [
  name,
  name.replace(SNAKE, (letter) => `_${letter.toLowerCase()}`),
];

/** To be filled by a scan: what the request has that its table does not know, and what is bounded by its content. */
export function findingsFor(
  operation: InferenceOperation,
  dialect: Dialect,
  steps: StepBudget,
  trail?: ScanTrail,
): ShapeFindings {
  const kinds = objectKindsOf(operation, dialect);
  let shape = shapes.get(kinds);
  if (!shape) {
    shape = shapeOf(kinds, OBJECT_NAMES[dialect], dialect === 'generate' ? bothSpellings : undefined);
    shapes.set(kinds, shape);
  }
  return new ShapeFindings(shape, steps, trail);
}

/** The first member of a request that no table knows. */
export function unknownIn(
  body: Buffer,
  operation: InferenceOperation,
  dialect: Dialect,
  steps: StepBudget,
): string | undefined {
  const findings = findingsFor(operation, dialect, steps);
  scanRequest(body, NO_MEMBERS, { operation, findings });
  return findings.unknown;
}
const NO_MEMBERS: ReadonlySet<string> = new Set();

/** The scan skips the content of long strings, so reading a member may still fail. */
export function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonScanError)
      throw fail('invalid_request', error.message, error.member === undefined ? {} : { param: error.member });
    if (error instanceof SyntaxError) throw fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

/** Part of every opaque value and id of this gateway, so that one search is enough for most bodies. */
const OWN = Buffer.from('gw');
/** False is certain. */
export const mayHoldOwn = (bytes: Buffer): boolean => bytes.includes(OWN);

/** How every opaque value of this gateway begins. */
const ENVELOPE = Buffer.from('gw1.');
const QUOTE = 0x22;
const TURNS = ['messages', 'input', 'contents'];

/** The signature of each would be checked. */
function rejectManyEnvelopes(body: Buffer): void {
  let count = 0;
  for (let at = body.indexOf(ENVELOPE); at >= 0; at = body.indexOf(ENVELOPE, at + ENVELOPE.length))
    if (body[at - 1] === QUOTE) count += 1;
  if (count <= REQUEST_LIMITS.opaque) return;
  const member = TURNS.find((name) => body.includes(`"${name}"`)) ?? 'input';
  throw fail(
    'invalid_request',
    `${member}: the conversation has more than ${REQUEST_LIMITS.opaque} signatures of reasoning; leave out those of early turns.`,
    { param: member },
  );
}
