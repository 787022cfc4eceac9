/**
 * The first look at the body of a request: is it JSON,
 * and within the limits of its operation. Nothing is parsed before.
 */
import * as core from '../core/index.ts';
import * as rules from '../rules/index.ts';

export interface ScanOptions {
  /** Of the request: the values of the body count. */
  readonly steps: core.StepBudget;
  readonly findings?: core.ShapeFindings;
  readonly operation?: rules.InferenceOperation;
  /** Throws for a body with more values than the event loop can read at once. */
  readonly isLight?: boolean;
  readonly mayHoldOwn?: boolean;
}

/** Spans of the wanted members. Throws what the client did wrong, with the member and its limit. */
export const scanRequest = (body: Buffer, wanted: ReadonlySet<string>, options: ScanOptions): Map<string, core.Span> =>
  measureRequest(body, wanted, options).members;

export function measureRequest(body: Buffer, wanted: ReadonlySet<string>, options: ScanOptions): core.MeasuredBody {
  if (body.length === 0) throw core.fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const { operation, steps, findings, isLight = false } = options;
  const isReply = operation === undefined || rules.inferenceRow(operation).vectors !== true;
  const ofReply = isLight ? lightLimits(findings) : rules.REQUEST_JSON_LIMITS;
  const measured = asJson(() => core.measureMembers(body, wanted, isReply ? ofReply : rules.JSON_LIMITS, findings));
  steps.take(measured.values);
  if (isReply && options.mayHoldOwn !== false) rejectManyEnvelopes(body);
  return measured;
}

/** What was read before takes no time. */
function lightLimits(findings: core.ShapeFindings | undefined): core.JsonLimits {
  const { limits } = rules.LIGHT_BODY;
  const { values } = findings?.known ?? {};
  return values === undefined
    ? limits
    : { ...limits, tokens: Math.min(rules.REQUEST_LIMITS.values, limits.tokens + values) };
}

/**
 * The result of work on a light body. What is wrong with one,
 * a thread finds too, and says it with the limits of all bodies.
 */
export function ifLight<T>(bytes: Buffer, steps: core.StepBudget, work: (light: core.StepBudget) => T): T | undefined {
  if (bytes.length > rules.LIGHT_BODY.bytes) return undefined;
  const light = new core.StepBudget(rules.LIGHT_BODY.steps);
  try {
    const done = work(light);
    steps.take(light.taken);
    return done;
  } catch (error) {
    if (error instanceof core.ApiError) return undefined;
    throw error;
  }
}

const shapes = new Map<rules.ObjectKinds, core.BodyShape>();
const SNAKE = /[A-Z]/g;
/** Providers of generate-content read each name in two spellings. */
export const bothSpellings = (name: string): string[] => [
  name,
  name.replace(SNAKE, (letter) => `_${letter.toLowerCase()}`),
];

/** To be filled by a scan: what the request has that its table does not know, and what is bounded by its content. */
export function findingsFor(
  operation: rules.InferenceOperation,
  dialect: rules.Dialect,
  steps: core.StepBudget,
  trail?: core.ScanTrail,
): core.ShapeFindings {
  const kinds = rules.objectKindsOf(operation, dialect);
  let shape = shapes.get(kinds);
  if (!shape) {
    shape = core.shapeOf(kinds, rules.OBJECT_NAMES[dialect], dialect === 'generate' ? bothSpellings : undefined);
    shapes.set(kinds, shape);
  }
  return new core.ShapeFindings(shape, steps, trail);
}

export function unknownIn(
  body: Buffer,
  operation: rules.InferenceOperation,
  dialect: rules.Dialect,
  steps: core.StepBudget,
): string | undefined {
  const findings = findingsFor(operation, dialect, steps);
  scanRequest(body, core.NO_MEMBERS, { operation, findings, steps });
  return findings.unknown;
}

export const MODEL_MEMBER: ReadonlySet<string> = new Set(['model']);

/** The scan skips the content of long strings, so reading a member may still fail. */
export function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof core.JsonScanError)
      throw core.fail('invalid_request', error.message, error.member === undefined ? {} : { param: error.member });
    if (error instanceof SyntaxError) throw core.fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

/** Part of every opaque value and id of this gateway, so that one search is enough for most bodies. */
const OWN = Buffer.from('gw');
/** False is certain. */
export const mayHoldOwn = (bytes: Buffer): boolean => bytes.includes(OWN);

/** How every opaque value of this gateway begins, in text and in bytes. */
const ENVELOPE = Buffer.from('gw1');
const QUOTE = 0x22;
const TURNS = ['messages', 'input', 'contents'];

/** The signature of each would be checked. */
function rejectManyEnvelopes(body: Buffer): void {
  let count = 0;
  for (let at = body.indexOf(ENVELOPE); at >= 0; at = body.indexOf(ENVELOPE, at + ENVELOPE.length))
    if (body[at - 1] === QUOTE) count += 1;
  if (count <= rules.REQUEST_LIMITS.opaque) return;
  const member = TURNS.find((name) => body.includes(`"${name}"`)) ?? 'input';
  throw core.fail(
    'invalid_request',
    `${member}: the conversation has more than ${rules.REQUEST_LIMITS.opaque} signatures of reasoning; ` +
      'leave out those of early turns.',
    { param: member },
  );
}
