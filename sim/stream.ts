/** Sends streams, and the faults that happen inside them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { awsFrame } from './clouds/bedrock.ts';
import type { Exchange } from './exchange.ts';
import { isMid } from './faults.ts';
import type { Body, Frame, Framing, Stream } from './frames.ts';
import { head } from './text.ts';

const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
const ARRAY_HEADERS = { 'content-type': 'application/json; charset=UTF-8' };
const AWS_HEADERS = { 'content-type': 'application/vnd.amazon.eventstream' };
const HEADERS = { sse: SSE_HEADERS, frame: SSE_HEADERS, array: ARRAY_HEADERS, aws: AWS_HEADERS };
const YIELD_EVERY = 256;

export async function sendStream(exchange: Exchange, stream: Stream, framing = exchange.framing): Promise<void> {
  const { fault } = exchange;
  exchange.open(200, HEADERS[framing]);
  const write = writer(exchange, framing);
  if (fault.kind === 'error_first') {
    for (const frame of stream.failure(true)) await write(frame);
    return finish(exchange, framing);
  }
  let due = isMid(fault.kind);
  let content = 0;
  for await (const frame of stream.frames) {
    if (due && (frame.last || (frame.content && content >= (fault.after ?? 3)))) {
      due = false;
      if (!(await strike(exchange, stream, write, framing))) return;
    }
    if (!(await write(frame))) return;
    if (frame.content) content += 1;
  }
  await finish(exchange, framing);
}

type Write = (frame: Frame) => Promise<boolean>;

function writer(exchange: Exchange, framing: Framing): Write {
  const { fault, entry, state } = exchange;
  return async (frame) => {
    if (fault.gapMs) await exchange.pause(fault.gapMs);
    // With a fast reader `write` never waits for drain, so yield to notice a disconnect.
    if (entry.eventsSent % YIELD_EVERY === YIELD_EVERY - 1) await nextTurn();
    const own = framing === 'aws' ? exchange.frames?.(JSON.parse(String(frame.data))) : undefined;
    if (!(await exchange.write(own ?? FRAMINGS[framing](frame, entry.eventsSent)))) return false;
    entry.eventsSent += 1;
    state.journal.changed();
    return true;
  };
}

const FRAMINGS: Record<Framing, (frame: Frame, number: number) => Body> = {
  sse: ({ event, data }) => enclose(event === undefined ? 'data: ' : `event: ${event}\ndata: `, data, '\n\n'),
  array: ({ data }, number) => enclose(number === 0 ? '[' : ',\r\n', data, ''),
  frame: ({ data }) => data,
  aws: ({ event, data }) => [awsFrame(String(data), event)],
};

function enclose(start: string, data: Body, end: string): Body {
  return typeof data === 'string' ? start + data + end : [start, ...data, end];
}

/** Applies a `*_mid` fault; true if the stream continues after it. */
async function strike(exchange: Exchange, stream: Stream, write: Write, framing: Framing): Promise<boolean> {
  const { fault } = exchange;
  if (fault.kind === 'silent_mid') {
    if (fault.silenceMs === undefined) await exchange.untilClosed();
    else await exchange.pause(fault.silenceMs);
    return !exchange.isClientGone;
  }
  if (fault.kind === 'reset_mid') {
    // The data must reach the client before the reset does.
    await exchange.pause(20);
    exchange.destroy();
    return false;
  }
  if (fault.kind === 'error_mid') {
    for (const frame of stream.failure(false)) await write(frame);
    await finish(exchange, framing);
    return false;
  }
  await exchange.end(false);
  return false;
}

async function finish(exchange: Exchange, framing: Framing): Promise<void> {
  if (framing === 'array') await exchange.write(exchange.entry.eventsSent === 0 ? '[]' : ']');
  await exchange.end();
}

/** Splits a text into words; a huge text without spaces into 4 KiB blocks. */
export function* splitWords(text: string): Generator<string> {
  if (text.length > 16_384 && !/\s/.test(text.slice(0, 4_096))) {
    for (let start = 0; start < text.length; start += 4_096) yield text.slice(start, start + 4_096);
    return;
  }
  for (const match of text.matchAll(/\s*\S+(?:\s+$)?|\s+/g)) yield match[0];
}

/** Splits tool arguments regardless of JSON boundaries. */
export function* splitArguments(text: string, size = 12): Generator<string> {
  let rest = text;
  while (rest !== '') {
    const piece = head(rest, size);
    yield piece;
    rest = rest.slice(piece.length);
  }
}
