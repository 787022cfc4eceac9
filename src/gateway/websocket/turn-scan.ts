/** One scan of a turn for the provider's own WebSocket, as a job: large turns are scanned in a thread. */
import type { Span } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { boundsOfBody } from '../billing/body-bounds.ts';
import type { BodyFacts } from '../billing/call-facts.ts';
import { BOUNDING_MEMBERS } from '../native/scan.ts';
import { stripEnvelopes } from '../native/strip-opaque.ts';
import { asJson, findingsFor, LARGE_BODY_BYTES, scanRequest } from '../request-scan.ts';

export interface TurnScan {
  /** It names further models, or has members to cut: only the HTTP path does both. */
  readonly needsHttp: boolean;
  readonly bounds: BodyFacts;
  /** The turn without envelopes of other groups; undefined when it has none. */
  readonly cut: Uint8Array<ArrayBuffer> | undefined;
  /** Of the model's name, in the turn without envelopes. */
  readonly modelSpan: Span | undefined;
}

export const turnJob: ThreadJob<{ readonly bytes: Buffer }, TurnScan> = {
  module: import.meta.url,
  name: 'turnJob',
  inlineBytes: LARGE_BODY_BYTES,
  run: ({ bytes }) => scanTurn(bytes),
  memoryOf: ({ cut }) => (cut ? [cut.buffer] : []),
};

const MODEL: ReadonlySet<string> = new Set(['model']);
const WANTED: ReadonlySet<string> = new Set([...BOUNDING_MEMBERS, ...MODEL]);

function scanTurn(sent: Buffer): TurnScan {
  const findings = findingsFor('responses.create', 'responses');
  const members = scanRequest(sent, WANTED, { operation: 'responses.create', findings });
  const body = stripEnvelopes(sent, 'responses');
  const isCut = body !== sent;
  return {
    needsHttp: findings.tagged.some(({ tag }) => tag === 'model' || tag === 'cut'),
    bounds: asJson(() => boundsOfBody('responses.create', sent, { members, findings })),
    cut: isCut ? new Uint8Array(body) : undefined,
    modelSpan: (isCut ? scanRequest(body, MODEL) : members).get('model'),
  };
}
