/** Events of a recorded response: the chunks of a stream, or one JSON object. */
import { createParser } from 'eventsource-parser';
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { framesOf } from './frames.ts';
import { isRecord, type JsonRecord, jsonOf, textOf } from './recording.ts';

export interface ReadBody {
  readonly isStream: boolean;
  readonly events: readonly JsonRecord[];
}

/** Reads SSE, one JSON object a line, a JSON array of chunks, or one object. Returns undefined for anything else. */
export function readBody(text: string): ReadBody | undefined {
  const start = text.trimStart();
  if (/^(?:data|event|id|retry)?:/.test(start)) return streamOf(sseEvents(text));
  const whole = jsonOf(start);
  if (Array.isArray(whole)) return streamOf(whole.filter(isRecord));
  if (isRecord(whole)) return { isStream: false, events: [whole] };
  return start.startsWith('{') ? streamOf(lineEvents(start)) : undefined;
}

const streamOf = (events: readonly JsonRecord[]): ReadBody | undefined =>
  events.length > 0 ? { isStream: true, events } : undefined;

function sseEvents(text: string): JsonRecord[] {
  const events: JsonRecord[] = [];
  const parser = createParser({
    onEvent({ data }) {
      const event = jsonOf(data);
      if (isRecord(event)) events.push(event);
    },
  });
  parser.feed(text.endsWith('\n\n') ? text : `${text}\n\n`);
  return events;
}

/**
 * A line may keep the `data:` of its event, or be the mark of the end. A damaged line makes the whole file worthless.
 */
function lineEvents(text: string): JsonRecord[] {
  const lines = text.split('\n').map((line) => line.replace(/^data: ?/, ''));
  const events = lines.filter((line) => line.startsWith('{')).map(jsonOf);
  return events.every(isRecord) ? events : [];
}

const LAST_EVENT = /^(?:message_stop|response\.(?:completed|incomplete|failed))$/;

/** A fixture may hold the streams of a whole conversation, one after the other. */
export function splitStreams(events: readonly JsonRecord[]): JsonRecord[][] {
  const streams: JsonRecord[][] = [];
  let isOpen = false;
  for (const event of events) {
    if (isOpen) streams.at(-1)?.push(event);
    else streams.push([event]);
    isOpen = !LAST_EVENT.test(textOf(event.type));
  }
  return streams;
}

/** The stream as its provider sends it. */
/** A generate-content stream without `alt=sse` is one JSON list. */
export const isList = (body: Buffer): boolean => body.toString('latin1', 0, 64).trimStart().startsWith('[');

export function sseOf(dialect: UpstreamDialect, events: readonly JsonRecord[]): Buffer {
  if (dialect === 'converse') return framesOf(events);
  const named = dialect === 'messages' || dialect === 'responses';
  const end = dialect === 'generate' ? '\r\n\r\n' : '\n\n';
  const blocks = events.map((event) => {
    const name = named && event.type !== undefined ? `event: ${textOf(event.type)}\n` : '';
    return `${name}data: ${JSON.stringify(event)}${end}`;
  });
  return Buffer.from(blocks.join('') + (dialect === 'chat' ? 'data: [DONE]\n\n' : ''), 'utf8');
}
