/** Encoder of hub parts. Media is sent inline; URLs are sent only to models that fetch them. */
import type { UpstreamTarget } from '../../codec.ts';
import { reject, rejectFile } from '../../errors/rejection.ts';
import type { HubPart, HubToolCall, HubToolResult, MediaSource } from '../../hub/types.ts';
import { NO_RESULT } from '../../tools/pair-results.ts';
import { isMinted } from '../../wire/ids.ts';
import { mimeOf } from '../../wire/media.ts';
import { compact, isObject, parseArgs } from '../../wire/read.ts';
import { signatureForUpstream } from '../thought-signature.ts';
import { ISSUER, type WirePart } from '../wire.ts';

/** Returns undefined for an empty part, which the provider rejects. */
export function encodePart(part: HubPart, target: UpstreamTarget): WirePart | undefined {
  if (part.kind === 'image' || part.kind === 'audio' || part.kind === 'video' || part.kind === 'file') {
    return mediaPart(part, target);
  }
  const text = textOf(part);
  const signature = part.kind === 'text' ? signatureForUpstream(part.signature, target.account) : undefined;
  return text === '' ? undefined : compact({ text, thoughtSignature: signature });
}

type Media = Extract<HubPart, { kind: 'image' | 'audio' | 'video' | 'file' }>;

function mediaPart(part: Media, target: UpstreamTarget): WirePart | undefined {
  if (part.source.kind === 'text') {
    const text = textOf(part);
    return text === '' ? undefined : { text };
  }
  const signature = part.kind === 'image' ? signatureForUpstream(part.signature, target.account) : undefined;
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
    reject('conversation', `URLs are not supported by this model; send the ${kind} as inline data.`);
  return { fileData: compact({ fileUri: source.url, mimeType: source.mime }) };
}

/**
 * Returns the text of a part; of media only what the part has no
 * member for, which is the title and context of a file.
 */
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
      return lines(part.title, part.context, part.source.kind === 'text' ? part.source.text : undefined);
    default:
      return part.source.kind === 'text' ? part.source.text : '';
  }
}

const lines = (...texts: (string | undefined)[]): string => texts.filter((text) => text).join('\n');

export function callPart(call: HubToolCall, name: string, signature: string | undefined): WirePart {
  // The declaration of a custom tool has one member for its free text.
  const args = call.form === 'custom' ? { input: call.args } : parseArgs(call.args);
  return compact({
    functionCall: compact({ id: idOf(call), name, args }),
    thoughtSignature: signature,
  });
}

/** Omits ids that the gateway generated; the provider then pairs by name and order. */
const idOf = (call: HubToolCall): string | undefined => (isMinted(call.callId) ? undefined : call.callId);

/** Returns the response to one call, and media that must follow as separate parts. */
export function resultParts(
  call: HubToolCall,
  name: string,
  result: HubToolResult | undefined,
  target: UpstreamTarget,
): { readonly response: WirePart; readonly media: readonly WirePart[] } {
  const media = (result?.parts ?? []).filter(isBinary).map((part) => mediaOf(part.kind, part.source, target));
  const isInline = target.capabilities.resultMedia && media.length > 0;
  const response = {
    functionResponse: compact({
      id: idOf(call),
      name,
      response: result ? responseOf(result) : { error: NO_RESULT },
      parts: isInline ? media : undefined,
    }),
  };
  return { response, media: isInline ? [] : media };
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
