/**
 * A native JSON request, from the scan of its body. The bytes stay as they came; `bytesFor` replaces the model's name, and asks for the
 * usage of chat streams (ADR 13).
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, type Span, splice, spliceAll } from '../../core/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { asksForUsage, usageOptionChange } from './hidden-usage.ts';
import type { NativeScan } from './scan.ts';

export interface NativeBody {
  readonly model: Model;
  readonly isStream: boolean;
  readonly isBackground: boolean;
  readonly previousId: string | undefined;
  /** The gateway asks for usage that the client did not ask for. */
  readonly hidesUsage: boolean;
  bytesFor(account: Account, asksForUsage: boolean): Buffer;
}

/** What was scanned: the bytes after their scan, and what it found. */
export interface ScannedBody {
  readonly operation: InferenceOperation;
  readonly body: Buffer;
  readonly scan: NativeScan;
}

export function readNative({ operation, body, scan }: ScannedBody, caller: Caller, catalog: Catalog): NativeBody {
  const isBackground = scan.background === true;
  if (isBackground && (operation !== 'responses.create' || !caller.key.store)) throw noBackground(caller);
  const model = resolveModel(catalog, caller, scan.model);
  const { spans, previousId, usageOption } = scan;
  const isStream = scan.stream === true;
  const hidesUsage = operation === 'chat.create' && isStream && !asksForUsage(usageOption);
  const named = spans.model;
  return {
    model,
    isStream,
    isBackground,
    hidesUsage,
    previousId: typeof previousId === 'string' ? previousId : undefined,
    bytesFor(account, isUsageAsked) {
      const upstream = upstreamName(model, account);
      const rename = named && model.name !== upstream ? [{ span: named, bytes: jsonBytes(upstream) }] : [];
      const brace = body.indexOf(OPEN_BRACE) + 1;
      const ask = isUsageAsked ? [usageOptionChange(usageOption, spans.usageOption, brace)] : [];
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
