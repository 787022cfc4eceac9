/**
 * The bytes of a native JSON request, as they came: only the model's name is replaced,
 * and usage of chat streams asked for (ADR 13).
 */
import { type Span, splice, spliceAll } from '../../core/index.ts';
import { usageOptionChange } from './hidden-usage.ts';
import type { NativeRequest } from './native-request.ts';
import type { NativeScan } from './scan.ts';

export function bytesFor(body: Buffer, scan: NativeScan, change: Parameters<NativeRequest['bodyFor']>): Buffer {
  const { model: named, spans, usageOption } = scan;
  const [model, asksForUsage, renames = []] = change;
  const rename = spans.model && named !== model ? [{ span: spans.model, bytes: jsonBytes(model) }] : [];
  const brace = body.indexOf(OPEN_BRACE) + 1;
  const ask = asksForUsage ? [usageOptionChange(usageOption, spans.usageOption, brace)] : [];
  return spliceAll(body, [...rename, ...renames, ...ask]);
}

const OPEN_BRACE = 0x7b;
const jsonBytes = (text: string): Buffer => Buffer.from(JSON.stringify(text));

/** The body with the model's name replaced, or put in where the body has none. `named` is the name in the body. */
export function withModel(body: Buffer, span: Span | undefined, named: string | undefined, upstream: string): Buffer {
  if (span && named === upstream) return body;
  if (span) return splice(body, span, jsonBytes(upstream));
  const brace = body.indexOf(OPEN_BRACE) + 1;
  const isEmpty = /^\s*\}/.test(body.toString('latin1', brace, brace + 64));
  const member = Buffer.from(`"model":${JSON.stringify(upstream)}${isEmpty ? '' : ','}`);
  return splice(body, { start: brace, end: brace }, member);
}
