/** A request of a batch as a call: it comes from a file, and its reply stays in memory until it is stored. */
import { concatBuffers, newRequestId } from '../../core/index.ts';
import { type BodyBudget, Call, ResponseSink } from '../../platform/web/index.ts';
import { BATCHES, inferenceRow, MESSAGES_VERSION_HEADER } from '../../rules/index.ts';
import type { GatewayServices } from '../services.ts';
import type { Batch } from './batch-store.ts';

/** Version of the messages dialect that its clients send. */
const VERSION = '2023-06-01';

type OutgoingHeaders = Readonly<Record<string, string | number>>;

export class LineReply extends ResponseSink {
  headers: OutgoingHeaders = {};
  /** Resolves when nothing follows; false when the reply is not whole. */
  readonly ended: Promise<boolean>;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor() {
    super();
    this.ended = new Promise((resolve) => this.once('close', () => resolve(this.writableEnded)));
  }

  override writeHead(status: number, headers: OutgoingHeaders): void {
    super.writeHead(status, headers);
    this.headers = headers;
  }

  override write(chunk: Buffer | string): boolean {
    const bytes = Buffer.from(chunk);
    this.#bytes += bytes.length;
    if (this.isTooLarge) this.#chunks = [];
    else this.#chunks.push(bytes);
    return true;
  }

  /** No reply of a batch is a stream. */
  writeEvent(): boolean {
    return true;
  }

  override end(chunk?: Buffer | string): void {
    if (chunk !== undefined && !this.writableEnded && !this.destroyed) this.write(chunk);
    super.end();
  }

  get isTooLarge(): boolean {
    return this.#bytes > BATCHES.replyBytes;
  }

  get body(): Buffer {
    return concatBuffers(this.#chunks);
  }
}

interface LineServices extends Pick<GatewayServices, 'clock'> {
  readonly bodyBudget: BodyBudget;
}

export function lineCall({ clock, bodyBudget }: LineServices, batch: Batch, body: Buffer, response: LineReply): Call {
  const operation = batch.operation as 'responses.create';
  const { path, errorFormat } = inferenceRow(operation);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...(errorFormat === 'messages' && { [MESSAGES_VERSION_HEADER]: VERSION }),
    ...(batch.beta !== null && { 'anthropic-beta': batch.beta }),
  };
  const startedAt = clock.now();
  return new Call({
    id: newRequestId(startedAt),
    operation,
    errorFormat,
    path,
    query: '',
    params: {},
    address: batch.address,
    startedAt,
    clock,
    bodyBudget,
    response,
    isBatch: true,
    request: {
      method: 'POST',
      url: path,
      version: '1.1',
      address: batch.address,
      headers,
      rawHeaders: Object.entries(headers).flat(),
      isComplete: true,
      completeBody: body,
      read() {},
      resume() {},
    },
  });
}
