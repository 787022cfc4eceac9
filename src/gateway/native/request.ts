/**
 * The body of a native JSON request, scanned just far enough to route and admit it. The bytes stay as they came; `bytesFor`
 * replaces the model's name, and asks for the usage of chat streams (ADR 13).
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, type Span, splice, spliceAll, valueAt } from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import {
  CHOICE_COUNTS,
  type ChosenTier,
  chosenTiers,
  GENERATION_LIMITS,
  type InferenceOperation,
  OUTPUT_LIMITS,
  TIER_FIELD_NAMES,
} from '../../rules/index.ts';
import { SESSION_MEMBERS, sessionInBody } from '../affinity.ts';
import { boundsOfBody, STORED_MEMBERS } from '../billing/body-bounds.ts';
import { TOOL_MEMBERS } from '../billing/tool-bounds.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { asJson, scanRequest } from '../request-scan.ts';
import { asksForUsage, USAGE_OPTION, usageOptionChange } from './hidden-usage.ts';
import type { RequestBounds } from './native-request.ts';

export interface NativeBody {
  readonly model: Model;
  readonly isStream: boolean;
  readonly isBackground: boolean;
  readonly previousId: string | undefined;
  readonly session: string | undefined;
  readonly bounds: RequestBounds;
  readonly tiers: readonly ChosenTier[];
  /** The gateway asks for usage that the client did not ask for. */
  readonly hidesUsage: boolean;
  bytesFor(account: Account, asksForUsage: boolean): Buffer;
}

const WANTED: ReadonlySet<string> = new Set([
  'model',
  'stream',
  USAGE_OPTION,
  'previous_response_id',
  'background',
  'contents',
  'messages',
  'input',
  ...Object.values(OUTPUT_LIMITS).flat(),
  ...Object.values(CHOICE_COUNTS).flat(),
  ...GENERATION_LIMITS.config,
  ...TOOL_MEMBERS,
  ...STORED_MEMBERS,
  ...SESSION_MEMBERS,
  ...TIER_FIELD_NAMES,
]);

export function readNative(operation: InferenceOperation, body: Buffer, caller: Caller, catalog: Catalog): NativeBody {
  const members = scanRequest(body, WANTED, operation);
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  const isBackground = read('background') === true;
  if (isBackground && (operation !== 'responses.create' || !caller.key.store)) throw noBackground(caller);
  const model = resolveModel(catalog, caller, read('model'));
  const previousId = read('previous_response_id');
  const isStream = read('stream') === true;
  const options = operation === 'chat.create' && isStream ? read(USAGE_OPTION) : undefined;
  const hidesUsage = operation === 'chat.create' && isStream && !asksForUsage(options);
  const named = members.get('model');
  return {
    model,
    isStream,
    isBackground,
    hidesUsage,
    session: sessionInBody(operation === 'messages.create' ? 'messages' : 'responses', read),
    previousId: typeof previousId === 'string' ? previousId : undefined,
    bounds: asJson(() => boundsOfBody(operation, body, members)),
    tiers: chosenTiers(read),
    bytesFor(account, isUsageAsked) {
      const upstream = upstreamName(model, account);
      const rename = named && model.name !== upstream ? [{ span: named, bytes: jsonBytes(upstream) }] : [];
      const brace = body.indexOf(OPEN_BRACE) + 1;
      const ask = isUsageAsked ? [usageOptionChange(options, members.get(USAGE_OPTION), brace)] : [];
      return spliceAll(body, [...rename, ...ask]);
    },
  };
}

const noBackground = ({ key }: Caller) =>
  fail(
    'unsupported_parameter',
    key.store
      ? 'background: only POST /v1/responses makes background responses; leave the field out.'
      : 'background: this API key stores no responses, so that the result could not be read; leave the field out.',
    { param: 'background' },
  );

/** Checks a generate-content body, whose model is in the path. */
export function checkNativeBody(operation: InferenceOperation, body: Buffer): Pick<NativeBody, 'bounds' | 'tiers'> {
  const members = scanRequest(body, WANTED, operation);
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  return { bounds: asJson(() => boundsOfBody(operation, body, members)), tiers: chosenTiers(read) };
}

const OPEN_BRACE = 0x7b;
const jsonBytes = (text: string): Buffer => Buffer.from(JSON.stringify(text));

/** The body with the model's name replaced, or put in where the body has none. `named` is the name in the body. */
export function withModel(body: Buffer, span: Span | undefined, named: string | undefined, upstream: string): Buffer {
  if (span && named === upstream) return body;
  const value = jsonBytes(upstream);
  if (span) return splice(body, span, value);
  const brace = body.indexOf(OPEN_BRACE) + 1;
  const isEmpty = /^\s*\}/.test(body.toString('latin1', brace, brace + 64));
  return splice(
    body,
    { start: brace, end: brace },
    Buffer.concat([Buffer.from('"model":'), value, Buffer.from(isEmpty ? '' : ',')]),
  );
}
