/**
 * Frames of a responses WebSocket: parsing those of the client, in a thread where they are large, and building our own.
 */
import * as core from '../../core/index.ts';
import { maybeObject } from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { JSON_LIMITS, REQUEST_LIMITS, WEBSOCKET } from '../../rules/index.ts';

export type JsonFrame = Record<string, unknown>;

/**
 * Members that both the gateway and the provider read.
 * A duplicate could mean something else to each, so it is rejected.
 */
const ONCE: ReadonlySet<string> = new Set([
  'type',
  'stream_id',
  'model',
  'input',
  'previous_response_id',
  'response_id',
  'background',
  'generate',
  'tools',
  'conversation',
  'response',
]);

const LIMITS = { depth: JSON_LIMITS.depth, tokens: REQUEST_LIMITS.values } as const;

export interface ReadFrame {
  readonly event: JsonFrame;
  /** The frame as it came, or without the wrapper that older clients use. */
  readonly text: string;
  readonly values: number;
  /** An estimate of the memory that the text and the parsed frame take together. */
  readonly memoryBytes: number;
}

/** Undefined when it is not a JSON object. Throws beyond the limits. */
export function readFrame(text: string): ReadFrame | undefined {
  try {
    const bytes = Buffer.from(text);
    const { values } = core.measureMembers(bytes, ONCE, LIMITS);
    const memoryBytes = bytes.length * WEBSOCKET.memoryPerByte + values * WEBSOCKET.memoryPerValue;
    const event = core.parseJson(text, 'client') as JsonFrame;
    return { ...withoutWrapper(event, text), values, memoryBytes };
  } catch (error) {
    if (error instanceof core.JsonLimitError) throw core.fail('invalid_request', error.message);
    if (error instanceof core.JsonScanError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A wrapped body could repeat members of the frame; everything that follows reads the same one. */
function withoutWrapper(event: JsonFrame, text: string): Pick<ReadFrame, 'event' | 'text'> {
  if (!('response' in event)) return { event, text };
  const { response, type, stream_id, ...rest } = event;
  const flat = { ...rest, ...(typeof response === 'object' ? response : {}), type, stream_id };
  return { event: flat, text: JSON.stringify(flat) };
}

type FrameReply = (Omit<ReadFrame, 'event'> & { readonly event: core.PackedJson }) | undefined;

export const frameJob: ThreadJob<{ bytes: Buffer }, ReadFrame | undefined, { bytes: Buffer }, FrameReply> = {
  module: import.meta.url,
  name: 'frameJob',
  inlineBytes: 0,
  movesBytes: true,
  run: ({ bytes }) => readFrame(bytes.toString()),
  toReply: (frame) => frame && { ...frame, event: core.packJson(frame.event) },
  fromReply: (reply) => reply && { ...reply, event: core.unpackJson(reply.event) as JsonFrame },
};

export const bodyOf = ({ type: _, stream_id: __, ...body }: JsonFrame): JsonFrame => body;

/** Undefined for an empty or invalid id; the provider rejects it. */
export const idIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

export const frameText = (frame: JsonFrame, streamId: string | undefined): string =>
  JSON.stringify(streamId === undefined ? frame : { ...frame, stream_id: streamId });

export const withStreamId = (json: string, streamId: string | undefined): string =>
  streamId === undefined ? json : `{"stream_id":${JSON.stringify(streamId)},${json.slice(json.indexOf('{') + 1)}`;

export function rejectionFrame(status: number, code: string, message: string, param: string | null = null): JsonFrame {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  return { type: 'error', status, error: { type, code, message, param } };
}

export function errorFrame(status: number, body: unknown, headers: Readonly<Record<string, string | number>>) {
  const { error } = maybeObject(body);
  const wait = headers['retry-after'];
  return {
    type: 'error',
    status,
    error: error ?? FAILED.error,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  };
}
const FAILED = rejectionFrame(500, 'internal_error', 'The request failed.');

export function passFailed(event: JsonFrame, code: string, message: string): JsonFrame {
  const input = event.input ?? [];
  const error = { type: 'invalid_request_error', code, message };
  if (event.type === 'response.inject')
    return { type: 'response.inject.failed', sequence_number: 0, response_id: event.response_id ?? null, input, error };
  const steer = { previous_response_id: event.previous_response_id ?? null, input };
  return { type: 'response.steer.failed', sequence_number: 0, steer, error };
}
