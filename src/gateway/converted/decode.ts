/**
 * Decoding of a converted request, with what admission needs;
 * in a thread if it has many values, and again with its stored turns.
 */
import type { PackedJson, StepBudget } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { type Dialect, type InferenceOperation, inferenceRow } from '../../rules/index.ts';
import { boundsOfRequest } from '../billing/body-bounds.ts';
import type { BodyFacts } from '../billing/call-facts.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import { ifLight, unknownIn } from '../request-scan.ts';
import { userMessages } from '../stored/input-items.ts';
import * as turns from '../stored/references.ts';
import { parseBody, requestOfText, textOfRequest } from './json-body.ts';
import { dropForged, type SignedFor, signerFor } from './opaque-signer.ts';

export interface DecodeInput {
  readonly bytes: Buffer;
  readonly operation: InferenceOperation;
  readonly from: Dialect;
  readonly head: dialects.ClientRequestHead;
  readonly opaqueKey: Uint8Array;
  readonly signedFor: SignedFor;
  /** The group rejects requests with members that no table knows. */
  readonly findsUnknown: boolean;
  readonly stores: boolean;
  /** Only the tokens of the request are wanted. */
  readonly counts?: boolean;
  /** Undefined until it is known whether the body refers to any. */
  readonly stored?: turns.StoredTurns | undefined;
  /** Bytes of the stored turns, which the provider reads too. */
  readonly storedBytes?: number;
  readonly isLight?: boolean;
}

export interface Unexpanded {
  readonly refersTo: turns.StoredReferences;
  readonly model: unknown;
}

export type Decoded =
  | Unexpanded
  | {
      readonly refersTo?: undefined;
      readonly request: dialects.HubRequest;
      /**
       * JSON text of the input items that the request adds,
       * where the response is kept with them; of all of them for a summary.
       */
      readonly input: string;
      readonly facts: BodyFacts;
      /** Of a count: the model as the body names it, and the estimate. */
      readonly count: { readonly model: unknown; readonly estimate: number } | undefined;
    };

type DecodeReply = Unexpanded | (Omit<Exclude<Decoded, Unexpanded>, 'request'> & { readonly request: PackedJson });

export const decodeJob: ThreadJob<DecodeInput, Decoded, DecodeInput, DecodeReply> = {
  module: import.meta.url,
  name: 'decodeJob',
  run: decode,
  runLight: (input, steps) =>
    input.stored === undefined && !input.counts
      ? ifLight(input.bytes, steps, (light) => decode({ ...input, isLight: true }, light))
      : undefined,
  toReply: (decoded) => (decoded.refersTo ? decoded : { ...decoded, request: textOfRequest(decoded.request) }),
  fromReply: (reply) => (reply.refersTo ? reply : { ...reply, request: requestOfText(reply.request) }),
};

function decode({ bytes, operation, from, stored, ...input }: DecodeInput, steps: StepBudget): Decoded {
  const sent = parseBody(bytes, steps, input.isLight);
  const refersTo = from === 'responses' ? turns.storedReferencesIn(sent) : NO_REFERENCES;
  const isStoredMissing = stored === undefined && (refersTo.previousId !== undefined || refersTo.itemIds.length > 0);
  if (isStoredMissing) return { refersTo, model: sent.model };
  const {
    body,
    input: items,
    added,
    previousId,
  } = from === 'responses' ? turns.withStoredTurns(sent, stored ?? turns.NO_STORED_TURNS) : notStored(sent);
  const sign = signerFor(input.opaqueKey, input.signedFor);
  const decoded = input.counts
    ? dialects.decodeCount(from, body, input.head)
    : clientFor(operation, from, () => items, sign).decodeRequest(body, input.head);
  const opened = dialects.openSummaries(dropForged(decoded, sign));
  const state = { ...opened.state, ...(previousId && { previousId }), ...(!input.stores && { store: false }) };
  const request = { ...opened, state };
  if (input.counts) {
    const count = { model: body.model, estimate: estimateRequest(request, undefined, steps) };
    return { request, input: '[]', facts: { bodyBytes: bytes.length }, count };
  }
  const kept = request.state.store === false ? [] : added;
  return {
    request,
    count: undefined,
    input: JSON.stringify(compacts(operation) ? items : kept),
    facts: {
      ...boundsOfRequest(operation, body, bytes.length + (input.storedBytes ?? 0), steps),
      dropped: input.findsUnknown ? unknownIn(bytes, operation, from, steps) : undefined,
    },
  };
}

/** Only the responses dialect refers to stored turns. */
const NO_REFERENCES: turns.StoredReferences = { previousId: undefined, itemIds: [] };
const notStored = (body: Readonly<Record<string, unknown>>) => ({ body, input: [], added: [], previousId: undefined });

const compacts = (operation: InferenceOperation): boolean => {
  const row = inferenceRow(operation);
  return 'converts' in row && row.converts === 'compact';
};

/** The client's side of an operation. `input`: all input items. */
export const clientFor = (
  operation: InferenceOperation,
  from: Dialect,
  input: () => readonly unknown[],
  sign: ReturnType<typeof signerFor>,
): dialects.ClientSide =>
  compacts(operation)
    ? dialects.compactionClient({ sign, userMessages: (id) => userMessages(input(), id) })
    : dialects.codecOf(from).client;
