/**
 * One scan of a native body: all that routing and admission need, as plain data.
 * In a thread, with a copy, if it has many values.
 */
import { bufferOf, type ScanTrail, type Span, type StepBudget, valueAt } from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import * as rules from '../../rules/index.ts';
import { SESSION_MEMBERS, sessionInBody } from '../affinity.ts';
import { boundsOfBody, STORED_MEMBERS } from '../billing/body-bounds.ts';
import type { BodyFacts } from '../billing/call-facts.ts';
import { LIFTING_MEMBERS } from '../billing/output-bounds.ts';
import { TOOL_MEMBERS } from '../billing/tool-bounds.ts';
import { asJson, findingsFor, ifLight, mayHoldOwn, scanRequest } from '../request-scan.ts';
import { GOOGLE_MARKERS } from './google-objects.ts';
import { USAGE_OPTION } from './hidden-usage.ts';
import { cutMembers, namedModels, type PlacedModel } from './named-models.ts';
import { findProviderIds, type ProviderIds } from './provider-ids.ts';
import { mayHoldEnvelope, stripEnvelopes, stripOpaque } from './strip-opaque.ts';

export interface ScanInput {
  readonly operation: rules.InferenceOperation;
  readonly dialect: rules.Dialect;
  readonly bytes: Buffer;
  /** A provider rejected an opaque value: all are left out. */
  readonly omitsOpaque?: boolean;
  readonly isLight?: boolean;
  /** Of a scan of the same first bytes, or an empty one: the next turn may go on from this one. */
  readonly trail?: ScanTrail | undefined;
}

export interface NativeScan {
  /** The body without what the provider must not get; undefined when it has nothing of that. */
  readonly cut: Uint8Array | undefined;
  /** It had members that identify the operator's organisation. */
  readonly hasCutMembers: boolean;
  /** What only another provider can read, left out of the request, by its names for the caller. */
  readonly dropped: readonly string[];
  readonly model: unknown;
  readonly stream: unknown;
  readonly background: unknown;
  readonly previousId: unknown;
  readonly usageOption: unknown;
  readonly spans: { readonly model?: Span | undefined; readonly usageOption?: Span | undefined };
  readonly session: string | undefined;
  readonly bounds: BodyFacts;
  readonly tiers: readonly rules.ChosenTier[];
  readonly named: readonly PlacedModel[];
  readonly ids: ProviderIds | undefined;
  /** Undefined for a body of which something must be looked for again. */
  readonly trail: ScanTrail | undefined;
}

export const scanJob: ThreadJob<ScanInput, NativeScan> = {
  module: import.meta.url,
  name: 'scanJob',
  run: scanNative,
  runLight: (input, steps) => ifLight(input.bytes, steps, (light) => scanNative({ ...input, isLight: true }, light)),
  memoryOf: ({ cut }) => (cut && cut.buffer instanceof ArrayBuffer ? [cut.buffer] : []),
};

/** Where the scan removed something, the rest. */
export const bodyAfter = (sent: Buffer, { cut }: { readonly cut: Uint8Array | undefined }): Buffer =>
  cut ? bufferOf(cut) : sent;

const WANTED: ReadonlySet<string> = new Set([
  ...Object.values(rules.OUTPUT_LIMITS).flat(),
  ...Object.values(rules.FOREIGN_LIMITS).flat(),
  ...LIFTING_MEMBERS,
  ...Object.values(rules.CHOICE_COUNTS).flat(),
  ...rules.GENERATION_LIMITS.config,
  ...rules.AUDIO_REPLIES.members,
  ...TOOL_MEMBERS,
  ...STORED_MEMBERS,
  'model',
  'stream',
  USAGE_OPTION,
  'previous_response_id',
  'background',
  'contents',
  'messages',
  'input',
  ...SESSION_MEMBERS,
  ...rules.TIER_FIELD_NAMES,
]);
const WANTED_OF_GENERATE: ReadonlySet<string> = new Set([...WANTED, ...GOOGLE_MARKERS.names]);

export function scanNative(input: ScanInput, steps: StepBudget): NativeScan {
  const { operation, dialect, bytes: sent, omitsOpaque, isLight = false, trail } = input;
  const wanted = dialect === 'generate' ? WANTED_OF_GENERATE : WANTED;
  const asSent = findingsFor(operation, dialect, steps, trail);
  const { known, marks } = asSent;
  const holdsOwn = mayHoldOwn(known ? sent.subarray(known.at) : sent);
  const first = scanRequest(sent, wanted, { operation, findings: asSent, steps, isLight, mayHoldOwn: holdsOwn });
  const own = cutMembers(sent, asSent);
  const dropped = new Set<string>();
  let body = own;
  if (omitsOpaque) body = stripOpaque(own, dialect, steps);
  else if (holdsOwn) body = stripEnvelopes(own, dialect, steps, dropped);
  const findings = body === sent ? asSent : findingsFor(operation, dialect, steps);
  const members = body === sent ? first : scanRequest(body, wanted, { operation, findings, steps });
  const hasModelInPath = rules.inferenceRow(operation).reader === 'path-model';
  if (hasModelInPath) checkDialect(body, members);
  const read = (name: string): unknown => asJson(() => valueAt(body, members.get(name)));
  const ids = asJson(() => findProviderIds(body, dialect, { members, findings }));
  // What is left out, or belongs to someone, is looked for in the whole body.
  const isKept = marks && body === sent && ids === undefined && !(holdsOwn && mayHoldEnvelope(sent));
  return {
    cut: body === sent ? undefined : new Uint8Array(body),
    hasCutMembers: own !== sent,
    dropped: [...dropped],
    model: read('model'),
    stream: read('stream'),
    background: read('background'),
    previousId: read('previous_response_id'),
    usageOption: operation === 'chat.create' ? read(USAGE_OPTION) : undefined,
    spans: hasModelInPath ? {} : { model: members.get('model'), usageOption: members.get(USAGE_OPTION) },
    session: sessionInBody(operation === 'messages.create' ? 'messages' : 'responses', read),
    bounds: asJson(() => boundsOfBody(operation, body, { members, findings })),
    tiers: rules.chosenTiers(read),
    ids,
    named: namedModels(body, findings),
    trail: isKept ? { marks, tagged: findings.tagged } : undefined,
  };
}

/** A body of another dialect, sent to the path of generate-content. */
function checkDialect(body: Buffer, members: ReadonlyMap<string, Span>): void {
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
}
