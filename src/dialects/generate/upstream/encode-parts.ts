/** Hub parts as parts of a request. Media travel as bytes; an address is only named to models that fetch it themselves. */
import type { UpstreamTarget } from '../../codec.ts';
import { reject, rejectFile } from '../../errors/rejection.ts';
import type { HubPart, HubToolCall, HubToolResult, MediaSource } from '../../hub/types.ts';
import { NO_RESULT } from '../../tools/pair-results.ts';
import { isMinted } from '../../wire/ids.ts';
import { mimeOf } from '../../wire/media.ts';
import { compact, isObject, parseArgs } from '../../wire/read.ts';
import { restored } from '../thought-signature.ts';
import { ISSUER, type WirePart } from '../wire.ts';

/** Undefined for what would be an empty part, which the provider refuses. */
export function encodePart(part: HubPart, target: UpstreamTarget): WirePart | undefined {
  if (part.kind === 'image' || part.kind === 'audio' || part.kind === 'video' || part.kind === 'file') {
    return mediaPart(part, target);
  }
  const text = textOf(part);
  const signature = part.kind === 'text' ? restored(part.signature, target.account) : undefined;
  return text === '' ? undefined : compact({ text, thoughtSignature: signature });
}

type Media = Extract<HubPart, { kind: 'image' | 'audio' | 'video' | 'file' }>;

function mediaPart(part: Media, target: UpstreamTarget): WirePart | undefined {
  if (part.source.kind === 'text') {
    const text = textOf(part);
    return text === '' ? undefined : { text };
  }
  const signature = part.kind === 'image' ? restored(part.signature, target.account) : undefined;
  return compact({ ...mediaOf(part.kind, part.source, target), thoughtSignature: signature });
}

function mediaOf(
  kind: Media['kind'],
  source: Exclude<MediaSource, { kind: 'text' }>,
  target: UpstreamTarget,
): WirePart {
  if (source.kind === 'base64') return { inlineData: { mimeType: mimeOf(source.mime), data: source.data } };
  if (source.kind === 'file_id') {
    if (source.issuer === ISSUER) return { fileData: { fileUri: source.id } };
    return rejectFile(source.id);
  }
  if (!target.capabilities.urlMedia)
    reject('conversation', `This model cannot read an address; send the ${kind} itself.`);
  return { fileData: compact({ fileUri: source.url, mimeType: source.mime }) };
}

/** A part as text, for places that hold nothing else; media without text yield nothing. */
export function textOf(part: HubPart): string {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text;
    case 'json':
      return JSON.stringify(part.value) ?? '';
    case 'search_result':
      return lines(part.title, part.source, ...part.texts);
    case 'file':
      return part.source.kind === 'text' ? lines(part.title, part.context, part.source.text) : '';
    default:
      return part.source.kind === 'text' ? part.source.text : '';
  }
}

const lines = (...texts: (string | undefined)[]): string => texts.filter((text) => text).join('\n');

// ---------------------------------------------------------------- calls and results

export function callPart(call: HubToolCall, name: string, signature: string | undefined): WirePart {
  // Free text of custom tools goes where their declaration put it.
  const args = call.form === 'custom' ? { input: call.args } : parseArgs(call.args);
  return compact({
    functionCall: compact({ id: idOf(call), name, args }),
    thoughtSignature: signature,
  });
}

/** An id of ours means nothing to the provider, which pairs by order and name then. */
const idOf = (call: HubToolCall): string | undefined => (isMinted(call.callId) ? undefined : call.callId);

/** The answer to one call, and media that have to follow it as parts of their own. */
export function resultParts(
  call: HubToolCall,
  name: string,
  result: HubToolResult | undefined,
  target: UpstreamTarget,
): { readonly answer: WirePart; readonly beside: readonly WirePart[] } {
  const media = (result?.parts ?? []).filter(isBinary).map((part) => mediaOf(part.kind, part.source, target));
  const inside = target.capabilities.resultMedia && media.length > 0;
  const answer = {
    functionResponse: compact({
      id: idOf(call),
      name,
      response: result ? responseOf(result) : { error: NO_RESULT },
      parts: inside ? media : undefined,
    }),
  };
  return { answer, beside: inside ? [] : media };
}

type Binary = Media & { readonly source: Exclude<MediaSource, { kind: 'text' }> };
const isBinary = (part: HubPart): part is Binary =>
  (part.kind === 'image' || part.kind === 'audio' || part.kind === 'video' || part.kind === 'file') &&
  part.source.kind !== 'text';

function responseOf(result: HubToolResult): unknown {
  const [only] = result.parts;
  if (only?.kind === 'json' && result.parts.length === 1 && !result.isError) {
    return isObject(only.value) ? only.value : { output: only.value };
  }
  const text = lines(...result.parts.map(textOf));
  return result.isError ? { error: text } : { output: text };
}
