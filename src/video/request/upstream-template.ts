/**
 * The upstream request of a task as pieces of bytes, with holes for what is known only at submission: model name, callback URL,
 * safety identifier and the provider's ids of assets. Inline media stays in the memory of the client's body and is never copied.
 */
import type { MediaRole } from '../../rules/index.ts';
import type { JsonText } from './json-tree.ts';
import type { GivenParameters, TemplatePart, UpstreamTemplate } from './task-request.ts';

export type { UpstreamTemplate } from './task-request.ts';

export interface TemplateValues {
  readonly model: string;
  /** Leaves the member out when undefined. */
  readonly callbackUrl: string | undefined;
  readonly safetyIdentifier: string | undefined;
  /** The provider's id of each reference, by the index of its content item. */
  readonly assets: ReadonlyMap<number, string>;
}

/** A content item of the upstream request. */
export type TemplateItem =
  | { readonly type: 'text'; readonly text: JsonText }
  | {
      readonly type: 'image_url' | 'video_url' | 'audio_url';
      readonly role: MediaRole;
      readonly address: TemplateAddress;
    };
export type TemplateAddress = { readonly text: JsonText } | 'asset';

/** Parameters that are not sent: the only service tier is the provider's default, and its newest models reject the member. */
const NOT_SENT: ReadonlySet<string> = new Set(['service_tier'] satisfies (keyof GivenParameters)[]);

export function buildTemplate(items: readonly TemplateItem[], parameters: GivenParameters): UpstreamTemplate {
  const writer = new TemplateWriter();
  writer.text('{"model":');
  writer.part({ kind: 'hole', name: 'model' });
  writer.text(',"content":[');
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.text(',');
    writeItem(writer, item, index);
  }
  writer.text(']');
  for (const [name, value] of Object.entries(parameters))
    if (!NOT_SENT.has(name) && !isEmptyList(value)) writer.text(`,"${name}":${JSON.stringify(value)}`);
  writer.part({ kind: 'hole', name: 'callback_url' });
  writer.part({ kind: 'hole', name: 'safety_identifier' });
  writer.text('}');
  return { parts: writer.parts() };
}

function writeItem(writer: TemplateWriter, item: TemplateItem, index: number): void {
  writer.text(`{"type":"${item.type}","${item.type}":`);
  if (item.type === 'text') writer.string(item.text);
  else {
    writer.text('{"url":');
    if (item.address === 'asset') writer.part({ kind: 'asset', index });
    else writer.string(item.address.text);
    writer.text(`},"role":"${item.role}"`);
  }
  writer.text('}');
}

/** `tools: []` is the same as no tools. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The request body. Can be called again for another account: the parts are not consumed. */
export const fillTemplate = ({ parts }: UpstreamTemplate, values: TemplateValues): Buffer[] =>
  parts.map((part) =>
    part.kind === 'bytes'
      ? Buffer.from(part.bytes.buffer, part.bytes.byteOffset, part.bytes.byteLength)
      : Buffer.from(fill(part, values)),
  );

function fill(part: Exclude<TemplatePart, { kind: 'bytes' }>, values: TemplateValues): string {
  if (part.kind === 'asset') {
    const id = values.assets.get(part.index);
    if (id === undefined) throw new Error(`content item ${part.index} has no upstream asset`);
    return JSON.stringify(`asset://${id}`);
  }
  if (part.name === 'model') return JSON.stringify(values.model);
  const value = part.name === 'callback_url' ? values.callbackUrl : values.safetyIdentifier;
  return value === undefined ? '' : `,"${part.name}":${JSON.stringify(value)}`;
}

/** The memory of a template, each buffer once; a message that transfers it copies nothing. */
export const buffersOf = ({ parts }: UpstreamTemplate): ArrayBuffer[] => [
  ...new Set(parts.flatMap((part) => (part.kind === 'bytes' ? [part.bytes.buffer] : []))),
];

class TemplateWriter {
  readonly #parts: TemplatePart[] = [];
  #pending = '';

  text(text: string): void {
    this.#pending += text;
  }

  /** A string with its quotes. A long one is sent with the escapes that the client wrote. */
  string(value: JsonText): void {
    if (typeof value === 'string') return this.text(JSON.stringify(value));
    this.text('"');
    this.part({ kind: 'bytes', bytes: value.raw });
    this.text('"');
  }

  part(part: TemplatePart): void {
    this.#flush();
    this.#parts.push(part);
  }

  parts(): readonly TemplatePart[] {
    this.#flush();
    return this.#parts;
  }

  /** The encoder allocates exactly; small buffers of `Buffer.from` share a pool that cannot be transferred. */
  #flush(): void {
    if (this.#pending === '') return;
    this.#parts.push({ kind: 'bytes', bytes: new TextEncoder().encode(this.#pending) });
    this.#pending = '';
  }
}
