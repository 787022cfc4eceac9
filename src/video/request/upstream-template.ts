/**
 * The body of a task in JSON of V 4.2, which two families speak, as pieces of bytes:
 * model name, callback URL, safety identifier and the provider's ids of assets are known only at submission.
 * Inline media stays in the memory of the client's body and is never copied.
 */
import { DEFAULT_SERVICE_TIER } from '../../rules/index.ts';
import type { NeutralItem, NeutralRequest, NeutralText } from './task-request.ts';

export interface TemplateValues {
  readonly model: string;
  /** Leaves the member out when undefined. */
  readonly callbackUrl: string | undefined;
  readonly safetyIdentifier: string | undefined;
  /** Of a request that sets none. */
  readonly expirySeconds?: number | undefined;
  /** The provider's id of each reference, by the index of its content item. */
  readonly assets: ReadonlyMap<number, string>;
}

/** The tier that a provider has without the member, which its newest models reject. */
const isUsualTier = (name: string, value: unknown): boolean =>
  name === 'service_tier' && value === DEFAULT_SERVICE_TIER;

/** The request body. Can be called again for another account: the request is not consumed. */
export function fillTemplate({ items, parameters }: NeutralRequest, values: TemplateValues): Buffer[] {
  const writer = new JsonPieces();
  writer.text(`{"model":${JSON.stringify(values.model)},"content":[`);
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.text(',');
    writeItem(writer, item, () => assetUrl(values, index));
  }
  writer.text(']');
  for (const [name, value] of Object.entries(parameters))
    if (!isUsualTier(name, value) && !isEmptyList(value)) writer.text(`,"${name}":${JSON.stringify(value)}`);
  const { callbackUrl, safetyIdentifier, expirySeconds } = values;
  if (parameters.execution_expires_after === undefined && expirySeconds !== undefined)
    writer.text(`,"execution_expires_after":${expirySeconds}`);
  if (callbackUrl !== undefined) writer.text(`,"callback_url":${JSON.stringify(callbackUrl)}`);
  if (safetyIdentifier !== undefined) writer.text(`,"safety_identifier":${JSON.stringify(safetyIdentifier)}`);
  writer.text('}');
  return writer.pieces();
}

function writeItem(writer: JsonPieces, item: NeutralItem, asset: () => string): void {
  writer.text(`{"type":"${item.type}","${item.type}":`);
  if (item.type === 'text') writer.string(item.text);
  else {
    writer.text('{"url":');
    writer.string(item.address ?? asset());
    writer.text(`},"role":"${item.role}"`);
  }
  writer.text('}');
}

function assetUrl({ assets }: TemplateValues, index: number): string {
  const id = assets.get(index);
  if (id === undefined) throw new Error(`content item ${index} has no upstream asset`);
  return `asset://${id}`;
}

/** `tools: []` is the same as no tools. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/**
 * The memory that a request keeps of the client's body, each buffer once; a message that transfers it copies nothing.
 */
export const buffersOf = ({ items }: NeutralRequest): ArrayBuffer[] => [
  ...new Set(
    items.flatMap((item) => {
      const text = item.type === 'text' ? item.text : item.address;
      return typeof text === 'object' ? [text.escaped.buffer] : [];
    }),
  ),
];

/** JSON in pieces, so that long strings are sent from where they are. */
export class JsonPieces {
  readonly #pieces: Buffer[] = [];
  #pending = '';

  text(text: string): void {
    this.#pending += text;
  }

  /** A string with its quotes. A long one is sent with the escapes that the client wrote. */
  string(value: NeutralText): void {
    if (typeof value === 'string') return this.text(JSON.stringify(value));
    const { buffer, byteOffset, byteLength } = value.escaped;
    this.text('"');
    this.#flush();
    this.#pieces.push(Buffer.from(buffer, byteOffset, byteLength));
    this.text('"');
  }

  pieces(): Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    if (this.#pending !== '') this.#pieces.push(Buffer.from(this.#pending));
    this.#pending = '';
  }
}
